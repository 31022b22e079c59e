// What a recogniser heard in place of what is written: the surest first, each with its sound. Starts
// and stops the listening.

import { attempt, oneReading, pin, sendEdit, submit } from "./actions.js";
import { get, post } from "./api.js";
import { byId, h, icon, refill } from "./dom.js";
import { goTo } from "./loading.js";
import { say } from "./messages.js";
import { pane } from "./panes.js";
import { heardNow, playUrl, stop } from "./samples.js";
import { colorOf, on, scriptOf, state } from "./store.js";
import { capitalized, counted, doneShare, grouped, percent, shortened, timeLeft } from "./words.js";

const box = byId("pane-heard");

/** @type {any} What /api/heard says; null until it was asked. */
let listing = null;
/** Rows that were settled here and that the server still lists. @type {Set<string>} */
const settled = new Set();
/** The listening, as the owner of the project tells of it. @type {any} */
let progress = null;

const surely = (odds) => (odds >= 2.5 ? "almost surely" : odds >= 1.5 ? "probably" : "perhaps");

const KINDS = {
  missing: "not heard",
  added: "heard in addition",
  repeated: "heard twice",
  moved: "heard elsewhere",
  other: "heard as",
  whole: "another text was heard",
};

const keyOf = (row) => row.url + row.kind;
const listeningJob = () => {
  const job = state.book?.jobs.running;
  return job?.kind === "hear" ? job : null;
};

async function load() {
  if (!listing) refill(box, h("p", { class: "empty" }, "Looking at what was heard …"));
  const answer = await attempt(() => get("/api/heard"));
  if (!answer) return;
  listing = answer;
  draw();
}

function draw() {
  if (!listing) return;
  const rows = listing.rows.filter((row) => !settled.has(keyOf(row)));
  const more = listing.count - listing.rows.length;
  refill(
    box,
    listening(),
    rows.length
      ? h("ol", { class: "heard-rows" }, ...rows.map(item))
      : h("p", { class: "empty" }, listing.heard ? "Every take that was listened to says its text." : "No take has been listened to yet."),
    more > 0 ? h("p", { class: "note" }, `And ${grouped(more)} more, less sure.`) : null,
  );
}

// -- listening -------------------------------------------------------------------------------------

function listening() {
  const { heard, takes, chapters, why_not: whyNot } = listing;
  const job = listeningJob();
  if (job) {
    const share = doneShare(progress);
    const rest = timeLeft(progress?.left);
    return h(
      "section",
      { class: "listening" },
      h("h3", {}, job.chapters.length ? `Listening to chapter ${job.chapters.join(", ")}` : "Listening"),
      h("progress", { max: 1, value: share, "aria-label": "Listened to" }),
      h("p", { class: "note" }, progress?.of ? `${percent(share)}${rest}` : (progress?.what ?? "Starting …")),
      h("button", { class: "stop wide", "data-keep": "hear", onclick: () => attempt(() => post("/api/jobs/stop", { id: job.id })) }, icon("stop"), "Stop"),
    );
  }
  const number = state.chapter?.number;
  return h(
    "section",
    { class: "listening" },
    h(
      "p",
      { class: "note" },
      `${grouped(heard)} of ${counted(takes, "take")} listened to by a recogniser. Where it heard other words, the voice may have misread or the recogniser misheard: listen.`,
    ),
    number && state.book.chapters.length > 1
      ? beginner("hear-chapter", `chapter ${number}`, [String(number)], chapters[number])
      : null,
    beginner("hear", "the book", [], listing),
    whyNot ? h("p", { class: "note" }, whyNot) : null,
  );
}

/** A button that has a part of the book listened to; none where all of it was, or nothing is there.
 * @param {string[]} chapters all, if empty */
function beginner(name, part, chapters, counts) {
  const left = counts ? counts.takes - counts.heard : 0;
  if (!left && !(listing.why_not && !chapters.length)) return null;
  const waits = state.book.jobs.queue?.some((job) => job.kind === "hear" && String(job.chapters) === String(chapters));
  const words = counts.heard ? `Listen to the other ${counted(left, "take")} of ${part}` : `Listen to all takes of ${part}`;
  const onclick = () => begin(part, chapters);
  return h(
    "button",
    { class: "wide", "data-keep": name, disabled: Boolean(listing.why_not) || waits, onclick },
    icon("sound"),
    waits ? `${capitalized(part)} waits for its turn` : words,
  );
}

async function begin(part, chapters) {
  progress = null;
  const waits = Boolean(state.book.jobs.running);
  if (await submit({ kind: "hear", chapters })) say(waits ? `In the queue: listening to ${part}` : `Listening to ${part}`, "job");
}

// -- a misreading ----------------------------------------------------------------------------------

function item(row) {
  const name = `heard:${row.url}`;
  const isOn = heardNow() === name;
  const hear = h(
    "button",
    {
      class: "round",
      "aria-label": `Hear these words of ${row.chunk}`,
      "data-keep": `hear-${keyOf(row)}`,
      "data-sound": name,
      onclick: () => (heardNow() === name ? stop() : playUrl(row.url, name)),
    },
    icon(isOn ? "pause" : "play"),
  );
  return h(
    "li",
    {},
    hear,
    h(
      "div",
      {},
      h(
        "p",
        { class: "note" },
        h("button", { class: "link", "data-keep": `go-${keyOf(row)}`, onclick: () => goTo(row.chunk) }, row.chunk),
        " ",
        h("span", { class: `by-whom c${colorOf(row.speaker)}` }, row.speaker),
        ` · ${surely(row.odds)} ${row.kind === "other" ? "misread" : KINDS[row.kind]}`,
      ),
      written(row),
      row.heard && row.kind !== "repeated"
        ? h("p", { class: "heard-words" }, h("span", {}, row.kind === "added" ? "Also heard " : "Heard "), h("q", { ...scriptOf() }, shortened(row.heard, 200)))
        : null,
      h(
        "div",
        { class: "row wrap" },
        h(
          "button",
          {
            class: "small",
            "data-keep": `right-${keyOf(row)}`,
            title: row.name
              ? `From now on “${row.heard}” counts as “${row.text}” in the whole book`
              : "The take is pinned as it is",
            onclick: () => settle(row),
          },
          icon("check"),
          "Right as it is",
        ),
        h(
          "button",
          { class: "small", "data-keep": `again-${keyOf(row)}`, onclick: () => again(row) },
          icon("again"),
          "Speak again",
        ),
      ),
    ),
  );
}

function written({ kind, before, text, after, is_cut: [isLate, isEarly] }) {
  if (kind === "whole") return h("p", { class: "written", ...scriptOf() }, shortened(text, 200));
  return h(
    "p",
    { class: "written", ...scriptOf() },
    isLate ? "…" : "",
    before,
    text ? h("mark", {}, text) : h("mark", { class: "gap", "aria-label": "nothing is written here" }, "‸"),
    after,
    isEarly ? "…" : "",
  );
}

/** A name is learnt for the whole book; of other words the take is accepted. */
async function settle(row) {
  const isDone = row.name
    ? await attempt(async () => (await sendEdit({ kind: "heard_as", word: row.text, heard: row.heard }), true))
    : await pin(row.chunk, 1, `${row.chunk} is right as it is`);
  if (!isDone) return;
  const isSame = (other) =>
    row.name ? other.text === row.text && other.heard === row.heard : other.chunk === row.chunk;
  for (const other of listing.rows.filter(isSame)) settled.add(keyOf(other));
  draw();
}

async function again(row) {
  const { draft, can } = state.book;
  if (draft && !can.model) {
    say(oneReading());
    return;
  }
  if (await submit({ kind: "retake", chunks: [row.chunk] })) say(`${row.chunk} will be spoken again`, "job");
}

on("sample", () => {
  const now = heardNow();
  for (const button of box.querySelectorAll("[data-sound]"))
    button.querySelector("use").setAttribute("href", button.dataset.sound === now ? "#i-pause" : "#i-play");
});
on("pane", (name) => name === "heard" && load());
on("event:job", (event) => {
  if (event.event === "progress" && listeningJob()) {
    progress = event;
    if (pane() === "heard") draw();
  }
  if (event.event === "ended") progress = null;
});
on("history", () => settled.clear());
on("book", () => pane() === "heard" && load());
on("opened", () => pane() === "heard" && draw());

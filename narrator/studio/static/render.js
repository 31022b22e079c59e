// The panel Render: the queue, what is to be rendered and what that costs, by which voice.

import { attempt, submit } from "./actions.js";
import { addressOf } from "./address.js";
import { get, post } from "./api.js";
import { choice } from "./dialogs.js";
import { byId, h, icon, refill } from "./dom.js";
import { KINDS, STOPPED, activity, costOf, isPausing, leftWords, pause, progressWords, share, stop, todoWords, work } from "./jobs.js";
import { goTo } from "./loading.js";
import { say } from "./messages.js";
import { pane } from "./panes.js";
import { on, state } from "./store.js";
import { counted, grouped, percent, roughly, shortened, sizeWords, span } from "./words.js";

const box = byId("pane-render");

let scope = "book";
/** Numbers of the chapters that were chosen. @type {Set<number>} */
const chosen = new Set();
/** The voice that is to speak, "draft" or "model"; "" for the one that is looked at. */
let voice = "";
/** What has been asked for, render or export, and nobody has said yet that it begins. */
let asking = "";
/** The finished files. @type {{ name: string, address: string, bytes: number, is_current: boolean }[]} */
let files = [];

function draw() {
  if (!state.book || pane() !== "render") return;
  const parts = isMade() ? [finished(), toRender()] : [toRender(), finished()];
  refill(box, earlier(), queue(), ...parts, elsewhere(), lately(), warnings());
}

// -- the finished files ----------------------------------------------------------------------------

/** Whether the files are those of the book as it is. */
const isMade = () => !state.book.todo.chunks && files.length > 0 && files.every((one) => one.is_current);

async function loadFiles() {
  if (!state.book || pane() !== "render") return;
  ({ files } = (await attempt(() => get("/api/downloads"))) ?? { files });
  draw();
}

/** The way to what the start page has of the book, where narrow screens leave it out of the header. */
function elsewhere() {
  const link = byId("to-voice-and-files");
  return link && h("p", {}, h("a", { href: link.href, "data-keep": "elsewhere" }, "Voice, title, cover and files of this book"));
}

function finished() {
  if (!files.length) return null;
  const row = ({ name, address, bytes, is_current }) =>
    h(
      "li",
      {},
      h("a", { class: "button", "data-keep": `file-${name}`, href: addressOf(address), download: name }, icon("export"), h("span", {}, `Download ${name}`)),
      h("small", {}, ` ${sizeWords(bytes)}${is_current ? "" : ", older than the book"}`),
    );
  return h("section", { "aria-label": "Finished files" }, h("h3", {}, "Finished files"), h("ul", { class: "downloads" }, ...files.map(row)));
}

// -- the queue -------------------------------------------------------------------------------------

/** 1, 2, 3, 5 -> "1–3, 5". @param {string[]} chapters */
function ranges(chapters) {
  const numbers = chapters.map(Number).sort((one, other) => one - other);
  if (numbers.some(Number.isNaN)) return chapters.join(", ");
  const parts = [];
  for (const number of numbers) {
    const last = parts.at(-1);
    if (last && number === last[1] + 1) last[1] = number;
    else parts.push([number, number]);
  }
  return parts.map(([first, last]) => (first === last ? `${first}` : `${first}–${last}`)).join(", ");
}

/** @param {string[]} chapters */
function partName(chapters) {
  if (!chapters.length) return "The book";
  const one = chapters.length === 1 && state.book.chapters[Number(chapters[0]) - 1];
  if (one) return `Chapter ${one.number}${one.title ? `: ${shortened(one.title, 40)}` : ""}`;
  return `Chapters ${ranges(chapters)}`;
}

const isDraft = (job) => job.engine === "draft";
const bothVoices = () => state.book.can.draft && state.book.can.model;

function jobWords(job) {
  const { book } = state;
  const isWhole = job.kind === "render" || job.kind === "export";
  const title = isWhole || job.kind === "hear" ? partName(job.chapters) : `${KINDS[job.kind]} ${job.chunks.join(", ")}`;
  const of = new Set(job.chapters.map(Number));
  const chapters = book.chapters.filter((one) => !of.size || of.has(one.number));
  const seconds = chapters.reduce((sum, one) => sum + one.unspoken, 0);
  const isLookedAt = job.kind === "render" && isDraft(job) === book.draft;
  const cost = isLookedAt && seconds ? costOf(book, seconds) : null;
  const notes = [
    job.kind === "export" && "files",
    job.kind === "hear" && "listening",
    isWhole && bothVoices() && (isDraft(job) ? "draft" : "model"),
    cost !== null && `about ${roughly(cost)}`,
  ];
  return { title, note: notes.filter(Boolean).join(", ") };
}

function queue() {
  const { running, queue: waiting, isPaused } = work;
  if (!running && !waiting.length) return null;
  return h(
    "section",
    { "aria-label": "Queue" },
    h("h3", {}, isPaused && !running ? "Queue, paused" : "Queue"),
    running ? atWork(running) : null,
    isPaused && !running
      ? h("button", { class: "main wide", "data-keep": "resume", onclick: () => pause(false) }, icon("play"), "Resume")
      : null,
    waiting.length ? h("ol", { class: "queue" }, ...waiting.map(waitingRow)) : null,
    waiting.length + (running ? 1 : 0) > 1
      ? h("button", { class: "small", "data-keep": "stop-all", onclick: () => stop() }, "Stop all")
      : null,
  );
}

/** What an earlier studio did not finish: nothing of it starts by itself. */
function earlier() {
  const jobs = work.earlier;
  if (!jobs.length) return null;
  const settle = (resumed) => attempt(() => post("/api/queue/earlier", { resumed }));
  const row = (job) => {
    const { title, note } = jobWords(job);
    return h("li", {}, h("span", {}, title, h("small", {}, ` ${note}`)));
  };
  return h(
    "section",
    { "aria-label": "Not finished last time" },
    h("h3", {}, "Not finished last time"),
    h("ol", { class: "queue" }, ...jobs.map(row)),
    h(
      "div",
      { class: "row" },
      h("button", { class: "main", "data-keep": "go-on", onclick: () => settle(true) }, icon("play"), "Continue"),
      h("button", { "data-keep": "forget", onclick: () => settle(false) }, "Discard"),
    ),
  );
}

function atWork(job) {
  const { title, note } = jobWords(job);
  return h(
    "div",
    { class: "at-work" },
    h("p", {}, h("b", {}, title), h("small", {}, ` ${note}`)),
    h("progress", { max: 1, value: share(), "aria-label": activity() }),
    h("p", { class: "big" }, isPausing() ? "Pausing …" : `${activity()} ${percent(share())}${leftWords()}`),
    h("p", { class: "note" }, progressWords()),
    h(
      "div",
      { class: "row" },
      job.pausable
        ? h("button", { "data-keep": "pause", disabled: work.isPaused, onclick: () => pause(true) }, icon("pause"), "Pause")
        : null,
      h("button", { class: "stop", "data-keep": "stop", onclick: () => stop(job.id) }, icon("stop"), "Stop"),
    ),
  );
}

function waitingRow(job, place, all) {
  const { title, note } = jobWords(job);
  const button = (name, label, isOff, onclick) =>
    h(
      "button",
      {
        class: "plain small",
        "aria-label": `${label}: ${title}`,
        title: label,
        "aria-disabled": isOff ? "true" : null,
        "data-keep": `${name}-${job.id}`,
        onclick: () => isOff || onclick(),
      },
      icon(name),
    );
  const moveBefore = (other) => move(job, other?.id ?? "", title);
  return h(
    "li",
    {},
    h("span", {}, title, h("small", {}, ` ${note}`)),
    button("up", "Earlier", place === 0, () => moveBefore(all[place - 1])),
    button("down", "Later", place === all.length - 1, () => moveBefore(all[place + 2])),
    button("close", "Remove from the queue", false, () => stop(job.id)),
  );
}

async function move(job, before, title) {
  await attempt(() => post("/api/queue/move", { id: job.id, before }));
  say(`${title} is moved`, "job");
}

// -- what is to be rendered ------------------------------------------------------------------------

const asDraft = () => (voice ? voice === "draft" : state.book.draft);

/** What a render has to do: of the book, of the open chapter, or of those that were chosen. */
function scoped() {
  const { book, chapter } = state;
  const isKnown = asDraft() === book.draft;
  if (scope === "book")
    return { name: "the book", chapters: [], isKnown, chunks: book.todo.chunks, seconds: book.todo.seconds };
  const rows = book.chapters.filter((one) =>
    scope === "some" ? chosen.has(one.number) : one.number === chapter?.number,
  );
  const chapters = rows.map((one) => String(one.number));
  return {
    name: rows.length ? `chapter${rows.length === 1 ? "" : "s"} ${ranges(chapters)}` : "no chapter",
    chapters,
    isKnown,
    isEmpty: !rows.length,
    chunks: rows.reduce((sum, one) => sum + one.chunks - one.rendered, 0),
    seconds: rows.reduce((sum, one) => sum + one.unspoken, 0),
  };
}

function toRender() {
  const { todo, jobs } = state.book;
  const { chapter } = state;
  const reasons = todo.reasons.map((one) =>
    h("li", {}, h("b", {}, counted(one.chunks, "line")), ` ${one.why}`),
  );
  const parts = [
    ["book", "The book"],
    ...(chapter ? [["chapter", `Chapter ${chapter.number} alone`]] : []),
    ...(state.book.chapters.length > 1 ? [["some", "Some chapters"]] : []),
  ];
  return h(
    "section",
    {},
    h("h3", {}, `To be rendered${bothVoices() ? ` by the ${state.book.draft ? "draft voice" : "model"}` : ""}`),
    h("p", { class: "big" }, ...todoWords(state.book)),
    reasons.length ? h("ul", { class: "reasons" }, ...reasons) : null,
    keepingFocus(choice("How much", "scope", parts, scope, (value) => {
      scope = value;
      draw();
    })),
    scope === "some" ? chapterList() : null,
    bothVoices()
      ? keepingFocus(choice("By", "by", [["draft", "Draft voice"], ["model", "Model"]], asDraft() ? "draft" : "model", (value) => {
          voice = value;
          draw();
        }))
      : null,
    ...buttons(scoped()),
    jobs.last ? h("p", { class: jobs.last.exit ? "trouble" : "note" }, ended(jobs.last)) : null,
  );
}

/** Radio buttons that keep the focus when the panel is drawn anew. */
function keepingFocus(fieldset) {
  for (const radio of fieldset.querySelectorAll("input"))
    radio.dataset.keep = `radio-${radio.name.replace(/-\d+$/, "")}-${radio.value}`;
  return fieldset;
}

function chapterList() {
  const { chapters } = state.book;
  const isLeft = (one) => one.rendered < one.chunks;
  const choose = (numbers) => {
    chosen.clear();
    for (const number of numbers) chosen.add(number);
    draw();
  };
  const row = (one) =>
    h(
      "label",
      { class: "tick" },
      h("input", {
        type: "checkbox",
        checked: chosen.has(one.number),
        "data-keep": `chapter-${one.number}`,
        onchange: () => {
          if (!chosen.delete(one.number)) chosen.add(one.number);
          draw();
        },
      }),
      h("span", {}, `${one.number}. ${one.title}`),
      h("small", {}, isLeft(one) ? `${grouped(one.chunks - one.rendered)} to speak` : "rendered"),
    );
  const button = (name, words, numbers) =>
    h("button", { class: "small", "data-keep": name, onclick: () => choose(numbers) }, words);
  return h(
    "div",
    {},
    h(
      "div",
      { class: "row" },
      button("all-left", "All that are not rendered", chapters.filter(isLeft).map((one) => one.number)),
      button("none", "None", []),
    ),
    h("div", { class: "chapter-list", role: "group", "aria-label": "Chapters to render" }, ...chapters.map(row)),
  );
}

/** One speaks what is missing, and then makes the files; the other makes them of what is there. */
function buttons(part) {
  const { can, formats } = state.book;
  const draft = asDraft();
  const isThere = draft ? can.draft : can.model;
  const hasWork = !part.isEmpty && (!part.isKnown || part.chunks > 0);
  const kinds = formats.map((one) => one.toUpperCase()).join(", ");
  const cost = part.isKnown ? costOf(state.book, part.seconds) : null;
  const waits = Boolean(work.running || work.queue.length);
  const isAgain = part.isKnown && isMade();
  const button = (id, kind, words, isOff) =>
    h(
      "button",
      {
        id,
        class: `wide${isOff || isAgain ? "" : " main"}`,
        "data-keep": id,
        disabled: isOff,
        onclick: () => begin(kind, part),
      },
      icon("render"),
      words,
    );
  const time = cost === null || !part.chunks ? "" : ` (about ${roughly(cost)})`;
  const makes = part.chapters.length
    ? `Then ${part.name} ${part.chapters.length === 1 ? "is" : "are"} mastered; ${kinds} of the whole book is made when nothing of it is missing.`
    : `Then ${kinds} is made.`;
  const notes = [
    !isThere && can.why_not,
    part.isEmpty && "Choose chapters above.",
    hasWork && `By the ${draft ? "draft voice" : "model"}. ${makes} You can go on working meanwhile.`,
    !hasWork && !part.isEmpty && `Nothing of ${part.name} is missing.`,
    hasWork && part.isKnown && cost === null && `About ${span(part.seconds)} of speech: ${UNMEASURED[String(draft)]}`,
  ];
  const verb = waits ? "Add to the queue:" : "Render";
  return [
    button(
      "render-now",
      "render",
      asking === "render" ? "Starting …" : `${verb} ${part.name}${time}`,
      !isThere || Boolean(asking) || !hasWork,
    ),
    ...notes.filter(Boolean).map((words) => h("p", { class: "note" }, words)),
    button(
      "export-now",
      "export",
      asking === "export" ? "Starting …" : `Make ${kinds}${isAgain ? " again" : ""}`,
      Boolean(asking) || part.isEmpty || (part.isKnown && part.chunks > 0),
    ),
    part.isKnown && part.chunks
      ? h("p", { class: "note" }, `${counted(part.chunks, "line")} of ${part.name} must be spoken first.`)
      : null,
  ];
}

const UNMEASURED = {
  true: "the draft voice needs a small part of that.",
  false: "how long the model needs here is known after its first lines.",
};

async function begin(kind, { chapters, name }) {
  asking = kind;
  const waits = Boolean(work.running || work.queue.length);
  draw();
  if (await submit({ kind, chapters, draft: asDraft() })) {
    say(waits ? `In the queue: ${name}` : `${KINDS[kind]} begins`, "job");
    chosen.clear();
  }
  asking = "";
  draw();
}

/** How the last job went: it may end with an error, or with something left to do. */
function ended({ exit, error, text }) {
  if (!exit) return text;
  if (exit === STOPPED) return text ? `Stopped: ${text}` : "Stopped";
  return error ? `The last one stopped: ${error}` : `Not complete: ${text || `exit code ${exit}`}`;
}

// -- what happened ---------------------------------------------------------------------------------

function lately() {
  if (!work.news.length) return null;
  const rows = work.news.map((one) =>
    h(
      "li",
      {},
      h("button", { class: "link", onclick: () => goTo(one.chunk) }, one.chunk),
      ` ${one.words}`,
    ),
  );
  return h("section", {}, h("h3", {}, "Recent events"), h("ul", { class: "news" }, ...rows));
}

function warnings() {
  const all = state.book.warnings ?? [];
  if (!all.length) return null;
  const rows = all
    .slice(0, 50)
    .map((one) => h("li", {}, one.text, one.where ? h("small", {}, ` ${one.where}`) : null));
  return h(
    "section",
    {},
    h("h3", {}, counted(all.length, "warning")),
    h("ul", { class: "news" }, ...rows),
  );
}

on("jobs", draw);
on("pane", draw);
on("pane", loadFiles);
on("book", loadFiles);

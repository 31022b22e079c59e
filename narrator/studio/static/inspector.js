// The chosen chunk: what it says, how it came about, its takes, and what can be done about it.

import { act, attempt, flagging, isUnspoken, oneReading, review, speakAgain, tick } from "./actions.js";
import { chunkDetail, post } from "./api.js";
import { desk, isBegun } from "./desk.js";
import { byId, h, icon, isWriting, refill } from "./dom.js";
import { editWords, flag, sayItAs } from "./edits.js";
import { waiting } from "./jobs.js";
import { preference, savePreference } from "./preferences.js";
import { holdWhile, isHeld, isPlaying, playFrom } from "./player.js";
import { canEdit } from "./rights.js";
import { complain } from "./messages.js";
import { heardNow } from "./samples.js";
import { giveSpeaker } from "./speakers.js";
import { choose, chosenChunk, colorOf, on, scriptOf, state } from "./store.js";
import { list } from "./takes.js";
import { clock, percent, shortened, stateWords } from "./words.js";

const box = byId("pane-chunk");

/** @type {any} What /api/chunks says of the chosen one. */
let detail = null;
let asked = 0;
let timer = 0;
let waits = "";

/** Asks once the choice rests: while the sound goes on it moves from chunk to chunk. */
function ask(wait = 90) {
  clearTimeout(timer);
  const chunk = chosenChunk();
  if (!chunk) return;
  if (detail?.id !== chunk.id) detail = null;
  draw();
  timer = setTimeout(async () => {
    const mine = ++asked;
    // a line that is gone: the chapter with the newer text comes, and it is asked for anew
    const answer = await chunkDetail(chunk.id).catch((error) => error.status === 404 || complain(error));
    if (mine !== asked || !answer?.id || chosenChunk()?.id !== answer.id) return;
    detail = answer;
    state.retakes = answer.retakes !== false;
    draw();
  }, wait);
}

function draw() {
  const chunk = chosenChunk();
  if (!chunk) {
    refill(box, h("p", { class: "empty" }, "Choose a line to see its takes and settings."));
    return;
  }
  refill(
    box,
    head(chunk),
    told(chunk),
    doings(chunk),
    canEdit ? desk(chunk, detail) : null,
    flags(chunk),
    takes(chunk),
    origin(chunk),
  );
}

function head(chunk) {
  const color = `c${colorOf(chunk.speakers[0])}`;
  const place = state.chosen;
  return h(
    "header",
    { class: "chunk-head" },
    h(
      "p",
      { class: "by" },
      h(
        "button",
        {
          class: "round small",
          "data-keep": "from-here",
          "aria-label": "Play from here",
          title: "Play from here (Enter)",
          onclick: () => playFrom(place),
        },
        icon("play"),
      ),
      h("strong", { class: "number" }, chunk.id),
      h("span", { class: `speaker ${color}` }, chunk.speakers.join(" + ")),
      chunk.style ? h("em", {}, chunk.style) : null,
      h(
        "span",
        { class: `state ${chunk.state.replace(" ", "-")}` },
        chunk.pending ? "being saved" : stateWords(chunk.state),
      ),
    ),
    h("blockquote", { class: color, ...scriptOf(chunk) }, chunk.text),
    isHeld() && isPlaying() && state.playing !== place
      ? h(
          "button",
          { class: "link", "data-keep": "let-go", onclick: letGo },
          "Follow the sound",
        )
      : null,
  );
}

function letGo() {
  document.activeElement.blur();
  state.held = false;
  choose(state.playing, { scroll: false });
}

function told(chunk) {
  const lines = [];
  const why = chunk.pending ? "" : chunk.why || chunk.faults.join("; ");
  // A reason may quote a paragraph, before and after.
  if (why) lines.push(h("p", { class: "why", title: chunk.changes || why }, shortened(why, 120)));
  if (!chunk.pending && detail && detail.spoken && detail.spoken !== chunk.text) {
    lines.push(h("p", { class: "spoken" }, h("span", {}, "Spoken as "), h("q", scriptOf(chunk), detail.spoken)));
  }
  if (chunk.sure !== null) {
    lines.push(
      h("p", { class: "note" }, `Who says this was decided with ${percent(chunk.sure)} certainty.`),
    );
  }
  return lines.length ? h("div", { class: "told" }, ...lines) : null;
}

function doings(chunk) {
  const count = h("input", {
    type: "number",
    min: 1,
    max: 20,
    value: preference("count", 1),
    "aria-label": "How many new takes",
    title: "How many new takes",
    "data-keep": "count",
    oninput: () => savePreference("count", Number(count.value) || 1),
  });
  const again = () => speakAgain(Math.max(1, Math.min(20, Number(count.value) || 1)));
  const button = (words, picture, key, f, attributes = {}) =>
    h(
      "button",
      { "data-keep": words, onclick: f, title: `${words} (${key})`, ...attributes },
      icon(picture),
      words,
    );
  const group = { class: "doings", role: "group", "aria-label": `Line ${chunk.id}` };
  if (!canEdit) return h("div", group, button("Flag", "flag", "f", () => flag()));
  return h(
    "div",
    group,
    h(
      "span",
      { class: "joined" },
      button(
        isUnspoken(chunk) ? "Speak" : "Speak again",
        "again",
        "s",
        again,
        state.retakes || isUnspoken(chunk) ? {} : { disabled: true, title: oneReading() },
      ),
      count,
    ),
    button("Reviewed", "check", "r", () => review(false), {
      "aria-pressed": String(chunk.reviewed),
      ...(chunk.reviewer ? { title: `Reviewed by ${chunk.reviewer} (r)` } : {}),
    }),
    button("Flag", "flag", "f", () => flag()),
    button("Edit words", "edit", "e", () => editWords()),
    button("Say it as", "say", "w", () => sayItAs()),
    button("Speaker", "who", "v", () => giveSpeaker()),
    state.retakes || isUnspoken(chunk) ? null : h("p", { class: "note" }, oneReading()),
  );
}

function flags(chunk) {
  if (!chunk.flags.length) return null;
  const rows = chunk.flags.map((one) => {
    const box = h("input", {
      type: "checkbox",
      checked: one.done,
      disabled: !canEdit,
      "data-keep": `flag-${one.note}`,
      onchange: () => tick({ chunk: chunk.id, note: one.note }, box.checked),
    });
    return h(
      "li",
      { class: one.done ? "done" : "" },
      h("label", {}, box, h("span", {}, one.note, one.who ? h("small", {}, one.who) : null)),
      !canEdit && one.who === state.book.you.name ? takeBack(chunk, one) : null,
    );
  });
  return h("section", {}, h("h3", {}, "Flags"), h("ul", { class: "flags" }, ...rows));
}

/** For people who listen: a flag of their own is removed. */
function takeBack(chunk, { note }) {
  const flags = [{ chunk: chunk.id, note }];
  const run = () => attempt(() => act(unflagging(flags), "The flag is taken back"));
  return h("button", { class: "link", "data-keep": `back-${note}`, "aria-label": `Take back: ${note}`, onclick: run }, "Take back");
}

/** The opposite of a flag, to be undone like one. */
function unflagging(flags) {
  const { apply } = flagging(flags, "");
  return { what: "a flag was taken back", apply: () => post("/api/flags/gone", { flags }), revert: apply };
}

function takes(chunk) {
  const content = !detail
    ? h("p", { class: "empty" }, "…")
    : list(chunk.id, detail.tries);
  waits = waiting(chunk.id);
  return h(
    "section",
    {},
    h("h3", {}, "Takes", detail?.tries.length > 1 ? h("small", {}, "heard by their keys") : null),
    waits ? h("p", { class: "note", role: "status" }, waits) : null,
    content,
  );
}

function origin(chunk) {
  const rows = [["Written in", chunk.source]];
  if (chunk.start !== null)
    rows.push(["Heard at", `${clock(chunk.start)} to ${clock(chunk.stop)}`]);
  if (detail?.expected) rows.push(["Expected", `${detail.expected.toFixed(1)} s`]);
  return h(
    "dl",
    { class: "origin" },
    ...rows.flatMap(([name, words]) => [h("dt", {}, name), h("dd", {}, words)]),
  );
}

// While somebody works here, the choice stays where it is although the sound goes on.
function hold() {
  if (isPlaying()) state.held = true;
}
box.addEventListener("pointerenter", hold);
box.addEventListener("focusin", hold);
box.addEventListener("pointerleave", () => {
  if (!box.contains(document.activeElement)) state.held = false;
});

on("chosen", () => {
  if (detail?.id === chosenChunk()?.id) draw();
  else ask(isPlaying() ? 250 : 60);
});
holdWhile(() => (box.contains(document.activeElement) && isWriting(document.activeElement)) || isBegun());
on("playing", () => isHeld() && draw());
on("chapter", () => ask(0));
on("opened", () => (detail = null));
function drawWaiting() {
  const chunk = chosenChunk();
  if (chunk && waiting(chunk.id) !== waits) draw();
}
on("book", drawWaiting);
on("event:job", (event) => {
  drawWaiting();
  if (event.event === "ended" && !heardNow()) ask(0);
});

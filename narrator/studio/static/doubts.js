// Quotations whose speaker is doubtful, one after another: a number key says who it is.

import { attempt, sendEdit } from "./actions.js";
import { get } from "./api.js";
import { field } from "./dialogs.js";
import { byId, h, icon, refill } from "./dom.js";
import { openChapter } from "./loading.js";
import { say } from "./messages.js";
import { pane } from "./panes.js";
import { playFrom } from "./player.js";
import { choose, colorOf, on, state } from "./store.js";
import { counted, percent } from "./words.js";

const box = byId("pane-doubts");
const badge = byId("doubts-count");

/** @type {any[]} */
let doubts = [];
let total = 0;
let at = 0;
let isAsked = false;
/** Answers that are not written yet, one after the other: the next question does not wait. */
let unwritten = 0;
let writing = Promise.resolve();

export async function loadDoubts() {
  if (isAsked || unwritten) return;
  isAsked = true;
  const answer = await attempt(() => get("/api/doubts"));
  isAsked = false;
  if (!answer || unwritten) return;
  doubts = answer.quotations;
  total = answer.total;
  at = Math.min(at, Math.max(0, doubts.length - 1));
  badge.textContent = total ? String(total) : "";
  draw();
}

function draw() {
  const one = doubts[at];
  if (!one) {
    refill(
      box,
      h(
        "p",
        { class: "empty" },
        "No quotation is doubtful: every one has its speaker by print, by rule or by you.",
      ),
    );
    return;
  }
  refill(
    box,
    h(
      "header",
      { class: "row spread" },
      h(
        "p",
        { class: "note" },
        `${at + 1} of ${counted(total, "doubtful quotation")} · chapter ${one.chapter}`,
      ),
      h(
        "span",
        { class: "steps" },
        h(
          "button",
          {
            class: "plain",
            "aria-label": "The one before",
            "data-keep": "before",
            onclick: () => turn(-1),
          },
          icon("up"),
        ),
        h(
          "button",
          {
            class: "plain",
            "aria-label": "The next one",
            "data-keep": "next",
            onclick: () => turn(1),
          },
          icon("down"),
        ),
      ),
    ),
    passage(one),
    h("p", { class: "note" }, `Taken for ${one.speaker}, ${percent(one.sure)} sure.`),
    h("ol", { class: "candidates" }, ...one.candidates.map((name, i) => candidate(one, name, i))),
    somebodyElse(one),
    h(
      "div",
      { class: "row" },
      h("button", { "data-keep": "go", onclick: () => go(one) }, icon("play"), "Hear it there"),
    ),
  );
}

/** The quotation in its paragraph, and what stands around that. */
function passage(one) {
  const { paragraph = one.words, spans = [[0, one.words.length]] } = one;
  const pieces = [];
  let from = 0;
  for (const [start, stop] of spans) {
    pieces.push(paragraph.slice(from, start), h("mark", {}, paragraph.slice(start, stop)));
    from = stop;
  }
  pieces.push(paragraph.slice(from));
  return h(
    "blockquote",
    { class: "doubt-text" },
    one.before ? h("p", {}, one.before) : null,
    h("p", { class: "own" }, ...pieces),
    one.after ? h("p", {}, one.after) : null,
  );
}

const NOBODY = "-";

function somebodyElse(one) {
  const names = state.book.speakers
    .map((speaker) => speaker.name)
    .filter((name) => !one.candidates.includes(name));
  const select = h(
    "select",
    { "data-keep": "else", onchange: () => select.value && answer(one, select.value) },
    h("option", { value: "" }, "…"),
    ...names.map((name) => h("option", { value: name }, name)),
    h("option", { value: NOBODY }, "Nobody: these are no spoken words"),
  );
  return field("Somebody else", select);
}

function candidate(one, name, i) {
  return h(
    "li",
    {},
    h(
      "button",
      {
        "data-keep": `candidate-${i}`,
        class: name === one.speaker ? "likely" : "",
        onclick: () => decide(i + 1),
      },
      i < 9 ? h("kbd", {}, i + 1) : null,
      h("span", { class: `c${colorOf(name)}` }, name),
    ),
  );
}

function turn(by) {
  if (doubts.length) at = (at + by + doubts.length) % doubts.length;
  draw();
}

/** By its key; whether there is such a candidate. @param {number} number */
export function decide(number) {
  const one = doubts[at];
  const name = one?.candidates[number - 1];
  if (name) answer(one, name);
  return Boolean(name);
}

function answer(one, name) {
  doubts = doubts.filter((other) => other !== one);
  total -= 1;
  at = Math.min(at, Math.max(0, doubts.length - 1));
  draw();
  unwritten += 1;
  writing = writing.then(async () => {
    await attempt(() =>
      sendEdit({ kind: "quotation", chapter: one.chapter, id: one.id, speaker: name }),
    );
    unwritten -= 1;
    loadDoubts();
  });
}

async function go(one) {
  await openChapter(one.chapter);
  const first = one.words.split(" … ")[0];
  const place = state.chapter.chunks.findIndex((chunk) => chunk.text.includes(first));
  if (place < 0) {
    say("Its sentence has changed meanwhile");
    return;
  }
  choose(place);
  playFrom(place);
}

export const turnDoubt = turn;

on("pane", (name) => name === "doubts" && loadDoubts());
on("edited", () => pane() === "doubts" && loadDoubts());

// Exchanges in which somebody is in doubt, those with most doubt first: a key decides a turn, or all.

import { attempt, sendEdit, undo } from "./actions.js";
import { get } from "./api.js";
import { field } from "./dialogs.js";
import { byId, h, icon, refill } from "./dom.js";
import { openChapter } from "./loading.js";
import { say } from "./messages.js";
import { newSpeakerForm } from "./newspeaker.js";
import { pane } from "./panes.js";
import { isPlaying, playFrom } from "./player.js";
import { choose, colorOf, on, state } from "./store.js";
import { counted, percent } from "./words.js";

const box = byId("pane-doubts");
const badge = byId("doubts-count");
const TURN_KEYS = "abcdefghijklmnop";
const NOBODY = "-";
const UNKNOWN = "?";
const TITLES = { [NOBODY]: "the narrator", [UNKNOWN]: "nobody known" };

/** @type {any[]} Those that are to be asked about. */
let exchanges = [];
/** Quotations in doubt, of all of them. */
let total = 0;
/** @type {any} The one that is shown: it may be decided already. */
let shown = null;
/** The turn that keys are about, and those after it. */
let cursor = 0;
/** Whether the next name is for the rest of the exchange. */
let isRest = false;
/** Whether nothing was done in the panel since it was opened: it begins at what is doubtful. */
let isUntouched = false;
let isLoading = false;
/** Whether something has changed since the server was last asked. */
let isOutdated = false;
/** Decisions that are not written yet, one after the other: the next key does not wait. */
let unwritten = 0;
let writing = Promise.resolve();
/** @type {Map<string, string[]>} Who had which number when an exchange was first shown, by id. */
const numbered = new Map();
/** @type {{ id: string, cursor: number }[]} Where decisions were made, the last at the end. */
const decisions = [];

export async function loadDoubts() {
  isOutdated = true;
  if (isLoading) return;
  isLoading = true;
  while (isOutdated && !unwritten) {
    isOutdated = false;
    const id = shown?.id;
    const query = id ? `?exchange=${encodeURIComponent(id)}` : "";
    const answer = await attempt(() => get(`/api/doubts${query}`));
    if (!answer) break;
    isOutdated ||= id !== shown?.id;
    if (!isOutdated && !unwritten) take(answer);
  }
  isLoading = false;
}

function take(answer) {
  exchanges = answer.exchanges;
  total = answer.total;
  badge.textContent = total ? String(total) : "";
  const first = isUntouched || !answer.shown ? besideText(answer.shown) : null;
  if (!answer.shown || (first && first.id !== answer.shown.id)) return show(first);
  shown = exchanges.find((one) => one.id === answer.shown.id) ?? answer.shown;
  keepNumbers();
  draw();
}

/** @param {any} exchange */
function show(exchange) {
  shown = exchange;
  isRest = false;
  keepNumbers();
  cursor = Math.max(0, nextDoubtful(-1));
  draw();
  reveal();
}

/** A doubtful one of the chapter beside, the one that was shown before others. @param {any} [before] */
function besideText(before) {
  const list = exchanges.filter(isDoubtful);
  const here = list.filter((one) => one.chapter === state.chapter?.number);
  return [here, list].flatMap((some) => some.find((one) => one.id === before?.id) ?? some[0] ?? [])[0] ?? null;
}

/** Scrolls to the turn at the cursor, if it is out of sight or hidden by the names. */
function reveal() {
  const turn = box.querySelector(".turn[aria-current]")?.getBoundingClientRect();
  if (!turn) return;
  const room = box.clientHeight - box.querySelector(".asked").offsetHeight;
  const top = turn.top - box.getBoundingClientRect().top;
  if (top < 0 || top + turn.height > room) box.scrollTop += top - Math.max(0, (room - turn.height) / 2);
}

/** Names keep their numbers, but for people who were renamed or are gone. */
function keepNumbers() {
  if (!shown) return;
  const before = numbered.get(shown.id) ?? [];
  if (before.every((name) => shown.names.includes(name)))
    shown.names = [...before, ...shown.names.filter((name) => !before.includes(name))];
  numbered.set(shown.id, shown.names);
}

/** The first doubtful turn after one, else the first of all, else -1. */
function nextDoubtful(turn) {
  const doubtful = shown ? shown.turns.flatMap((one, i) => (one.doubtful ? [i] : [])) : [];
  return doubtful.find((i) => i > turn) ?? doubtful[0] ?? -1;
}

// -- showing ---------------------------------------------------------------------------------------

function draw() {
  if (!shown) {
    refill(
      box,
      h(
        "p",
        { class: "empty" },
        "No quotation is doubtful: each has its speaker from the text, by a rule or from you.",
      ),
    );
    return;
  }
  const isHere = shown.chapter === state.chapter?.number;
  const words = `Chapter ${shown.chapter}`;
  refill(
    box,
    h(
      "header",
      { class: "row spread" },
      h(
        "p",
        { class: "note" },
        isHere ? words : h("button", { class: "link", title: "Show its text", "data-keep": "beside", onclick: goThere }, words),
        ` · ${counted(total, "quotation")} in doubt in the book`,
      ),
      h(
        "span",
        { class: "steps" },
        button("Previous exchange", "before", () => turnDoubt(-1), icon("up")),
        button("Next exchange", "next", () => turnDoubt(1), icon("down")),
      ),
    ),
    h("div", { class: "exchange" }, ...shown.passages.map(passage)),
    h(
      "div",
      { class: "asked" },
      h(
        "p",
        { class: "note", role: "status" },
        isRest ? `All from ${TURN_KEYS[cursor]} on:` : `Who says ${TURN_KEYS[cursor]}?`,
      ),
      h("ol", { class: "candidates" }, ...shown.names.map(candidate)),
      h(
        "div",
        { class: "row decisions" },
        keyed("Enter", "All as shown", "main"),
        keyed(" ", "As shown, next"),
      ),
    ),
    somebodyElse(),
    somebodyNew,
    h(
      "div",
      { class: "row decisions" },
      keyed("x", "Swap two from here"),
      keyed("t", "They alternate from here"),
      keyed("r", "One says the rest"),
      keyed("s", "Skip"),
      keyed("u", "Undo"),
      h("button", { "data-keep": "go", onclick: hear }, icon("play"), "Play it in the text"),
    ),
  );
}

const button = (title, keep, onclick, ...children) =>
  h("button", { class: "plain", "aria-label": title, "data-keep": keep, onclick }, ...children);

/** A button that does what a key does. */
const keyed = (key, words, kind = "") =>
  h(
    "button",
    { class: kind, "data-keep": `key-${key}`, onclick: () => pressDoubtKey(key) },
    h("kbd", {}, key === " " ? "Space" : key),
    words,
  );

/** A paragraph, or the part of one that belongs to a turn. */
function passage({ text, turn, spans }) {
  if (turn === null) return h("p", {}, text);
  const { speaker, doubtful, sure } = shown.turns[turn];
  const words = [];
  let from = 0;
  for (const [start, stop] of spans) {
    words.push(text.slice(from, start), h("mark", {}, text.slice(start, stop)));
    from = stop;
  }
  words.push(text.slice(from));
  const key = TURN_KEYS[turn];
  return h(
    "p",
    {
      class: `turn ${doubtful ? "unsure" : ""}`,
      "aria-current": turn === cursor ? "true" : null,
      onclick: () => select(turn),
    },
    h(
      "button",
      {
        class: "plain who",
        title: "Another says it",
        "data-keep": `turn-${turn}`,
        onclick: (event) => {
          event.stopPropagation();
          pressDoubtKey(key);
        },
      },
      h("kbd", {}, key),
      h("span", { class: `c${colorOf(speaker)}` }, TITLES[speaker] ?? speaker),
      doubtful ? h("small", {}, `? ${percent(sure)}`) : null,
    ),
    ...words,
  );
}

function select(turn) {
  isUntouched = false;
  cursor = turn;
  draw();
  reveal();
}

function somebodyElse() {
  const names = state.book.speakers
    .map((speaker) => speaker.name)
    .filter((name) => !shown.names.includes(name));
  const select = h(
    "select",
    { "data-keep": "else", onchange: () => select.value && name(select.value) },
    h("option", { value: "" }, "…"),
    ...names.map((name) => h("option", { value: name }, name)),
    h("option", { value: NOBODY }, "Nobody: this is not speech"),
  );
  return field("Somebody else", select);
}

const somebodyNew = newSpeakerForm(
  "Or somebody new",
  [h("button", { type: "submit", "data-keep": "new-give" }, "Add, and give it to them")],
  (fields, clear) => {
    clear();
    name(fields.speaker, fields);
  },
);

function candidate(name, i) {
  return h(
    "li",
    {},
    h(
      "button",
      {
        "data-keep": `candidate-${i}`,
        class: name === shown.turns[cursor].speaker ? "likely" : "",
        onclick: () => pressDoubtKey(String(i + 1)),
      },
      h("kbd", {}, i + 1),
      h("span", { class: `c${colorOf(name)}` }, name),
    ),
  );
}

// -- deciding --------------------------------------------------------------------------------------

/** Does what a key says in this panel; whether it says anything. @param {string} key */
export function pressDoubtKey(key) {
  if (!shown) return false;
  isUntouched = false;
  const turn = TURN_KEYS.indexOf(key);
  if (key === "Enter") asShown();
  else if (key === " ") name(shown.turns[cursor].speaker);
  else if (key === "x") decide("swap");
  else if (key === "t") decide("alternate");
  else if (key === "r") {
    isRest = true;
    draw();
  } else if (key === "s") turnDoubt(1);
  else if (key === "u") undoDecision();
  else if (key === "w") box.querySelector("select")?.focus();
  else if (key === "0" || key === NOBODY) name(NOBODY);
  else if (/^[1-9]$/.test(key) && shown.names[Number(key) - 1]) name(shown.names[Number(key) - 1]);
  else if (turn >= 0 && turn < shown.turns.length) {
    cursor = turn;
    decide("other");
  } else return false;
  return true;
}

/** Says who speaks: the turn at the cursor, or the rest. @param {string} speaker @param {any} [fields] */
function name(speaker, fields = {}) {
  const decided = isRest ? shown.turns.slice(cursor) : [shown.turns[cursor]];
  const isKnown = decided.every((one) => one.decided && one.speaker === speaker);
  for (const one of decided) Object.assign(one, { speaker, doubtful: false, decided: true });
  if (!isKnown) decide(isRest ? "rest" : "one", { speaker, ...fields });
  if (!isRest) {
    const next = nextDoubtful(cursor);
    if (next < 0) return turnDoubt(1);
    cursor = next;
  }
  isRest = false;
  draw();
  reveal();
}

function asShown() {
  if (shown.turns.some((one) => !one.decided)) decide("as shown");
  for (const one of shown.turns) Object.assign(one, { doubtful: false, decided: true });
  turnDoubt(1);
}

/** Sends a decision on the turn at the cursor. @param {string} decision @param {any} [fields] the speaker */
function decide(decision, fields = {}) {
  const where = { id: shown.id, turn: cursor };
  decisions.push({ id: shown.id, cursor });
  unwritten += 1;
  writing = writing.then(async () => {
    await attempt(() => sendEdit({ kind: "exchange", ...where, decision, ...fields }));
    unwritten -= 1;
    loadDoubts();
  });
}

async function undoDecision() {
  await writing;
  const where = decisions.pop();
  if (where) {
    shown = { ...shown, id: where.id, isPartial: true }; // its turns come with the answer
    cursor = where.cursor;
  }
  await undo();
  loadDoubts();
}

const isDoubtful = (exchange) => exchange.turns.some((turn) => turn.doubtful);

/** The exchange after, or before, the one that is shown. @param {number} by */
export function turnDoubt(by) {
  isUntouched = false;
  const order = exchanges.filter((one) => one.id === shown?.id || isDoubtful(one));
  if (!order.some((one) => one.id !== shown?.id)) {
    if (shown && !isDoubtful(shown)) show(null);
    return;
  }
  const position = order.findIndex((one) => one.id === shown?.id);
  const from = position < 0 && by < 0 ? 0 : position; // a decided one has left the list
  show(order[(from + by + order.length) % order.length]);
  if (!isPlaying()) goThere();
}

/** The text goes to the turn at the cursor; its place, or -1. */
async function goThere() {
  const { id, chapter, turns } = shown;
  const { words } = turns[Math.min(cursor, turns.length - 1)];
  await writing; // lines may have other ids then
  if (shown?.id !== id) return -1;
  await openChapter(chapter);
  if (state.chapter?.number !== chapter) return -1;
  const place = state.chapter.chunks.findIndex((chunk) => chunk.text.includes(words));
  if (place >= 0) choose(place);
  return place;
}

async function hear() {
  const place = await goThere();
  if (place < 0) say("Its line has changed meanwhile");
  else playFrom(place);
}

on("pane", (name) => {
  if (name !== "doubts") return;
  isUntouched = true;
  show(besideText(shown)); // as far as it is known already
  loadDoubts();
});
on("opened", () => {
  if (pane() !== "doubts" || !shown || shown.isPartial) return;
  if (shown.chapter === state.chapter.number) draw();
  else show(besideText(shown));
});
on("edited", () => pane() === "doubts" && loadDoubts());
/** Names are shown in colours and listed as the book has them. */
let names = "";
on("book", () => {
  const before = names;
  names = state.book.speakers.map((speaker) => speaker.name).join("\n");
  if (names !== before && pane() === "doubts" && shown && !shown.isPartial) draw();
});

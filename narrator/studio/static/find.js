// What is looked for in the whole book, by words, speaker and state; results lead to their places.

import { attempt } from "./actions.js";
import { get } from "./api.js";
import { byId, fill, h, refill } from "./dom.js";
import { goTo } from "./loading.js";
import { say } from "./messages.js";
import { closeOver, pane, showPane } from "./panes.js";
import { focusProse } from "./prose.js";
import { chosenChunk, colorOf, emit, on, state } from "./store.js";
import { counted, grouped, stateWords } from "./words.js";

/** @type {[string, string][]} */
const STATES = [
  ["missing", "Not rendered"],
  ["doubtful", "Doubtful"],
  ["pinned", "Pinned"],
  ["flagged", "Flagged"],
  ["reviewed", "Reviewed"],
  ["unreviewed", "Not reviewed"],
];
const TYPING_MS = 150;
const REFRESH_MS = 1500;

const input = h("input", {
  type: "search",
  "aria-label": "Words in the book",
  placeholder: "Words in the book",
  autocomplete: "off",
  spellcheck: "false",
  maxlength: 200,
  oninput: () => lookIn(TYPING_MS),
});
const speaker = h("select", { "aria-label": "Speaker", onchange: () => lookIn(0) });
const states = STATES.map(([name, words]) =>
  h("button", { class: "small", "aria-pressed": "false", "data-state": name, onclick: press }, words),
);
const count = h("p", { class: "note", role: "status" });
const list = h("div", { class: "hits" });
fill(
  byId("pane-find"),
  h(
    "div",
    { class: "find-form", role: "search" },
    input,
    h("div", { class: "row wrap", role: "group", "aria-label": "Speaker, and states that all hold" }, speaker, ...states),
  ),
  count,
  list,
);

/** The last answer. @type {any} */
let shown = { total: 0, chapters: [], results: [] };
/** Counts questions, so that of two answers the one asked for last stays. */
let asked = 0;
let timer = 0;

const isPressed = (button) => button.getAttribute("aria-pressed") === "true";

function press({ currentTarget: button }) {
  button.setAttribute("aria-pressed", String(!isPressed(button)));
  lookIn(0);
}

function query() {
  const fields = new URLSearchParams();
  const words = input.value.trim();
  if (words) fields.set("words", words);
  if (speaker.value) fields.set("speaker", speaker.value);
  for (const button of states) if (isPressed(button)) fields.append("state", button.dataset.state);
  return fields.size ? fields : null;
}

function lookIn(ms) {
  clearTimeout(timer);
  timer = setTimeout(look, ms);
}

/** @param {number} from the number of the first result that is wanted: those before it are there */
async function look(from = 0) {
  timer = 0;
  const fields = query();
  const mine = ++asked;
  emit("search", pane() === "find" ? input.value.trim().toLowerCase() : "");
  const nothing = { total: 0, chapters: [], results: [] };
  fields?.set("from", String(from));
  const answer = fields ? await attempt(() => get(`/api/find?${fields}`)) : nothing;
  if (!answer || mine !== asked) return;
  shown = { ...answer, results: [...shown.results.slice(0, from), ...answer.results] };
  draw();
}

function draw() {
  const { total, chapters, results } = shown;
  const isAsked = query() !== null;
  fill(count, isAsked ? (total ? `${grouped(total)} found in ${counted(chapters.length, "chapter")}` : "Nothing found") : "By words, speaker and state, in the whole book.");
  const parts = chapters.flatMap((chapter) => {
    const rows = results.filter((one) => one.chapter === chapter.number);
    if (!rows.length) return [];
    return [
      h("h3", {}, chapter.title || `Chapter ${chapter.number}`, h("span", {}, grouped(chapter.count))),
      h("ul", {}, ...rows.map(row)),
    ];
  });
  const rest = total - results.length;
  const more = rest > 0
    ? h("button", { class: "wide", "data-keep": "more", onclick: () => look(results.length) }, `Show more (${grouped(rest)})`)
    : null;
  refill(list, ...parts, more);
}

function row(one) {
  const [before, match, after] = one.text;
  const notes = [
    one.state === "good" ? "" : stateWords(one.state),
    one.pinned && "pinned",
    one.flagged && "flagged",
    one.reviewed && "reviewed",
  ].filter(Boolean);
  return h(
    "li",
    {},
    h(
      "button",
      {
        class: "hit",
        "data-chunk": one.id,
        "data-keep": `hit-${one.id}`,
        "aria-current": one.id === chosenChunk()?.id ? "true" : null,
        onclick: (event) => arrive(one.id, event.detail > 0),
      },
      h(
        "span",
        { class: "from" },
        h("b", {}, one.id),
        ...one.speakers.map((name) => h("span", { class: `speaker c${colorOf(name)}` }, name)),
        notes.length ? h("small", {}, notes.join(", ")) : null,
      ),
      h("span", { class: "text" }, before, match ? h("mark", {}, match) : null, after),
    ),
  );
}

/** Goes to a result. Where the panel lies over the text, a tap closes it. */
async function arrive(id, isTapped) {
  await goTo(id);
  if (isTapped && byId("side-close").getClientRects().length) {
    closeOver();
    focusProse();
  }
}

/** @param {string} id "3.12" */
const order = (id) => id.split(".").map(Number);

/** The next result from the chosen chunk on, or the one before. @param {number} by 1 or -1 */
export async function nextFound(by) {
  if (timer) clearTimeout(timer);
  if (timer || (query() && !shown.results.length)) await look();
  if (!shown.results.length) {
    say(query() ? "Nothing found" : "Search first: press /", "found");
    return;
  }
  const [chapter, place] = order(chosenChunk()?.id ?? "0.0");
  const isAfter = ({ id }) => order(id)[0] - chapter || order(id)[1] - place;
  let next = by > 0 ? shown.results.find((one) => isAfter(one) > 0) : shown.results.findLast((one) => isAfter(one) < 0);
  if (!next && by > 0 && shown.results.length < shown.total) {
    const size = shown.results.length;
    await look(size);
    next = shown.results[size];
  }
  if (!next) say(by > 0 ? "After the last place comes the first again" : "Before the first place comes the last again", "found");
  await goTo((next ?? shown.results.at(by > 0 ? 0 : -1)).id);
}

export function openFind() {
  showPane("find", { focus: false });
  input.focus();
  input.select();
}

byId("to-search").addEventListener("click", openFind);
byId("pane-find").addEventListener("keydown", (event) => {
  const hits = [...list.querySelectorAll(".hit, .wide")];
  const at = hits.indexOf(document.activeElement);
  const isInput = event.target === input;
  if (event.key === "Enter" && isInput) nextFound(event.shiftKey ? -1 : 1);
  else if (event.key === "ArrowDown" && (isInput || at >= 0)) hits[at + 1]?.focus();
  else if (event.key === "ArrowUp" && at >= 0) (hits[at - 1] ?? input).focus();
  else return;
  event.preventDefault();
});

function markChosen() {
  const id = chosenChunk()?.id;
  for (const hit of list.querySelectorAll(".hit")) {
    if (hit.dataset.chunk === id) hit.setAttribute("aria-current", "true");
    else hit.removeAttribute("aria-current");
  }
  if (!list.contains(document.activeElement))
    list.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest" });
}

function drawSpeakers() {
  const names = state.book.speakers.map(({ name }) => name);
  const before = speaker.value;
  const options = [["", "Any speaker"], ...names.map((name) => [name, name])];
  fill(speaker, ...options.map(([value, words]) => h("option", { value, selected: value === before }, words)));
}

on("chosen", markChosen);
on("pane", () => lookIn(0));
on("book", () => {
  drawSpeakers();
  if (pane() === "find" && query() && !timer) lookIn(REFRESH_MS);
});
draw();

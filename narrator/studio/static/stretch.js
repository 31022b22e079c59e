// A stretch of the chapter that is chosen: chunks by Shift and keys or clicks, or words by a selection.

import { byId, h, icon, fill } from "./dom.js";
import { choose, emit, on, state } from "./store.js";
import { counted } from "./words.js";

/**
 * @typedef {{ from: number, to: number, start: number, stop: number | null, isText?: boolean }} Stretch
 * Places of the first and last chunk; characters of the first one before the stretch, and of the
 * last one up to its end, null for all.
 */

const prose = byId("prose");
const bar = byId("stretch");
/** The place from which keys and clicks extend it. */
let anchor = -1;
let isExtending = false;

/** @param {number} from @param {number} to @returns {Stretch} */
export const wholeStretch = (from, to) => ({ from, to, start: 0, stop: null });

/** @param {Stretch | null} stretch */
function setStretch(stretch) {
  const before = state.stretch;
  if (!before && !stretch) return;
  state.stretch = stretch;
  if (stretch) state.held = true; // the choice stays here while the sound goes on
  emit("stretch", { before });
  draw();
}

/** Returns true if there was one. */
export function clearStretch() {
  const isThere = Boolean(state.stretch);
  setStretch(null);
  return isThere;
}

/** To the next chunk or the one before. @param {number} by */
export function extendStretch(by) {
  extendTo(state.chosen + by);
}

function extendTo(place) {
  const last = (state.chapter?.chunks.length ?? 0) - 1;
  if (last < 0) return;
  if (!state.stretch || state.stretch.isText) anchor = state.chosen;
  const head = Math.max(0, Math.min(last, place));
  getSelection()?.removeAllRanges();
  setStretch(wholeStretch(Math.min(anchor, head), Math.max(anchor, head)));
  isExtending = true;
  choose(head, { focus: prose.contains(document.activeElement) });
  isExtending = false;
}

// -- by the pointer --------------------------------------------------------------------------------

prose.addEventListener("mousedown", (event) => {
  if (event.shiftKey && event.target.closest(".chunk")) event.preventDefault(); // no selection
});
prose.addEventListener(
  "click",
  (event) => {
    const chunk = event.target.closest(".chunk");
    if (event.shiftKey && chunk) {
      event.stopPropagation();
      extendTo(Number(chunk.dataset.place));
    } else if (!selectedRange()) clearStretch();
  },
  true,
);

/** The selection if it has words of the text. */
function selectedRange() {
  const selection = getSelection();
  if (!selection?.rangeCount || selection.isCollapsed) return null;
  const range = selection.getRangeAt(0);
  return prose.contains(range.commonAncestorContainer) && String(range).trim() ? range : null;
}

const LETTER = /[\p{L}\p{N}]/u;
const WORD = /[\p{L}\p{N}\p{M}'’-]/u;

/** The selected words as a stretch, whole words at both ends. @returns {Stretch | null} */
function selectedStretch() {
  const range = selectedRange();
  if (!range) return null;
  const parts = [...prose.querySelectorAll(".chunk")].flatMap((element) => {
    const words = element.querySelector(".words");
    if (!range.intersectsNode(words)) return [];
    const place = Number(element.dataset.place);
    const text = [...(state.chapter?.chunks[place]?.text ?? "")];
    let start = offsetIn(words, range.startContainer, range.startOffset) ?? 0;
    let stop = offsetIn(words, range.endContainer, range.endOffset) ?? text.length;
    if (!text.slice(start, stop).some((letter) => LETTER.test(letter))) return [];
    while (start > 0 && WORD.test(text[start]) && WORD.test(text[start - 1])) start--;
    while (stop < text.length && WORD.test(text[stop]) && WORD.test(text[stop - 1])) stop++;
    const isFromStart = !text.slice(0, start).some((letter) => LETTER.test(letter));
    const isToEnd = !text.slice(stop).some((letter) => LETTER.test(letter));
    return [{ place, start: isFromStart ? 0 : start, stop: isToEnd ? null : stop }];
  });
  if (!parts.length) return null;
  const [first, last] = [parts[0], parts[parts.length - 1]];
  return { from: first.place, to: last.place, start: first.start, stop: last.stop, isText: true };
}

/** Characters of an element's text before a place in it; null for a place outside. */
function offsetIn(element, node, offset) {
  if (!element.contains(node)) return null;
  const range = document.createRange();
  range.setStart(element, 0);
  range.setEnd(node, offset);
  return [...String(range)].length;
}

let timer = 0;
document.addEventListener("selectionchange", () => {
  clearTimeout(timer);
  timer = setTimeout(() => {
    const stretch = selectedStretch();
    if (stretch || state.stretch?.isText) setStretch(stretch);
  }, 200);
});

// -- shown -----------------------------------------------------------------------------------------

/** What is done with it; the page decides. @type {() => void} */
let give = () => {};
export const onGive = (run) => (give = run);

function draw() {
  const { stretch } = state;
  bar.hidden = !stretch || state.book.you?.rights === "listen";
  if (bar.hidden) return;
  const { chunks } = state.chapter;
  const [first, last] = [chunks[stretch.from], chunks[stretch.to]];
  const isPartial = stretch.start > 0 || stretch.stop !== null;
  const what = isPartial && first === last ? `Words of ${first.id}` : counted(stretch.to - stretch.from + 1, "line");
  const reach = first === last ? "" : `, ${isPartial ? "words of " : ""}${first.id} to ${last.id}`;
  fill(
    bar,
    h("span", { role: "status" }, `${what}${reach}`),
    h("button", { class: "main small", title: "Speaker (v)", onclick: () => give() }, icon("who"), "Speaker…"),
    h(
      "button",
      { class: "plain small", "aria-label": "Clear the selection", onclick: drop },
      icon("close"),
    ),
  );
}

function drop() {
  getSelection()?.removeAllRanges();
  clearStretch();
}

// A press there is to leave the selection as it is.
bar.addEventListener("pointerdown", (event) => event.preventDefault());
bar.addEventListener("mousedown", (event) => event.preventDefault());

on("chosen", () => isExtending || state.stretch?.isText || clearStretch());
on("opened", clearStretch);
on("chapter", ({ before }) => before.length === state.chapter.chunks.length || clearStretch());

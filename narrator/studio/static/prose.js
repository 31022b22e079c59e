// The chapter as prose. Its chunks lie in groups, of which only those near the eye are filled: a
// chapter of 15,000 chunks is a few hundred empty boxes.

import { byId, h, icon, isStill, unseen } from "./dom.js";
import { savePreference, preference } from "./preferences.js";
import { choose, colorOf, isFlagged, on, placeOf, scriptOf, state } from "./store.js";
import { stateWords } from "./words.js";

const box = byId("prose");
const scroller = byId("reading");
const back = byId("back");

const GROUP = 30;
const LONGEST = 160;
/** Languages whose sentences follow each other without a space. */
const UNSPACED = /^(ja|zh|yue|wuu|th|lo|km|my)\b/;

/** @type {{ from: number, to: number, element: HTMLElement, isFilled: boolean, height: number }[]} */
let groups = [];
/** @type {Map<number, HTMLElement>} Of chunks that are drawn, by place. */
const drawn = new Map();
/** What stands below the paragraph of a chunk, by its id. @type {Map<string, HTMLElement>} */
const insets = new Map();
/** The words that are looked for, in small letters. */
let sought = "";
let isFollowing = preference("follow", true);

/** What a click or Enter does; the page decides. @type {(place: number) => void} */
let activate = () => {};
export const onActivate = (f) => (activate = f);

// -- groups ----------------------------------------------------------------------------------------

/** Groups end where paragraphs do, but for paragraphs of hundreds of chunks. */
function cut(chunks) {
  const bounds = [0];
  for (let i = 1; i < chunks.length; i++) {
    const size = i - bounds[bounds.length - 1];
    const isNew = chunks[i].paragraph !== chunks[i - 1].paragraph;
    if ((size >= GROUP && isNew) || size >= LONGEST) bounds.push(i);
  }
  return bounds;
}

const seen = new IntersectionObserver(
  (entries) => {
    for (const entry of entries) {
      const group = groups[Number(entry.target.dataset.group)];
      if (!group || group.element !== entry.target) continue;
      if (entry.isIntersecting) fillGroup(group);
      else emptyGroup(group);
    }
  },
  { root: scroller, rootMargin: "1500px 0px" },
);

function build() {
  const focused = document.activeElement;
  const [id] = [...insets].find(([, element]) => element.contains(focused)) ?? [];
  seen.disconnect();
  drawn.clear();
  const chunks = state.chapter?.chunks ?? [];
  const bounds = chunks.length ? cut(chunks) : [];
  groups = bounds.map((from, number) => {
    const to = bounds[number + 1] ?? chunks.length;
    const element = h("div", { class: "group", "data-group": number });
    return { from, to, element, isFilled: false, height: 0 };
  });
  for (const group of groups) sizeGroup(group);
  box.replaceChildren(...groups.map((group) => group.element));
  const { lang = "", dir = "" } = scriptOf();
  Object.assign(box, { lang, dir });
  box.setAttribute("aria-label", `Text of ${state.chapter?.title ?? "the chapter"}`);
  for (const group of groups) seen.observe(group.element);
  const held = id && groupOf(placeOf(id));
  if (!held) return;
  fillGroup(held);
  focused.focus({ preventScroll: true });
}

/** Gives an empty group the height that it had, or may have. */
function sizeGroup(group) {
  group.element.style.height = `${group.height || guess(group)}px`;
  group.element.classList.add("empty");
}

function guess({ from, to }) {
  const line = parseFloat(getComputedStyle(box).lineHeight) || 30;
  const wide = Math.max(20, (box.clientWidth || 600) / (line * 0.28));
  let height = 0;
  let letters = 0;
  for (let i = from; i < to; i++) {
    const chunk = state.chapter.chunks[i];
    letters += chunk.text.length + 1;
    height += (chunk.text.split("\n").length - 1) * line; // paragraphs that are spoken in one go
    if (chunk.paragraph !== state.chapter.chunks[i + 1]?.paragraph || i === to - 1) {
      height += Math.ceil(letters / wide) * line + line * 0.6;
      letters = 0;
    }
  }
  return Math.round(height);
}

const hasAnchors = CSS.supports("overflow-anchor", "auto");

function fillGroup(group) {
  if (group.isFilled) return;
  group.isFilled = true;
  const before = group.element.offsetHeight;
  group.element.classList.remove("empty");
  group.element.replaceChildren(...paragraphs(group));
  group.element.style.height = "";
  group.height = group.element.offsetHeight;
  // Browsers that hold what is read in its place do so by themselves.
  const isAbove = group.element.offsetTop + before < scroller.scrollTop;
  if (!hasAnchors && isAbove) scroller.scrollTop += group.height - before;
}

function emptyGroup(group) {
  if (!group.isFilled || group.element.contains(document.activeElement)) return;
  group.height = group.element.offsetHeight;
  sizeGroup(group);
  group.isFilled = false;
  for (let i = group.from; i < group.to; i++) drawn.delete(i);
  group.element.replaceChildren();
}

const groupOf = (place) => groups.find((group) => place >= group.from && place < group.to);

// -- paragraphs ------------------------------------------------------------------------------------

function* paragraphs({ from, to }) {
  const chunks = state.chapter.chunks;
  let start = from;
  for (let i = from + 1; i <= to; i++) {
    if (i < to && chunks[i].paragraph === chunks[start].paragraph) continue;
    if (start > 0 && chunks[start].scene !== chunks[start - 1].scene) {
      yield h("hr", { class: "scene" });
    }
    yield paragraph(start, i);
    for (const { id } of chunks.slice(start, i)) if (insets.has(id)) yield insets.get(id);
    start = i;
  }
}

function paragraph(from, to) {
  const chunks = state.chapter.chunks.slice(from, to);
  const level = chunks[0].heading;
  const script = scriptOf(chunks[0]);
  const element = h(level ? `h${Math.min(6, level + 1)}` : "p", { class: "paragraph", ...script });
  const names = new Set(chunks.flatMap((chunk) => chunk.speakers));
  const who = [...names].filter((name) => colorOf(name));
  if (who.length) {
    const tags = who.map((name) => h("span", { class: `c${colorOf(name)}` }, name));
    element.append(h("span", { class: "who", "aria-hidden": "true" }, ...tags));
  }
  const space = UNSPACED.test(script.lang) ? "" : " ";
  chunks.forEach((chunk, offset) => element.append(drawChunk(chunk, from + offset), space));
  markReviewed(element);
  return element;
}

/** Puts something below a chunk's paragraph, or takes it away. @param {string} id @param {HTMLElement | null} element */
export function setInset(id, element) {
  insets.get(id)?.remove();
  if (!element) {
    insets.delete(id);
    return;
  }
  insets.set(id, element);
  drawn.get(placeOf(id))?.closest(".paragraph")?.after(element);
}

function markReviewed(element) {
  const chunks = [...element.querySelectorAll(".chunk")];
  const isDone = chunks.every((chunk) => chunk.classList.contains("reviewed"));
  element.classList.toggle("reviewed", isDone);
}

/** @param {import("./store.js").Chunk} chunk @param {number} place */
function drawChunk(chunk, place) {
  const spoken = chunk.speakers.join(" and ");
  const element = h(
    "span",
    {
      class: classes(chunk, place),
      role: "button",
      tabindex: place === state.chosen ? 0 : -1,
      "data-place": place,
      "data-chunk": chunk.id,
      title: `${spoken}${chunk.style ? `, ${chunk.style}` : ""} · ${chunk.id}`,
      "aria-current": place === state.playing ? "true" : null,
    },
    unseen(`${spoken}: `),
    words(chunk),
    marks(chunk),
  );
  drawn.set(place, element);
  return element;
}

function classes(chunk, place) {
  const names = ["chunk", `c${colorOf(chunk.speakers[0])}`, chunk.state.replace(" ", "-")];
  if (chunk.reviewed) names.push("reviewed");
  if (chunk.pending) names.push("pending");
  if (place === state.chosen) names.push("chosen");
  const { stretch } = state;
  if (stretch && !stretch.isText && place >= stretch.from && place <= stretch.to) names.push("stretch");
  if (place === state.playing) names.push("playing");
  if (sought && chunk.text.toLowerCase().includes(sought)) names.push("found");
  return names.join(" ");
}

function words({ text, script }) {
  const element = h("span", { class: "words", ...script });
  const small = text.toLowerCase();
  let from = 0;
  while (sought && small.length === text.length) {
    const at = small.indexOf(sought, from);
    if (at < 0) break;
    element.append(...broken(text.slice(from, at)), h("mark", {}, text.slice(at, at + sought.length)));
    from = at + sought.length;
  }
  element.append(...broken(text.slice(from)));
  return element;
}

/** Text with space where a paragraph ends in it. @param {string} text */
const broken = (text) =>
  text.split("\n").flatMap((part, i) => (i ? [h("span", { class: "break" }, "\n"), part] : [part]));

function marks(chunk) {
  const element = h("span", { class: "marks" });
  if (isFlagged(chunk)) element.append(icon("flag"));
  if (chunk.pinned) element.append(icon("pin"));
  if (chunk.sure !== null && chunk.sure < 0.7) element.append(icon("who"));
  const said = [
    chunk.pending ? "being saved" : chunk.state !== "good" && stateWords(chunk.state),
    isFlagged(chunk) && "flagged",
    chunk.pinned && "pinned",
    chunk.reviewed && "reviewed",
  ].filter(Boolean);
  if (said.length) element.append(unseen(` (${said.join(", ")})`));
  return element;
}

function redraw(place) {
  const old = drawn.get(place);
  const chunk = state.chapter?.chunks[place];
  if (!old || !chunk) return;
  const hadFocus = old === document.activeElement;
  const now = drawChunk(chunk, place);
  old.replaceWith(now);
  markReviewed(now.parentElement);
  if (hadFocus) now.focus({ preventScroll: true });
}

function restyle(place) {
  const element = drawn.get(place);
  const chunk = state.chapter?.chunks[place];
  if (!element || !chunk) return;
  element.className = classes(chunk, place);
  element.tabIndex = place === state.chosen ? 0 : -1;
  if (place === state.playing) element.setAttribute("aria-current", "true");
  else element.removeAttribute("aria-current");
}

// -- scrolling -------------------------------------------------------------------------------------

/** @param {number} place @param {boolean} [always] also where it can be seen already */
function show(place, always = false) {
  const group = groupOf(place);
  if (!group) return;
  fillGroup(group);
  const element = drawn.get(place);
  if (!element) return;
  const [inner, outer] = [element.getBoundingClientRect(), scroller.getBoundingClientRect()];
  const isSeen = inner.top > outer.top + 40 && inner.bottom < outer.bottom - 60;
  if (isSeen && !always) return;
  const isFar = Math.abs(inner.top - outer.top) > 2.5 * outer.height;
  scrolledByPage = performance.now();
  element.scrollIntoView({ block: "center", behavior: isFar || isStill() ? "auto" : "smooth" });
}

let scrolledByPage = 0;

function follow(yes) {
  isFollowing = yes;
  savePreference("follow", yes);
  back.hidden = yes || state.playing < 0;
  if (yes && state.playing >= 0) show(state.playing);
}

// Somebody who scrolls wants to read elsewhere: the page does not pull them back.
for (const name of ["wheel", "touchmove"]) {
  scroller.addEventListener(name, () => isFollowing && follow(false), { passive: true });
}
scroller.addEventListener("keydown", (event) => {
  if (["PageUp", "PageDown", "Home", "End"].includes(event.key) && isFollowing) follow(false);
});
back.addEventListener("click", () => follow(true));

// -- what happens ----------------------------------------------------------------------------------

box.addEventListener("click", (event) => {
  const element = event.target.closest(".chunk");
  if (!element || String(getSelection()).trim()) return;
  activate(Number(element.dataset.place));
});

on("opened", () => {
  scroller.scrollTop = 0;
  build();
});
on("chapter", ({ before }) => {
  const now = state.chapter.chunks;
  const isSame =
    now.length === before.length &&
    now.every((chunk, i) => chunk.paragraph === before[i].paragraph && chunk.id === before[i].id);
  if (!isSame) {
    const top = scroller.scrollTop;
    build();
    scroller.scrollTop = top;
    return;
  }
  for (const place of [...drawn.keys()]) {
    if (JSON.stringify(now[place]) === JSON.stringify(before[place])) continue;
    if (String(now[place].speakers) !== String(before[place].speakers)) redrawParagraph(place);
    else redraw(place);
  }
});

function redrawParagraph(place) {
  const element = drawn.get(place)?.closest(".paragraph");
  if (!element) return;
  const places = [...element.querySelectorAll(".chunk")].map((one) => Number(one.dataset.place));
  const hadFocus = element.contains(document.activeElement);
  element.replaceWith(paragraph(places[0], places[places.length - 1] + 1));
  if (hadFocus) drawn.get(state.chosen)?.focus({ preventScroll: true });
}

let colors = "";
on("book", () => {
  const now = state.book.speakers.map(({ name }) => `${name}:${colorOf(name)}`).join();
  if (colors && now !== colors) build();
  colors = now;
});

on("chosen", ({ before, scroll, focus }) => {
  restyle(before);
  restyle(state.chosen);
  if (scroll) show(state.chosen);
  if (focus || document.activeElement?.closest("#prose .chunk")) {
    drawn.get(state.chosen)?.focus({ preventScroll: true });
  }
});
on("playing", ({ before }) => {
  restyle(before);
  restyle(state.playing);
  if (isFollowing && state.playing >= 0) show(state.playing);
  back.hidden = isFollowing || state.playing < 0;
});
on("stretch", ({ before }) => {
  for (const one of [before, state.stretch]) {
    if (!one || one.isText) continue;
    for (let place = one.from; place <= one.to; place++) restyle(place);
  }
});
on("plays", () => follow(true));
on("search", (query) => {
  sought = query;
  for (const place of [...drawn.keys()]) redraw(place);
});

let width = 0;
new ResizeObserver(() => {
  if (Math.abs(box.clientWidth - width) < 2) return;
  width = box.clientWidth;
  for (const group of groups) {
    group.height = 0;
    if (!group.isFilled) sizeGroup(group);
  }
}).observe(box);

/** Puts the focus on the chosen sentence. @param {{ scroll?: boolean }} [how] */
export function focusProse({ scroll = true } = {}) {
  if (scroll) show(state.chosen);
  drawn.get(state.chosen)?.focus({ preventScroll: true });
}
box.addEventListener("focusin", (event) => {
  const place = Number(event.target.closest?.(".chunk")?.dataset.place ?? -1);
  if (place >= 0 && place !== state.chosen) choose(place, { scroll: false });
});

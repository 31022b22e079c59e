// Words looked for in the open chapter. The browser's own search sees no more than what is drawn.

import { goToPlace } from "./actions.js";
import { byId } from "./dom.js";
import { focusProse } from "./prose.js";
import { emit, on, state } from "./store.js";

const bar = byId("search");
const input = byId("search-words");
const count = byId("search-count");

/** @type {number[]} */
let found = [];

export function openSearch() {
  bar.hidden = false;
  byId("to-search").setAttribute("aria-expanded", "true");
  input.focus();
  input.select();
}

/** Whether it was open. */
export function closeSearch() {
  if (bar.hidden) return false;
  bar.hidden = true;
  byId("to-search").setAttribute("aria-expanded", "false");
  emit("search", "");
  focusProse();
  return true;
}

function look() {
  const words = input.value.trim().toLowerCase();
  const chunks = state.chapter?.chunks ?? [];
  found = words
    ? chunks.flatMap((chunk, i) => (chunk.text.toLowerCase().includes(words) ? [i] : []))
    : [];
  emit("search", words);
  tell();
}

function tell() {
  const at = found.indexOf(state.chosen);
  if (!input.value.trim()) count.textContent = "";
  else if (!found.length) count.textContent = "nowhere in this chapter";
  else count.textContent = at < 0 ? `${found.length} found` : `${at + 1} of ${found.length}`;
}

/** @param {number} by 1 or -1 */
function nextFound(by) {
  if (!found.length) return;
  const next =
    by > 0
      ? found.find((place) => place > state.chosen)
      : found.findLast((place) => place < state.chosen);
  goToPlace(next ?? (by > 0 ? found[0] : found[found.length - 1]));
  tell();
}

input.addEventListener("input", look);
bar.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && event.target === input) {
    event.preventDefault();
    nextFound(event.shiftKey ? -1 : 1);
  } else if (event.key === "Escape") {
    event.stopPropagation();
    closeSearch();
  }
});
byId("search-next").addEventListener("click", () => nextFound(1));
byId("search-before").addEventListener("click", () => nextFound(-1));
byId("search-close").addEventListener("click", closeSearch);
byId("to-search").addEventListener("click", () => (bar.hidden ? openSearch() : closeSearch()));
on("opened", () => bar.hidden || look());
on("chapter", () => bar.hidden || look());

// The column at the side: one panel at a time, as tabs. On narrow screens it and the list of chapters
// slide over the text.

import { byId } from "./dom.js";
import { savePreference, preference } from "./preferences.js";
import { canEdit } from "./rights.js";
import { emit } from "./store.js";

const tabs = [...document.querySelectorAll("[role=tab]")].filter(
  (tab) => canEdit || "listens" in tab.dataset,
);
const side = byId("side");
const nav = byId("nav");
let current = "";

export const pane = () => current;

/** @param {string} name @param {{ focus?: boolean, reveal?: boolean }} [how] */
export function showPane(name, { focus = true, reveal = true } = {}) {
  const isNew = name !== current;
  current = name;
  for (const tab of tabs) {
    const isOn = tab.dataset.pane === name;
    tab.setAttribute("aria-selected", String(isOn));
    tab.tabIndex = isOn ? 0 : -1;
    byId(`pane-${tab.dataset.pane}`).hidden = !isOn;
    if (isOn && focus) tab.focus({ preventScroll: true });
  }
  if (reveal) openSide(true);
  savePreference("pane", name);
  if (isNew) emit("pane", name);
}

/** The name of the panel for screens where the column is away. @param {boolean} yes */
export function openSide(yes) {
  side.classList.toggle("open", yes);
  byId("to-side").setAttribute("aria-expanded", String(yes));
  if (yes) openNav(false);
}

function openNav(yes) {
  nav.classList.toggle("open", yes);
  byId("to-nav").setAttribute("aria-expanded", String(yes));
  if (yes) openSide(false);
}

/** Closes what lies over the text. */
export function closeOver() {
  openSide(false);
  openNav(false);
}

byId("side-close").addEventListener("click", () => {
  openSide(false);
  byId("to-side").focus();
});
byId("nav-close").addEventListener("click", () => {
  openNav(false);
  byId("to-nav").focus();
});

/** Where it lies over the text its button to close it is shown. @param {HTMLElement} over */
const isOver = (over) =>
  over.classList.contains("open") && byId(`${over.id}-close`).getClientRects().length > 0;

// A tap beside closes; on the text it does nothing more. What plays can be reached meanwhile.
const BESIDE = "#side, #nav, #to-side, #to-nav, #said, #errors, dialog";
document.addEventListener(
  "click",
  (event) => {
    if (event.target.closest(BESIDE) || !(isOver(side) || isOver(nav))) return;
    if (!isOver(nav) && event.target.closest("#transport")) return;
    closeOver();
    if (event.target.closest("#text")) event.stopPropagation();
  },
  true,
);

for (const tab of tabs) tab.addEventListener("click", () => showPane(tab.dataset.pane));

byId("tabs").addEventListener("keydown", (event) => {
  const at = tabs.indexOf(document.activeElement);
  const to = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: tabs.length - 1 }[event.key];
  if (to === undefined || at < 0) return;
  event.preventDefault();
  showPane(tabs[(to + tabs.length) % tabs.length].dataset.pane);
});

byId("to-side").addEventListener("click", () => openSide(!side.classList.contains("open")));
byId("to-nav").addEventListener("click", () => {
  openNav(!nav.classList.contains("open"));
  if (nav.classList.contains("open")) nav.querySelector("[aria-current], a")?.focus();
});
nav.addEventListener("click", (event) => {
  if (event.target.closest("a")) openNav(false);
});

const first = preference("pane", "chunk");
showPane(tabs.some((tab) => tab.dataset.pane === first) ? first : "chunk", { focus: false, reveal: false });

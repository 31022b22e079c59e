// Elements, built by hand. Text goes in as text, never as markup: names and books are strangers'.

/**
 * h("button", { class: "small", onclick: f }, "Hear it") -> an element. Attributes that are null,
 * undefined or false are left out; true ones are empty; functions listen.
 * @param {string} tag
 * @param {Record<string, unknown>} [attributes]
 * @param {...(Node | string | number | null | undefined | false)} children
 */
export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  if (tag === "input" || tag === "textarea") element.dir = "auto"; // what is written there decides
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") element.addEventListener(name.slice(2), value);
    else if (name === "value") element.value = value;
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.filter((child) => child || child === 0).map(asNode));
  return element;
}

const asNode = (child) => (child instanceof Node ? child : String(child));

/** @param {string} id @returns {any} */
export const byId = (id) => document.getElementById(id);

export const SVG = "http://www.w3.org/2000/svg";

/** A picture of the sheet in the page; it says nothing to screen readers. @param {string} name */
export function icon(name) {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("class", "icon");
  svg.setAttribute("aria-hidden", "true");
  const use = document.createElementNS(SVG, "use");
  use.setAttribute("href", `#i-${name}`);
  svg.append(use);
  return svg;
}

/** Words for screen readers alone. @param {string} words */
export const unseen = (words) => h("span", { class: "vh" }, words);

export function fill(element, ...children) {
  element.replaceChildren(...children.filter((child) => child || child === 0).map(asNode));
  return element;
}

/**
 * The same, for lists that are drawn anew under somebody's hands: the element that had the focus
 * keeps it, found again by its data-keep.
 */
export function refill(element, ...children) {
  const name = element.contains(document.activeElement) && document.activeElement?.dataset.keep;
  const top = element.scrollTop;
  fill(element, ...children);
  element.scrollTop = top;
  if (name) element.querySelector(`[data-keep="${CSS.escape(name)}"]`)?.focus();
}

/** Whether somebody writes there. @param {EventTarget | null} target */
export const isWriting = (target) =>
  target instanceof HTMLElement &&
  (target.matches("textarea, select, [contenteditable]") ||
    (target instanceof HTMLInputElement &&
      !["checkbox", "radio", "button", "range"].includes(target.type)));

export const isStill = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

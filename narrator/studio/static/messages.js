// What happened, for eyes and for screen readers: said for a while, errors until they are closed.

import { byId, h, icon } from "./dom.js";

/** @param {string} words */
export function say(words) {
  show(words, "said");
}

/** @param {unknown} error or its words */
export function complain(error) {
  const words = error instanceof Error ? error.message : String(error);
  if (error instanceof Error && error.name === "Unreachable") return; // the banner says it, once
  show(words, "error");
}

function show(words, kind) {
  const box = byId(kind === "error" ? "errors" : "said");
  const same = [...box.children].find((child) => child.dataset.words === words);
  same?.remove();
  const close = h("button", { class: "plain", "aria-label": "Close", onclick: gone }, icon("close"));
  const message = h("div", { class: `message ${kind}`, "data-words": words }, h("span", {}, words), close);
  function gone() {
    message.remove();
  }
  box.append(message);
  while (box.children.length > 3) box.firstElementChild.remove();
  if (kind !== "error") setTimeout(gone, 6000);
}

/** Closes the last error; whether there was one. */
export function closeError() {
  const last = byId("errors").lastElementChild;
  last?.remove();
  return Boolean(last);
}

// What happened, for eyes and for screen readers: said for a while, errors for longer.

import { byId, h, icon } from "./dom.js";

/**
 * @param {string} words
 * @param {string} [topic] this takes the place of what was said of it before
 * @param {{ words: string, run: () => unknown }} [action] what can be done about it
 */
export function say(words, topic, action) {
  show(words, "said", topic, action);
}

/** @param {unknown} error or its words */
export function complain(error) {
  const words = error instanceof Error ? error.message : String(error);
  if (error instanceof Error && error.name === "Unreachable") return; // the banner says it, once
  show(words, "error");
}

function show(words, kind, topic = words, action = undefined) {
  const box = byId(kind === "error" ? "errors" : "said");
  const same = [...box.children].find((child) => child.dataset.topic === topic);
  same?.remove();
  const close = h(
    "button",
    { class: "plain", "aria-label": "Close", onclick: gone },
    icon("close"),
  );
  const act =
    action && h("button", { class: "small", onclick: () => (gone(), action.run()) }, action.words);
  const message = h(
    "div",
    { class: `message ${kind}`, "data-topic": topic },
    h("span", {}, words),
    act,
    close,
  );
  function gone() {
    message.remove();
  }
  box.append(message);
  while (box.children.length > 3) box.firstElementChild.remove();
  const long = kind === "error" ? 20000 : Math.max(action ? 12000 : 6000, 60 * words.length);
  setTimeout(gone, long);
}

/** Closes the last error; whether there was one. */
export function closeError() {
  const last = byId("errors").lastElementChild;
  last?.remove();
  return Boolean(last);
}

/** For browsers that cannot play a file. */
export const CODEC_HINT =
  "Firefox on Linux plays AAC only where the libraries of FFmpeg (libavcodec) are installed.";

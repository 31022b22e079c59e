// What happened, for eyes and for screen readers: said for a while, errors for longer.

import { byId, h, icon } from "./dom.js";

/**
 * Returns what takes the message away.
 * @param {string} words
 * @param {string} [topic] this takes the place of what was said of it before
 * @param {...({ words: string, run: () => unknown } | undefined)} actions what can be done about it
 */
export function say(words, topic, ...actions) {
  return show(words, "said", topic, actions.filter(Boolean));
}

/** @param {unknown} error or its words */
export function complain(error) {
  const words = error instanceof Error ? error.message : String(error);
  if (error instanceof Error && error.name === "Unreachable") return; // the banner says it, once
  show(words, "error");
}

const RTL = "[\\p{sc=Hebr}\\p{sc=Arab}\\p{sc=Syrc}\\p{sc=Thaa}]";
/** What is quoted, and what is written from right to left. */
const THEIRS = new RegExp(`(?<=“)[^”]+(?=”)|${RTL}(?:[^\\p{L}\\n]*${RTL})*\\p{M}*`, "gu");

/** A message with authors' words in it, each in its own direction. @param {string} words */
function isolated(words) {
  const parts = [];
  let from = 0;
  for (const { 0: theirs, index } of words.matchAll(THEIRS)) {
    parts.push(words.slice(from, index), h("bdi", {}, theirs));
    from = index + theirs.length;
  }
  return [...parts, words.slice(from)];
}

function show(words, kind, topic = words, actions = []) {
  const box = byId(kind === "error" ? "errors" : "said");
  const same = [...box.children].find((child) => child.dataset.topic === topic);
  same?.remove();
  const close = h(
    "button",
    { class: "plain", "aria-label": "Close", onclick: gone },
    icon("close"),
  );
  const buttons = actions.map((action) =>
    h("button", { class: "small", onclick: () => (gone(), action.run()) }, action.words),
  );
  const message = h(
    "div",
    { class: `message ${kind}`, "data-topic": topic },
    h("span", {}, ...isolated(words)),
    ...buttons,
    close,
  );
  function gone() {
    message.remove();
  }
  box.append(message);
  while (box.children.length > 3) box.firstElementChild.remove();
  const long = kind === "error" ? 20000 : Math.max(actions.length ? 12000 : 6000, 60 * words.length);
  setTimeout(gone, long);
  return gone;
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

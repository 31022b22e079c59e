// Names and words that no word list knows: heard, and from there to the lexicon.

import { attempt } from "./actions.js";
import { get, heard } from "./api.js";
import { byId, h, icon, refill } from "./dom.js";
import { sayItAs } from "./edits.js";
import { goTo } from "./loading.js";
import { complain } from "./messages.js";
import { pane } from "./panes.js";
import { playBlob } from "./samples.js";
import { on, state } from "./store.js";
import { shortened } from "./words.js";

const box = byId("pane-names");
const MOST = 300;

/** @type {{ words: any[], note: string }} */
let found = { words: [], note: "" };
/** The reading of the book in which an edit is not there yet; 0: none is missed. */
let before = 0;

async function load() {
  if (!box.hasChildNodes()) refill(box, h("p", { class: "empty" }, "Looking for names …"));
  const answer = await attempt(() => get("/api/names"));
  if (!answer) return;
  found = answer;
  draw();
}

function draw() {
  const { words, note } = found;
  const rows = words.slice(0, MOST).map(row);
  refill(
    box,
    note ? h("p", { class: "note" }, note) : null,
    rows.length
      ? h("ul", { class: "names" }, ...rows)
      : h("p", { class: "empty" }, note ? "" : "Every word is in a word list or in the lexicon."),
    words.length > MOST
      ? h("p", { class: "note" }, `And ${words.length - MOST} more that are rarer.`)
      : null,
  );
}

function row(one) {
  const hear = h(
    "button",
    {
      class: "round",
      "aria-label": `Hear ${one.word}`,
      "data-keep": `hear-${one.word}`,
      onclick: () => listenTo(one, hear),
    },
    icon("play"),
  );
  return h(
    "li",
    {},
    hear,
    h(
      "div",
      {},
      h("strong", {}, one.word),
      h("small", {}, ` ${one.count}×, first in `),
      h(
        "button",
        { class: "link", "data-keep": `go-${one.word}`, onclick: () => goTo(one.chunk) },
        one.chunk,
      ),
      h("p", { class: "note" }, shortened(around(one), 110)),
    ),
    h(
      "button",
      {
        class: "small",
        "data-keep": `say-${one.word}`,
        onclick: () => sayItAs({ word: one.word, chunk: null }).then((done) => done && said(one)),
      },
      "Say it as",
    ),
  );
}

/** At once; the server's word follows when the book has been read again. */
function said(one) {
  found.words = found.words.filter((other) => other.word !== one.word);
  draw();
}

/** Its sentence from a little before it. */
function around({ word, text }) {
  const at = text.indexOf(word);
  return at > 50 ? `…${text.slice(text.indexOf(" ", at - 45) + 1)}` : text;
}

async function listenTo(one, button) {
  button.disabled = true;
  try {
    const { sound } = await heard("/api/say", {
      word: one.word,
      spoken: one.word,
      chunk: null,
      text: null,
    });
    if (sound) await playBlob(sound, `name:${one.word}`);
  } catch (error) {
    complain(error);
  }
  button.disabled = false;
}

on("pane", (name) => name === "names" && load());
on("edited", () => (before = state.book.version));
on("book", () => {
  if (!before || pane() !== "names" || state.book.version <= before) return;
  before = 0;
  load();
});

// Pronunciations: the entries of the lexicon with their places in the book, and words that no word list
// knows, which have no entry yet.

import { attempt, sendEdit } from "./actions.js";
import { get } from "./api.js";
import { finder, hasLetters } from "./dialogs.js";
import { byId, h, icon, refill } from "./dom.js";
import { askEntry, hearEntry } from "./entry.js";
import { savePreference, preference } from "./preferences.js";
import { goTo } from "./loading.js";
import { pane } from "./panes.js";
import { chosenChunk, on, state } from "./store.js";
import { counted, grouped, shortened } from "./words.js";

const box = byId("pane-lexicon");
const MAX_NAMES = 300;
const MAX_CHAPTERS = 8;
const MANY = 12;

/** @type {any[] | null} What /api/lexicon lists. */
let entries = null;
/** @type {{ words: any[], note: string } | null} What /api/names says. */
let names = null;
/** Version of the book that an edit is not in yet; 0 if none is awaited. */
let outdated = 0;
let sought = "";
/** Entries whose places are all shown, by name. */
const unfolded = new Set();

async function load() {
  if (!box.hasChildNodes()) draw();
  const [lexicon, unknown] = await Promise.all(
    ["/api/lexicon", "/api/names"].map((path) => attempt(() => get(path))),
  );
  entries = lexicon?.entries ?? entries;
  state.takesPhonemes = lexicon?.takes_phonemes ?? state.takesPhonemes;
  names = unknown ?? names;
  draw();
}

const nameOf = ({ entry }) => entry.word ?? entry.pattern;

function draw() {
  const add = h(
    "button",
    { "data-keep": "add", onclick: () => change(null, {}) },
    "Add a pronunciation",
  );
  const count = (entries?.length ?? 0) + (names?.words.length ?? 0);
  refill(
    box,
    h("div", { class: "row wrap" }, count > MANY ? finder("Find a word", sought, showWords) : null, add),
    section("entries", "In the lexicon", entries, entryRows()),
    section("names", "Not in the lexicon yet", names?.words, nameRows()),
  );
}

function showWords(letters) {
  sought = letters;
  draw();
}

function section(id, title, list, content) {
  const details = h(
    "details",
    {
      class: "words-part",
      open: preference(`fold-${id}`, true),
      ontoggle: () => savePreference(`fold-${id}`, details.open),
    },
    h(
      "summary",
      { "data-keep": `fold-${id}` },
      h("strong", {}, title, " ", h("small", {}, list ? grouped(list.length) : "")),
    ),
    ...content,
  );
  return details;
}

function listed(rows, empty) {
  return rows.length ? h("ul", { class: "names" }, ...rows) : h("p", { class: "empty" }, empty);
}

// -- entries ---------------------------------------------------------------------------------------

function entryRows() {
  if (!entries) return [h("p", { class: "empty" }, "Looking for their places …")];
  const rows = entries
    .filter(({ entry }) => hasLetters(sought, nameOf({ entry }), entry.say ?? "", entry.ipa ?? ""))
    .map(entryRow);
  const empty = entries.length
    ? "No match."
    : "No entry yet: every word is said as the voice reads it.";
  return [listed(rows, empty)];
}

function entryRow(row) {
  const { entry } = row;
  const name = nameOf(row);
  const word = row.written || name;
  const key = JSON.stringify(entry);
  const tool = (words, picture, run) =>
    h(
      "button",
      {
        class: "plain small",
        title: words,
        "aria-label": `${words}: ${name}`,
        "data-keep": `${words}-${key}`,
        onclick: run,
      },
      icon(picture),
    );
  return h(
    "li",
    {},
    hearButton(word, `word-${key}`, { word, chunk: row.chunk, text: word }),
    h(
      "div",
      {},
      h("strong", { ...row.script }, name),
      entry.pattern ? h("small", {}, " (pattern)") : null,
      entry.say !== null ? h("span", {}, " is said ", h("em", {}, entry.say)) : null,
      entry.ipa !== null ? h("span", { class: "ipa" }, ` /${entry.ipa.replaceAll("/", "")}/`) : null,
      conditions(entry),
      row.count ? places(row, key) : null,
      row.count || row.isNew ? null : h("p", { class: "why" }, "Not found in the book"),
      row.sentence ? sentence(row, key) : null,
    ),
    h(
      "div",
      { class: "row-tools" },
      tool("Edit", "edit", () => change(entry, { chunk: row.chunk, written: row.written })),
      tool("Remove", "close", () => remove(entry)),
    ),
  );
}

function conditions({ speaker, language, case: isCase }) {
  const words = [
    speaker && `only what ${speaker} says`,
    language && `only in “${language}”`,
    isCase && "with these capitals alone",
  ].filter(Boolean);
  return words.length ? h("p", { class: "note" }, words.join(" · ")) : null;
}

/** The sentence of its first place, to be heard. */
function sentence({ sentence: text, written, chunk, script }, key) {
  const button = h(
    "button",
    {
      class: "plain sample",
      ...script,
      title: "Hear it in this sentence",
      "data-keep": `sentence-${key}`,
      onclick: () => hearEntry({ word: written, chunk }, button),
    },
    icon("play"),
    " ",
    shortened(text, 140),
  );
  return button;
}

/** Chapters where it applies: each click leads to the next place there. */
function places({ count, chapters }, key) {
  const shown = unfolded.has(key) ? chapters : chapters.slice(0, MAX_CHAPTERS);
  const more = chapters.length - shown.length;
  const unfold = () => {
    unfolded.add(key);
    draw();
  };
  return h(
    "p",
    { class: "places" },
    `${grouped(count)}× in ${chapters.length > 1 ? "chapters" : "chapter"} `,
    ...shown.flatMap((chapter) => [chapterLink(chapter, key), " "]),
    more
      ? h("button", { class: "link", "data-keep": `more-${key}`, onclick: unfold }, `${grouped(more)} more`)
      : null,
  );
}

function chapterLink({ number, count, chunks }, key) {
  const title = state.book.chapters.find((one) => one.number === number)?.title ?? "";
  return h(
    "button",
    {
      class: "link",
      title: `${title}: ${counted(count, "place")}`,
      "aria-label": `Chapter ${number}, ${counted(count, "place")}`,
      "data-keep": `to-${number}-${key}`,
      onclick: () => goTo(chunks[(chunks.indexOf(chosenChunk()?.id ?? "") + 1) % chunks.length]),
    },
    number,
  );
}

// -- words without an entry ------------------------------------------------------------------------

function nameRows() {
  if (!names) return [h("p", { class: "empty" }, "Looking for names …")];
  const { words, note } = names;
  const matching = words.filter(({ word }) => hasLetters(sought, word));
  const empty = words.length ? "No match." : "Every word is in a word list or in the lexicon.";
  const isUnread = note && !words.length;
  return [
    note ? h("p", { class: "note" }, note) : null,
    isUnread ? null : listed(matching.slice(0, MAX_NAMES).map(nameRow), empty),
    matching.length > MAX_NAMES
      ? h("p", { class: "note" }, `And ${grouped(matching.length - MAX_NAMES)} more that are rarer.`)
      : null,
  ];
}

function nameRow(name) {
  const { word, count, chunk } = name;
  return h(
    "li",
    {},
    hearButton(word, `hear-${word}`, { word, chunk, text: word }),
    h(
      "div",
      {},
      h("strong", { ...name.script }, word),
      h("small", {}, ` ${grouped(count)}×, first in `),
      h("button", { class: "link", "data-keep": `go-${word}`, onclick: () => goTo(chunk) }, chunk),
      sentence({ sentence: around(name), written: word, chunk, script: name.script }, word),
    ),
    h(
      "button",
      {
        class: "small",
        "data-keep": `say-${word}`,
        onclick: () => change(null, { word, chunk, written: word }),
      },
      "Say it as",
    ),
  );
}

/** Its sentence from a little before it. */
function around({ word, text }) {
  const offset = text.indexOf(word);
  return offset > 50 ? `…${text.slice(text.indexOf(" ", offset - 45) + 1)}` : text;
}

function hearButton(word, key, asked) {
  const button = h(
    "button",
    {
      class: "round",
      "aria-label": `Hear ${word}`,
      title: "Hear the word",
      "data-keep": key,
      onclick: () => hearEntry(asked, button),
    },
    icon("play"),
  );
  return button;
}

// -- changes ---------------------------------------------------------------------------------------

/** Asks for an entry, and shows it before the book has been read with it. */
async function change(old, context) {
  const entry = await askEntry(old, context);
  if (!entry) return;
  const row = entries?.find((other) => other.entry === old);
  if (row) row.entry = entry;
  else {
    const { written = "", chunk = null } = context;
    entries?.push({ entry, count: 0, written, chunk, sentence: "", chapters: [], isNew: true });
  }
  if (names) names.words = names.words.filter(({ word }) => word !== entry.word);
  draw();
}

async function remove(entry) {
  const isDone = await attempt(() => sendEdit({ kind: "lexicon", old: entry, entry: null }).then(() => true));
  if (!isDone || !entries) return;
  entries = entries.filter((row) => row.entry !== entry);
  draw();
}

on("pane", (name) => name === "lexicon" && load());
/** The book's plan may have been read before the page heard that the edit was saved. */
function loadNewer() {
  if (!outdated || pane() !== "lexicon" || state.book.version <= outdated) return;
  outdated = 0;
  load();
}
on("edited", (version) => {
  outdated = version;
  loadNewer();
});
on("book", loadNewer);

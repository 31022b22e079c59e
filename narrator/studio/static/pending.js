// An edit on its way: shown at once and marked, until the server's rows are there. If it is refused,
// the old text is back, and what differs stands in its place with what can be done.

import { sendEdit } from "./actions.js";
import { chunkDetail } from "./api.js";
import { differences } from "./difference.js";
import { h, unseen } from "./dom.js";
import { showMeanwhile } from "./loading.js";
import { setInset } from "./prose.js";
import { choose, placeOf, scriptOf, state } from "./store.js";

/** @typedef {import("./store.js").Chunk} Chunk @typedef {import("./store.js").Chapter} Chapter */

/**
 * Sends an edit of a chunk, and shows it meanwhile. Whether it was done.
 * @param {Chunk} chunk
 * @param {any} edit
 * @param {(chunks: Chunk[], place: number) => Chunk[]} change the chunks of the chapter with the edit
 * @param {(error: any) => Promise<Refusal> | Refusal} refuse what to say where it is refused
 */
async function send(chunk, edit, change, refuse) {
  const { number } = state.chapter;
  /** @param {Chapter} chapter */
  const changed = (chapter) => {
    const place = chapter.number === number ? placeIn(chapter.chunks, chunk) : -1;
    return place < 0 ? chapter : { ...chapter, chunks: change(chapter.chunks, place) };
  };
  setInset(chunk.id, null);
  const moved = () => {
    // the edit before this one may have moved the chunk
    const place = state.chapter?.number === number ? placeIn(state.chapter.chunks, chunk) : -1;
    return { ...edit, chunk: place < 0 ? chunk.id : state.chapter.chunks[place].id };
  };
  try {
    await showMeanwhile(changed, () => sendEdit(moved));
    return true;
  } catch (error) {
    showRefusal(chunk, await refuse(error));
    return false;
  }
}

/** The place of a chunk that may have been moved. @param {Chunk[]} chunks @param {Chunk} chunk */
function placeIn(chunks, chunk) {
  const place = chunks.findIndex((one) => one.key === chunk.key);
  return place < 0 ? chunks.findIndex((one) => one.id === chunk.id) : place;
}

// -- words -----------------------------------------------------------------------------------------

/**
 * @typedef {{ file: string, first: number, last: number, text: string, sha: string }} Paragraph
 * @param {Chunk} chunk @param {Paragraph} paragraph @param {string} text
 * @param {(there: Paragraph) => void} editAgain
 */
export function sendWords(chunk, paragraph, text, editAgain) {
  const edit = { kind: "text", sha: paragraph.sha, text };
  return send(
    chunk,
    edit,
    (chunks, place) => withWords(chunks, place, paragraph, text),
    async (error) => {
      const isConflict = error.status === 409 && "there" in (error.body ?? {});
      const there = isConflict ? await present(chunk, paragraph, error) : paragraph;
      const again = { words: "Edit again", run: () => editAgain(there) };
      const mine = { words: "Save mine", run: () => sendWords(chunk, there, text, editAgain) };
      return {
        before: there.text,
        after: text,
        note: isConflict ? there.file : error.message,
        title: isConflict
          ? "Not saved: the file says something else here now"
          : "Not saved: the text is as it was",
        actions: isConflict ? [mine, again] : [again],
        close: isConflict ? "Keep the file’s" : "Keep the old text",
      };
    },
  );
}

async function present(chunk, paragraph, error) {
  const now = await chunkDetail(chunk.id).catch(() => null);
  const isThere = now?.paragraph && !now.paragraph.error && now.paragraph.text === error.body.there;
  return isThere ? now.paragraph : { ...paragraph, text: error.body.there ?? "" };
}

/** The chunks of a chapter with another text in a paragraph: what stays as it is keeps its chunks. */
function withWords(chunks, place, { first, last }, text) {
  const line = (chunk) => Number(chunk.source.slice(chunk.source.lastIndexOf(":") + 1));
  const isInside = (chunk) => line(chunk) >= first && line(chunk) <= last;
  let [start, end] = [place, place + 1];
  while (start > 0 && isInside(chunks[start - 1])) start--;
  while (end < chunks.length && isInside(chunks[end])) end++;
  let words = squeezed(plain(text));
  while (start < end && starts(words, squeezed(chunks[start].text))) {
    words = words.slice(squeezed(chunks[start].text).length).trimStart();
    start++;
  }
  while (start < end && ends(words, squeezed(chunks[end - 1].text))) {
    words = words.slice(0, words.length - squeezed(chunks[end - 1].text).length).trimEnd();
    end--;
  }
  if (start === end && !words) return chunks;
  const model = chunks[Math.min(start, chunks.length - 1)];
  const pending = words
    ? [{ ...(start < end ? model : { ...model, id: `${model.id}+` }), text: words, pending: true }]
    : [];
  return [...chunks.slice(0, start), ...pending, ...chunks.slice(end)];
}

const squeezed = (text) => text.replace(/\s+/gu, " ").trim();
const starts = (text, part) => text === part || text.startsWith(`${part} `);
const ends = (text, part) => text === part || text.endsWith(` ${part}`);

/** What is spoken of a paragraph as it is written: without label, emphasis, pauses, braces. */
export function plain(text) {
  const [, name] = /^[>\s]*([^:(\n]{1,60}?)\s*(?:\([^)]*\))?:/.exec(text) ?? [];
  const isLabel =
    name && state.book.speakers.some((one) => one.name.toLowerCase() === name.toLowerCase());
  return (isLabel ? text.slice(text.indexOf(":") + 1) : text)
    .replace(/\{[^{}|]*\|([^{}]*)\}/g, "$1")
    .replace(/\{[^{}:]*:\s*([^{}]*)\}/g, "$1")
    .replace(/\[pause[^\]]*\]|[*_>]/g, "")
    .trim();
}

// -- speakers --------------------------------------------------------------------------------------

/** @param {Chunk} chunk @param {any} edit @param {() => void} askAgain */
export function sendSpeaker(chunk, edit, askAgain) {
  const { speaker } = edit;
  return send(
    chunk,
    { kind: "speaker", ...edit },
    (chunks, place) =>
      chunks.map((one, i) => (i === place ? { ...one, speakers: [speaker], pending: true } : one)),
    (error) => ({
      before: chunk.speakers.join(" & "),
      after: speaker,
      note: error.message,
      title: "Not saved: the speaker is as before",
      actions: [{ words: "Choose again", run: askAgain }],
      close: "Keep the old speaker",
    }),
  );
}

// -- refusals --------------------------------------------------------------------------------------

/**
 * @typedef {{ words: string, run: () => unknown }} Action
 * @typedef {{
 *   before: string, after: string, note: string, title: string, actions: Action[], close: string
 * }} Refusal `note` says why
 */

/** Shows below the chunk's paragraph what was not saved. */
function showRefusal(chunk, { before, after, note, title, actions, close }) {
  const gone = () => {
    setInset(chunk.id, null);
    if (placeOf(chunk.id) >= 0) choose(placeOf(chunk.id), { scroll: false, focus: true });
  };
  const heading = h("h3", { tabindex: -1 }, title);
  const marks = { gone: ["del", "in the file: "], new: ["ins", "yours: "] };
  const words = differences(before, after).flatMap(({ kind, text }) => {
    if (kind === "same") return [text];
    const [tag, said] = marks[kind];
    const space = /^\s*/u.exec(text)[0];
    return [space, h(tag, {}, unseen(said), text.slice(space.length))];
  });
  const button = ({ words: label, run }, attributes) =>
    h("button", { type: "button", ...attributes, onclick: () => (gone(), run()) }, label);
  const element = h(
    "section",
    { class: "refusal", role: "group", "aria-label": title },
    heading,
    h("p", { class: "note" }, note),
    h("p", { class: "difference", ...scriptOf(chunk) }, ...words),
    h("p", { class: "note", "aria-hidden": "true" }, "Struck out: in the file. Underlined: yours."),
    h(
      "div",
      { class: "row" },
      ...actions.map((action, i) => button(action, i ? {} : { class: "main" })),
      button({ words: close, run: () => undefined }),
    ),
  );
  setInset(chunk.id, element);
  if (!document.querySelector("dialog[open]")) {
    element.scrollIntoView({ block: "nearest" });
    heading.focus({ preventScroll: true });
  }
}

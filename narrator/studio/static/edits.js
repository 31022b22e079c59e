// What changes the book: words and how they are said; and flags. Each asks in a window,
// and the server writes it to the project's own files.

import { act, flagging, sendEdit } from "./actions.js";
import { chunkDetail } from "./api.js";
import { choice, field, holdSound, open } from "./dialogs.js";
import { h, icon } from "./dom.js";
import { hearEntry } from "./entry.js";
import { complain, say } from "./messages.js";
import { plain, sendWords } from "./pending.js";
import { chosenChunk, choose, colorOf, emit, placeOf, scriptOf } from "./store.js";
import { shortened } from "./words.js";

export function flag() {
  const chunk = chosenChunk();
  if (!chunk) return;
  const note = h("input", {
    type: "text",
    autofocus: true,
    required: true,
    placeholder: "said “bow” as in arrow",
  });
  return open({
    title: `Flag ${chunk.id}`,
    content: [quoted(chunk), field("What is wrong?", note)],
    done: "Flag",
    resumes: () => true, // flags are set in passing
    onDone: async () => {
      const what = `${chunk.id} is flagged`;
      await act(flagging([{ chunk: chunk.id, note: note.value.trim() }], what), what);
      emit("listed");
    },
  });
}

export const quoted = (chunk) =>
  h("blockquote", { class: `c${colorOf(chunk.speakers[0])}`, ...scriptOf(chunk) }, shortened(chunk.text, 220));

// -- words -----------------------------------------------------------------------------------------

/** @type {Map<string, string>} What was written and not saved, by what it was to replace. */
const unsaved = new Map();

/** Says that it is here again, with a way back to the file. */
function again(text, written) {
  const note = h("p", { class: "note" }, "What you wrote before, not saved yet. ");
  const back = () => {
    text.value = written;
    note.remove();
    text.focus();
  };
  note.append(h("button", { type: "button", class: "link", onclick: back }, "Begin with the file's"));
  return note;
}

export async function editWords() {
  const chunk = chosenChunk();
  if (!chunk) return;
  const goOn = holdSound(); // at this sentence, not at the one that is heard once the window is there
  let detail;
  try {
    detail = await chunkDetail(chunk.id);
  } catch (error) {
    complain(error);
    goOn();
    return;
  }
  const { paragraph } = detail;
  if (paragraph.error) {
    complain(paragraph.error);
    goOn();
    return;
  }
  const written = paragraph.text;
  const place = `${paragraph.file}\n${written}`;
  const begun = unsaved.get(place);
  const text = h("textarea", {
    rows: rowsFor(begun ?? written),
    spellcheck: "true",
    ...scriptOf(chunk),
    autofocus: true,
    value: begun ?? written,
  });
  const hear = h(
    "button",
    {
      type: "button",
      title: "The sentences that you changed, said by a quick voice",
      onclick: () => hearEntry({ word: "", chunk: chunk.id, text: changedOf(plain(written), plain(text.value)) }, hear),
    },
    icon("play"),
    "Hear it (quick voice)",
  );
  const lines =
    paragraph.first === paragraph.last
      ? `line ${paragraph.first}`
      : `lines ${paragraph.first} to ${paragraph.last}`;
  const isDone = await open({
    title: "Edit words",
    wide: true,
    content: [
      begun === undefined ? null : again(text, written),
      field(`${paragraph.file}, ${lines}`, text, "Ctrl-Enter saves"),
    ].filter(Boolean),
    more: [hear],
    done: "Save",
    goOn,
  });
  if (text.value === written) {
    unsaved.delete(place);
    return isDone;
  }
  unsaved.set(place, text.value);
  if (!isDone) {
    say("Not saved; “Edit words” has it still");
    return false;
  }
  // shown at once: the window does not wait for the server
  const isSaved = await sendWords(chunk, paragraph, text.value, (there) => {
    unsaved.set(`${there.file}\n${there.text}`, text.value);
    choose(placeOf(chunk.id));
    return editWords();
  });
  if (isSaved) unsaved.delete(place);
  return isSaved;
}

const SENTENCE = /[^.!?…]+(?:[.!?…]+["”’»)]*|$)\s*/gu;

/** The sentences of a text that another does not have; all of it, where it has them all. */
function changedOf(before, now) {
  const known = new Set((before.match(SENTENCE) ?? []).map((one) => one.trim()));
  const fresh = (now.match(SENTENCE) ?? []).filter((one) => !known.has(one.trim()));
  return fresh.join("").trim() || now;
}

const rowsFor = (text) =>
  Math.max(4, Math.min(14, Math.ceil(text.length / 70) + text.split("\n").length));

// -- how a word is said ----------------------------------------------------------------------------

/**
 * @param {{ word?: string, chunk?: import("./store.js").Chunk | null }} [what] else the selected word,
 * or one of the chosen chunk's
 */
export function sayItAs({ word, chunk = chosenChunk() } = {}) {
  if (!chunk && !word) return;
  const marked = String(getSelection() ?? "").trim();
  const first = word ?? (chunk?.text.includes(marked) ? marked : "");
  const written = h("input", {
    type: "text",
    required: true,
    value: first,
    autofocus: !first,
    spellcheck: "false",
  });
  const spoken = h("input", {
    type: "text",
    required: true,
    autofocus: Boolean(first),
    spellcheck: "false",
  });
  let scope = "everywhere";
  const hear = h(
    "button",
    {
      type: "button",
      onclick: () =>
        hearEntry({ word: written.value, spoken: spoken.value || written.value, chunk: chunk?.id }, hear),
    },
    icon("play"),
    "Hear it",
  );
  const content = [
    !word && chunk ? wordButtons(chunk.text, written, spoken) : null,
    field("The written word or name", written),
    field("Say it as", spoken, "Spelled as it sounds: Sinjun, Tra-GEER"),
    chunk
      ? choice(
          "Where",
          "scope",
          [
            ["everywhere", "In the whole book (its lexicon)"],
            ["here", `Here alone (${chunk.id})`],
          ],
          scope,
          (value) => (scope = value),
        )
      : null,
  ];
  return open({
    title: "Say it as",
    content: content.filter(Boolean),
    more: [hear],
    done: "Save",
    onDone: () =>
      sendEdit({
        kind: "say",
        word: written.value.trim(),
        spoken: spoken.value.trim(),
        chunk: scope === "here" && chunk ? chunk.id : null,
      }),
  });
}

/** The words of a sentence as buttons: a click takes one, a second one beside it makes them two. */
function wordButtons(text, written, spoken) {
  const words = text.match(/[\p{L}\p{N}][\p{L}\p{N}\p{M}'’.-]*/gu) ?? [];
  const unique = [...new Set(words.map((one) => one.replace(/(?:['’]s)?[.'’-]*$/u, "")))].slice(0, 60);
  const buttons = unique.map((one) =>
    h(
      "button",
      {
        type: "button",
        class: /^\p{Lu}/u.test(one) ? "name" : "",
        onclick: () => {
          const joined = `${written.value} ${one}`.trim();
          written.value = text.includes(joined) ? joined : one;
          spoken.focus();
        },
      },
      one,
    ),
  );
  return h(
    "div",
    { class: "word-buttons", role: "group", "aria-label": "Words of this line" },
    ...buttons,
  );
}

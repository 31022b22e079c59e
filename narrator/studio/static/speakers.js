// Who says it: of one chunk, of some of its words, or of a stretch of chunks; two speakers swapped.

import { sendEdit } from "./actions.js";
import { choice, field, finder, hasLetters, open } from "./dialogs.js";
import { quoted } from "./edits.js";
import { fill, h } from "./dom.js";
import { newSpeaker } from "./newspeaker.js";
import { sendSpeaker } from "./pending.js";
import { choose, chosenChunk, colorOf, placeOf, scriptOf, state } from "./store.js";
import { clearStretch, wholeStretch } from "./stretch.js";
import { counted, shortened } from "./words.js";

/** Asks for the speaker of the chosen stretch, else of the chosen chunk. */
export function giveSpeaker() {
  return state.stretch ? giveStretch(state.stretch) : giveChunk();
}

async function giveChunk() {
  const chunk = chosenChunk();
  if (!chunk) return;
  const place = state.chosen;
  const speaker = speakerChoice(place, chunk.speakers[0]);
  const style = h("input", { type: "text", value: chunk.style, placeholder: "quietly" });
  const which = whichWords(chunk.text);
  let wantsMore = false;
  const more = h(
    "button",
    {
      type: "button",
      onclick: () => {
        wantsMore = true;
        more.closest("dialog").close();
      },
    },
    "More lines…",
  );
  const isDone = await open({
    title: `Speaker of ${chunk.id}`,
    content: [quoted(chunk), which.element, ...speaker.elements, field("How (style)", style)].filter(Boolean),
    more: [more],
    done: "Save",
  });
  if (wantsMore) return giveStretch(wholeStretch(place, place));
  if (!isDone) return false;
  const manner = style.value.trim() === chunk.style ? null : style.value.trim();
  const edit = { style: manner, words: which.words() || null, ...speaker.fields() };
  // shown at once: the window does not wait for the server
  return sendSpeaker(chunk, edit, () => {
    choose(placeOf(chunk.id));
    return giveChunk();
  });
}

// -- a stretch -------------------------------------------------------------------------------------

/** Lines of one speaker for another, from the chosen line on. @param {string} owner */
export const giveLinesOf = (owner) => giveStretch(wholeStretch(state.chosen, state.chosen), owner);

/** @param {import("./stretch.js").Stretch} chosen @param {string} [owner] whose lines are meant */
async function giveStretch(chosen, owner) {
  let stretch = chosen;
  let mode = "give";
  const { chunks } = state.chapter;
  const ends = ["from", "to"].map((name) =>
    h(
      "select",
      { onchange: read },
      ...chunks.map((chunk, place) =>
        h(
          "option",
          { value: place, selected: place === stretch[name], ...scriptOf(chunk) },
          `${chunk.id} ${chunk.speakers.join(" & ")}: ${shortened(chunk.text, 60)}`,
        ),
      ),
    ),
  );
  const summary = h("div", { class: "stretch-summary" });
  const give = h("div", { class: "content-part" });
  const swap = h("div", { class: "content-part", hidden: true });
  const isPartial = chosen.start > 0 || chosen.stop !== null;
  const extent = isPartial
    ? choice(
        "How much",
        "extent",
        [
          ["words", "The selected words"],
          ["chunks", "Whole lines"],
        ],
        "words",
        (value) => {
          stretch = value === "words" ? chosen : wholeStretch(chosen.from, chosen.to);
          ends.forEach((select, i) => (select.value = stretch[i ? "to" : "from"]));
          draw();
        },
      )
    : null;

  /** Speakers of the stretch, with the number of their chunks, the most frequent first. */
  function voices() {
    const counts = new Map();
    for (const chunk of chunks.slice(stretch.from, stretch.to + 1)) {
      const name = chunk.speakers.join(" & ");
      counts.set(name, (counts.get(name) ?? 0) + 1);
    }
    return [...counts].sort((one, other) => other[1] - one[1]);
  }
  const narrator = state.book.speakers.find(({ name }) => !colorOf(name))?.name;
  const speaker = speakerChoice(stretch.from, voices().find(([name]) => name !== narrator)?.[0]);
  let isChosen = false;
  const whose = h("select", { onchange: () => (isChosen = true) });
  const pair = [h("select"), h("select")];

  function read() {
    const [from, to] = ends.map((select) => Number(select.value));
    stretch = wholeStretch(Math.min(from, to), Math.max(from, to));
    draw();
  }

  function draw() {
    const [first, last] = [chunks[stretch.from], chunks[stretch.to]];
    const all = voices();
    const names = all.map(([name]) => name);
    const people = names.filter((name) => name !== narrator);
    const cut = (chunk, start, stop) => [...chunk.text].slice(start, stop ?? undefined).join("").trim();
    const isOne = first === last;
    const opening = cut(first, stretch.start, isOne ? stretch.stop : null);
    const ending = isOne ? "" : ` … ${shortened(cut(last, 0, stretch.stop), 60)}`;
    fill(
      summary,
      h("blockquote", scriptOf(first), shortened(opening, 90), ending),
      h(
        "p",
        { class: "note", role: "status" },
        `${counted(stretch.to - stretch.from + 1, "line")}: ${all.map(([name, count]) => `${name} ${count}`).join(", ")}`,
      ),
    );
    options(whose, [
      ...(names.includes(narrator) && (people.length || /[“„«"‘「『]/.test(textOf(stretch)))
        ? [['"', "All but the narration"]]
        : []),
      ["*", "Everything"],
      ...(names.length > 1 ? names.map((name) => [name, `Only what ${name} says`]) : []),
    ]);
    if (!isChosen) whose.value = names.length > 1 && names.includes(owner) ? owner : whose.options[0].value;
    const others = state.book.speakers.map(({ name }) => name).filter((name) => name !== narrator);
    const ordered = [...new Set([...people.filter((name) => others.includes(name)), ...others])];
    pair.forEach((select, i) => options(select, ordered.map((name) => [name, name]), ordered[i]));
  }

  const textOf = ({ from, to }) => chunks.slice(from, to + 1).map(({ text }) => text).join(" ");

  fill(give, field("Which of these lines", whose), ...speaker.elements);
  fill(swap, field("The lines of", pair[0]), field("and those of", pair[1], "Each says what the other said."));
  draw();
  const isDone = await open({
    title: "Speakers of a stretch",
    content: [
      field("From line", ends[0]),
      field("To line", ends[1], "Or in the text: click the first line, and the last one with Shift."),
      extent,
      summary,
      choice(
        "Action",
        "stretch-mode",
        [
          ["give", "Give to a speaker"],
          ["swap", "Swap two speakers"],
        ],
        mode,
        (value) => {
          mode = value;
          give.hidden = value !== "give";
          swap.hidden = value === "give";
        },
      ),
      give,
      swap,
    ].filter(Boolean),
    done: "Save",
    onDone: () => {
      const [first, last] = [chunks[stretch.from], chunks[stretch.to]];
      const lines = {
        first: first.id,
        last: last.id,
        first_text: first.text,
        last_text: last.text,
        start: stretch.start,
        stop: stretch.stop,
      };
      return mode === "give"
        ? sendEdit({ kind: "give", ...lines, whose: whose.value, ...speaker.fields() })
        : sendEdit({ kind: "swap", ...lines, speaker: pair[0].value, other: pair[1].value });
    },
  });
  if (isDone) clearStretch();
  return isDone;
}

/** Gives a list other options; the chosen one stays if it can. */
function options(select, rows, otherwise = rows[0]?.[0]) {
  const chosen = rows.some(([value]) => value === select.value) ? select.value : otherwise;
  fill(select, ...rows.map(([value, words]) => h("option", { value, selected: value === chosen }, words)));
}

// -- the cast --------------------------------------------------------------------------------------

/**
 * The cast as a list to choose from, those near a place first; digits choose. Or somebody new.
 * @param {number} place @param {string | undefined} name who is chosen at first
 */
function speakerChoice(place, name) {
  const speakers = nearest(place);
  let chosen = speakers.some((one) => one.name === name) ? name : speakers[0].name;
  const newcomer = newSpeaker("Or somebody new", (name) => {
    for (const input of group.querySelectorAll("input")) input.checked = !name && input.value === chosen;
  });
  function take(name) {
    chosen = name;
    newcomer.clear();
  }
  const radios = speakers.map((speaker, i) =>
    h(
      "label",
      {},
      h("input", {
        type: "radio",
        name: "speaker",
        value: speaker.name,
        checked: speaker.name === chosen,
        autofocus: speaker.name === chosen,
        onchange: () => take(speaker.name),
      }),
      i < 9 ? h("kbd", {}, i + 1) : null,
      h("span", { class: `c${colorOf(speaker.name)}` }, speaker.name),
      h("small", {}, speaker.voice),
    ),
  );
  const group = h("fieldset", { class: "speakers" }, h("legend", {}, "Who says it?"), ...radios);
  group.addEventListener("keydown", (event) => {
    const input =
      /^[1-9]$/.test(event.key) && radios[Number(event.key) - 1]?.querySelector("input");
    if (!input || event.ctrlKey || event.metaKey || event.altKey) return;
    input.checked = true;
    take(input.value);
    input.focus();
  });
  const find = (letters) =>
    radios.forEach((radio, i) => (radio.hidden = !hasLetters(letters, speakers[i].name)));
  return {
    elements: [speakers.length > 12 && finder("Find a name", "", find), group, newcomer.element].filter(Boolean),
    fields: () => (newcomer.name() ? newcomer.fields() : { speaker: chosen }),
  };
}

/** The cast, those who speak nearest to a place first. @param {number} place */
function nearest(place) {
  const near = new Map();
  state.chapter.chunks.forEach((chunk, at) => {
    for (const name of chunk.speakers) {
      near.set(name, Math.min(near.get(name) ?? Infinity, Math.abs(at - place)));
    }
  });
  const far = (speaker) => near.get(speaker.name) ?? Infinity;
  return [...state.book.speakers].sort((one, other) =>
    far(one) === far(other) ? other.chunks - one.chunks : far(one) - far(other),
  );
}

const QUOTED = /“[^”]+”|„[^“”]+[“”]|«[^»]+»|»[^«]+«|"[^"]+"|‘[^’]+’(?!\p{L})/gu;

/** Where narration and quotations stand in one chunk: which of its words are meant. */
function whichWords(text) {
  const quotations = [...text.matchAll(QUOTED)]
    .map(([words]) => words)
    .filter((words) => words.length < text.length - 2);
  if (!quotations.length) return { element: null, words: () => "" };
  const select = h(
    "select",
    {},
    ...quotations.map((words) => h("option", { value: words }, shortened(words, 70))),
    h("option", { value: "" }, "All of these words"),
  );
  return { element: field("Which words?", select), words: () => select.value };
}

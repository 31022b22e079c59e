// One entry of the lexicon: asked for in a window, heard as a word and in a sentence.

import { sendEdit } from "./actions.js";
import { fetchSound } from "./api.js";
import { field, open } from "./dialogs.js";
import { h, icon } from "./dom.js";
import { complain } from "./messages.js";
import { playBlob } from "./samples.js";
import { state } from "./store.js";

/**
 * Speaks a word or its sentence in a chunk, with an entry in place of an old one if there is one.
 * @param {{ word: string, spoken?: string, chunk?: string | null, text?: string | null,
 *   entry?: any, old?: any }} asked
 * @param {HTMLButtonElement} button
 */
export async function hearEntry(asked, button) {
  button.disabled = true;
  try {
    const { sound } = await fetchSound("/api/say", { chunk: null, text: null, ...asked });
    if (sound) await playBlob(sound, `word:${asked.word}`);
  } catch (error) {
    complain(error);
  }
  button.disabled = false;
  if (document.activeElement === document.body) button.focus({ preventScroll: true });
}

/**
 * Asks for an entry, a new one or in place of another, and saves it. Resolves to the saved one, or
 * null.
 * @param {any} old @param {{ word?: string, written?: string, chunk?: string | null }} context
 * what a new one is about, and where it is heard
 */
export async function askEntry(old, { word = "", written = "", chunk = null }) {
  const text = (value, attributes = {}) =>
    h("input", { type: "text", value: value ?? "", autocomplete: "off", spellcheck: "false", ...attributes });
  const isPattern = Boolean(old?.pattern);
  const isNamed = Boolean(word || old);
  const name = text(old?.pattern ?? old?.word ?? word, { required: true, autofocus: !isNamed });
  const say = text(old?.say, { autofocus: isNamed });
  const ipa = text(old?.ipa, { lang: "und-fonipa" });
  const speaker = h(
    "select",
    {},
    h("option", { value: "" }, "Everybody"),
    ...state.book.speakers.map((one) =>
      h("option", { value: one.name, selected: one.name === old?.speaker }, one.name),
    ),
  );
  const language = text(old?.language, { placeholder: "any" });
  const isCase = h("input", { type: "checkbox", checked: Boolean(old?.case) });
  const entry = () => ({
    word: isPattern ? null : name.value.trim(),
    pattern: isPattern ? name.value : null,
    say: say.value.trim() || null,
    ipa: ipa.value.trim() || null,
    speaker: speaker.value || null,
    language: language.value.trim() || null,
    case: isCase.checked,
  });
  const listen = (words, isSentence) => {
    const button = h(
      "button",
      {
        type: "button",
        onclick: () => {
          const asked = written || name.value.trim();
          const { speaker: _, language: __, ...tried } = entry(); // heard whoever says it
          const isEmpty = !tried.say && !tried.ipa;
          hearEntry(
            { word: asked, chunk, text: isSentence ? null : asked, entry: isEmpty ? null : tried, old },
            button,
          );
        },
      },
      icon("play"),
      words,
    );
    return button;
  };
  const hasConditions = old && (old.speaker || old.language || old.case);
  let saved = null;
  await open({
    title: old ? "Change a pronunciation" : "A pronunciation",
    content: [
      field(isPattern ? "The pattern (a regular expression)" : "The written word or name", name),
      field("Say it as", say, "Spelled as it sounds: Sinjun, Tra-GEER"),
      state.takesPhonemes || old?.ipa
        ? field("Its sounds in IPA", ipa, "For voices that take phonemes: ˈsɪndʒən. The others say the line above.")
        : null,
      h(
        "details",
        { open: Boolean(hasConditions) },
        h("summary", {}, "Only where …"),
        h(
          "div",
          { class: "conditions" },
          field("Said by", speaker),
          field("In the language", language, "A tag: fr, en-US"),
          h("label", { class: "tick" }, isCase, "Capitals must be as written here"),
        ),
      ),
    ].filter(Boolean),
    more: [listen("The word", false), chunk ? listen("In a sentence", true) : null].filter(Boolean),
    done: "Save",
    onDone: async () => {
      const wanted = entry();
      await sendEdit({ kind: "lexicon", old, entry: wanted });
      saved = wanted;
    },
  });
  return saved;
}

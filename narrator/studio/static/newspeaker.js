// A speaker who is not in the cast yet: a name and a pronoun. The edit that has them adds the speaker.

import { field } from "./dialogs.js";
import { h } from "./dom.js";
import { say } from "./messages.js";

export const PRONOUNS = ["he", "she", "they", "it"];

/** Fields for a new speaker. @param {string} words @param {(name: string) => void} [onName] */
export function newSpeaker(words, onName) {
  const name = h("input", {
    type: "text",
    autocomplete: "off",
    spellcheck: "false",
    "data-keep": "new-name",
    oninput: () => onName?.(name.value.trim()),
  });
  const pronoun = h(
    "select",
    { "data-keep": "new-pronoun" },
    h("option", { value: "" }, "not known"),
    ...PRONOUNS.map((one) => h("option", { value: one }, one)),
  );
  return {
    element: h("div", { class: "row ends" }, field(words, name), field("Pronoun", pronoun)),
    name: () => name.value.trim(),
    focus: () => name.focus(),
    clear: () => (name.value = ""),
    /** What an edit says of the speaker. */
    fields: () => ({ speaker: name.value.trim(), adds: true, pronoun: pronoun.value }),
  };
}

/**
 * These fields as a form of a panel. It is made once: what is written in it stays while the panel is
 * drawn anew.
 * @param {string} words @param {Node[]} controls a button that submits, and notes
 * @param {(fields: any, clear: () => void) => void} onSubmit
 */
export function newSpeakerForm(words, controls, onSubmit) {
  const speaker = newSpeaker(words);
  const submit = (event) => {
    event.preventDefault();
    if (speaker.name()) return onSubmit(speaker.fields(), speaker.clear);
    say("Write the name first");
    speaker.focus();
  };
  return h("form", { class: "voice-form", onsubmit: submit }, speaker.element, h("div", { class: "row" }, ...controls));
}

// Small windows over the page: opened, closed, and the sound that waits meanwhile.

import { fill, h, icon } from "./dom.js";
import { isPlaying, pause, play } from "./player.js";
import { focusProse } from "./prose.js";

let number = 0;

/** The chapter waits; returns what lets it go on, if it was heard. */
export function holdSound() {
  const wasPlaying = isPlaying();
  if (wasPlaying) pause();
  return () => wasPlaying && play();
}

/**
 * A window with a form. `onDone` is called when it is sent; it stays open where that throws, and says
 * the error. Resolves when it is closed: true where it was done. The sound waits meanwhile; `goOn` is
 * called where `resumes` says so: by default where nothing was done.
 *
 * @param {{
 *   title: string, content: Node[], done?: string, onDone?: () => Promise<unknown> | unknown,
 *   wide?: boolean, more?: Node[], goOn?: () => unknown, resumes?: (isDone: boolean) => boolean
 * }} what
 */
export function open({ title, content, done, onDone, wide, more = [], goOn = holdSound(), resumes = (isDone) => !isDone }) {
  const id = `dialog-${++number}`;
  const trouble = h("p", { class: "trouble", role: "alert" });
  const submit = done ? h("button", { class: "main", type: "submit" }, done) : null;
  const form = h(
    "form",
    { method: "dialog", class: "sheet" },
    h(
      "header",
      {},
      h("h2", { id }, title),
      h(
        "button",
        { type: "button", class: "plain", "aria-label": "Close", onclick: () => dialog.close() },
        icon("close"),
      ),
    ),
    h("div", { class: "content" }, ...content, trouble),
    done || more.length ? h("footer", {}, ...more, submit) : null,
  );
  const dialog = h("dialog", { "aria-labelledby": id, class: wide ? "wide" : "" }, form);
  const before = document.activeElement;
  // A sentence that gets its focus back is chosen by that, and another may be chosen meanwhile.
  const isInText = Boolean(before?.closest("#prose .chunk"));
  if (isInText) before.blur();
  document.body.append(dialog);

  return new Promise((resolve) => {
    let isDone = false;
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      if (submit?.disabled) return;
      if (submit) submit.disabled = true;
      fill(trouble);
      try {
        await onDone?.();
        isDone = true;
        dialog.close();
      } catch (error) {
        fill(trouble, error.message);
      }
      if (submit) submit.disabled = false;
    });
    // Ctrl-Enter sends from within a textarea.
    form.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit();
    });
    dialog.addEventListener("click", (event) => {
      if (event.target === dialog && !form.querySelector("textarea")) dialog.close();
    });
    dialog.addEventListener("close", () => {
      dialog.remove();
      if (isInText) focusProse({ scroll: false });
      else if (before instanceof HTMLElement && before.isConnected)
        before.focus({ preventScroll: true });
      if (resumes(isDone)) goOn();
      resolve(isDone);
    });
    dialog.showModal();
    (dialog.querySelector("[autofocus]") ?? submit)?.focus();
  });
}

export const isOpen = () => Boolean(document.querySelector("dialog[open]"));

/** A label with its control. @param {string} words @param {Node} control @param {string} [note] */
export function field(words, control, note) {
  return h(
    "label",
    { class: "field" },
    h("span", {}, words),
    control,
    note ? h("small", {}, note) : null,
  );
}

/**
 * A field that finds rows of a list. The list may draw it anew at each letter: the caret stays.
 * @param {string} words @param {string} text @param {(text: string) => void} onText
 */
export function finder(words, text, onText) {
  const input = h("input", {
    type: "search",
    value: text,
    "aria-label": words,
    placeholder: words,
    "data-keep": "finder",
    autocomplete: "off",
    spellcheck: "false",
    oninput: () => {
      const { selectionStart, selectionEnd } = input;
      onText(input.value);
      document.activeElement?.setSelectionRange?.(selectionStart, selectionEnd);
    },
  });
  return input;
}

/** Whether some words have the letters that are looked for. @param {string} text @param {string[]} words */
export const hasLetters = (text, ...words) =>
  words.join("\n").toLowerCase().includes(text.trim().toLowerCase());

/**
 * Radio buttons as one row.
 * @param {string} legend @param {string} name
 * @param {[string, string][]} choices values and words @param {string} chosen
 * @param {(value: string) => void} [onChange]
 */
export function choice(legend, name, choices, chosen, onChange) {
  const group = `${name}-${++number}`;
  return h(
    "fieldset",
    { class: "choice" },
    h("legend", {}, legend),
    ...choices.map(([value, words]) =>
      h(
        "label",
        {},
        h("input", {
          type: "radio",
          name: group,
          value,
          checked: value === chosen,
          onchange: () => onChange?.(value),
        }),
        h("span", {}, words),
      ),
    ),
  );
}

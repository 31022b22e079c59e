// The fields of a book's title, author, language and cover: of a new book, and of one that is there.

import { h, refill } from "./dom.js";
import { complain } from "./messages.js";

/** @param {{ title: string, authors: string }} typed gets what is typed in */
export function titleFields(typed) {
  const text = (words, name, note) =>
    h(
      "label",
      { class: "field" },
      h("span", {}, words),
      h("input", {
        type: "text",
        value: typed[name],
        dir: "auto",
        autocomplete: "off",
        maxlength: 300,
        required: name === "title",
        oninput: (event) => (typed[name] = event.target.value),
      }),
      note ? h("small", {}, note) : null,
    );
  return [text("Title", "title"), text("Author", "authors", "Several: with a semicolon between them")];
}

/**
 * @param {string[]} languages @param {string} chosen @param {(tag: string) => unknown} onChange
 * @param {string[]} notes
 */
export const languageField = (languages, chosen, onChange, notes) =>
  h(
    "label",
    { class: "field" },
    h("span", {}, "Language"),
    h(
      "select",
      { onchange: (event) => onChange(event.target.value) },
      ...named(languages).map(([tag, name]) => h("option", { value: tag, selected: tag === chosen }, name)),
    ),
    ...notes.map((note) => h("small", {}, note)),
  );

/** Tags with the names of their languages, by name. @returns {[string, string][]} */
function named(tags) {
  const names = new Intl.DisplayNames(["en"], { type: "language" });
  return tags
    .map((tag) => [tag, names.of(tag) ?? tag])
    .sort(([, one], [, other]) => one.localeCompare(other));
}

/**
 * The cover, another one, or none.
 * @param {{
 *   hasCover: () => boolean, isUsed: () => boolean, address: () => string,
 *   toggle: () => unknown, take: (picture: File) => Promise<unknown>
 * }} cover
 */
export function coverField({ hasCover, isUsed, address, toggle, take }) {
  const place = h("div", { class: "cover-form" });
  const file = h("input", { type: "file", accept: "image/jpeg,image/png", class: "vh", tabindex: "-1", "aria-label": "Cover" });
  const button = (words, name, run) =>
    h("button", { type: "button", class: "small", "data-keep": name, onclick: run }, words);
  const change = (work) => async () => {
    try {
      await work();
      draw();
    } catch (error) {
      complain(error);
    }
  };
  const draw = () => {
    const isShown = hasCover() && isUsed();
    refill(
      place,
      isShown
        ? h("img", { class: "cover", alt: "The cover", src: address() })
        : h("span", { class: "cover", "aria-hidden": "true" }, "No cover"),
      h(
        "div",
        { class: "row wrap" },
        button(isShown ? "Another cover" : "Choose a cover", "cover", () => file.click()),
        hasCover() ? button(isUsed() ? "Without it" : "With it", "no-cover", change(toggle)) : null,
        file,
      ),
    );
  };
  file.addEventListener("change", () => {
    const [picture] = file.files;
    file.value = "";
    if (picture) change(() => take(picture))();
  });
  draw();
  return place;
}

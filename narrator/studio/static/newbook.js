// From a manuscript to a project: sent, read, shown as `narrator new` reads it, corrected, made.

import { addressOf } from "./address.js";
import { get, post, remove, sendCover, upload } from "./api.js";
import { coverField, languageField, titleFields } from "./bookfacts.js";
import { byId, fill, h, icon } from "./dom.js";
import { complain } from "./messages.js";
import { emit } from "./store.js";
import { capitalized, clock, counted, grouped, percent, span } from "./words.js";

const box = byId("making");
const MAX_BYTES = 500_000_000;
const POLL_MS = 400;

/** The manuscript that is worked on: its id, its file, and what is typed in. @type {any} */
let current = null;

// -- choosing a file -------------------------------------------------------------------------------

const input = byId("file");
input.addEventListener("change", () => {
  const [file] = input.files;
  input.value = "";
  if (file) begin(file);
});

const drop = byId("drop");
const hasFiles = (event) => [...(event.dataTransfer?.types ?? [])].includes("Files");
addEventListener("dragover", (event) => {
  if (!hasFiles(event)) return;
  event.preventDefault();
  drop.classList.add("over");
});
addEventListener("dragleave", (event) => {
  if (!event.relatedTarget) drop.classList.remove("over");
});
addEventListener("drop", (event) => {
  if (!hasFiles(event)) return;
  event.preventDefault();
  drop.classList.remove("over");
  const files = [...event.dataTransfer.files];
  if (files.length > 1) complain("A book is made of one manuscript: drop one file.");
  else if (files.length) begin(files[0]);
});

// -- sending and reading ---------------------------------------------------------------------------

/** @param {File} file */
async function begin(file) {
  stop();
  const mine = { name: file.name, abort: new AbortController(), id: "" };
  current = mine;
  emit("making", true);
  if (file.size > MAX_BYTES) return refused(`${file.name} is larger than 500 MB.`);
  const bar = h("progress", { max: 1, value: 0, "aria-label": "Sent" });
  const words = h("p", { class: "note" });
  waiting(`Sending ${file.name}`, bar, words);
  try {
    const answer = await upload(file, mine.abort.signal, (share) => {
      bar.value = share;
      words.textContent = percent(share);
    });
    if (current !== mine) return void remove(`/api/manuscripts/${answer.id}`).catch(() => {});
    mine.id = answer.id;
  } catch (error) {
    if (current === mine) refused(error.message);
    return;
  }
  await follow(mine);
}

async function follow(mine) {
  const words = h("p", { class: "note" });
  const bar = h("progress", { "aria-label": "Reading" });
  waiting(`Reading ${mine.name}`, bar, words);
  while (current === mine) {
    try {
      const shown = await get(`/api/manuscripts/${mine.id}`);
      if (current !== mine) return;
      words.textContent = `For ${span(shown.seconds)}. Most books take a few seconds.`;
      if (shown.state === "refused") return refused(shown.error);
      if (shown.state === "ready") return show(mine, shown.book);
    } catch (error) {
      if (error.name !== "Unreachable") return refused(error.message);
    }
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}

/** Stops whatever is under way; the server deletes the manuscript. */
function stop() {
  if (!current) return;
  current.abort.abort();
  if (current.id) remove(`/api/manuscripts/${current.id}`).catch(() => {});
  current = null;
}

function leave() {
  stop();
  fill(box);
  emit("making", false);
  input.focus();
}

/** A heading that takes the focus, so that screen readers say what has come. */
function headed(words, ...children) {
  const heading = h("h2", { tabindex: "-1" }, words);
  fill(box, heading, ...children);
  heading.focus();
}

function waiting(words, ...children) {
  headed(
    words,
    ...children,
    h("button", { class: "stop", onclick: leave }, icon("stop"), "Stop"),
  );
}

function refused(words) {
  headed(
    "This cannot be read",
    h("p", { class: "trouble" }, words),
    h("button", { class: "main", onclick: leave }, "Choose another file"),
  );
}

// -- what was read ---------------------------------------------------------------------------------

function show(mine, book) {
  const typed = (mine.typed ??= {
    title: book.title,
    authors: book.authors.join("; "),
    cover: true,
    heading: "",
    reading: "",
  });
  mine.book = book;
  mine.ticks = book.parts.map((part) => part.is_read);
  const trouble = h("p", { class: "trouble", role: "alert" });
  const submit = h("button", { class: "main large", type: "submit" }, "Make the book");
  const form = h(
    "form",
    { class: "new-book" },
    h("div", { class: "facts-form" }, coverOf(mine), ...facts(mine, typed), told(book), otherwise(mine, typed)),
    h(
      "div",
      {},
      parts(mine),
      leftOut(book),
      trouble,
      h(
        "div",
        { class: "row last" },
        submit,
        h("button", { type: "button", onclick: leave }, "Cancel"),
      ),
    ),
  );
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (submit.disabled) return;
    submit.disabled = true;
    fill(trouble);
    try {
      const { id } = await post(`/api/manuscripts/${mine.id}/project`, {
        title: typed.title,
        authors: typed.authors.split(";").map((name) => name.trim()),
        cover: typed.cover && book.has_cover,
        parts: mine.ticks.flatMap((isRead, number) => (isRead ? [number] : [])),
      });
      current = null;
      fill(box);
      emit("made", id);
    } catch (error) {
      fill(trouble, error.message);
      submit.disabled = false;
    }
  });
  headed(`New book from ${mine.name}`, form);
}

function facts(mine, typed) {
  const { book } = mine;
  return [
    ...titleFields(typed),
    languageField(
      book.languages,
      book.language,
      (language) => again(mine, { language }),
      book.remarks.filter(isOnLanguage).map((remark) => remark.slice(LANGUAGE.length)),
    ),
  ];
}

const LANGUAGE = "language: ";
const isOnLanguage = (remark) => remark.startsWith(LANGUAGE);

async function again(mine, choices) {
  const { book, typed } = mine;
  try {
    await post(`/api/manuscripts/${mine.id}/read`, {
      language: mine.language ?? (choices.language ? "" : null),
      notes: book.notes,
      reading: typed.reading || null,
      heading: typed.heading,
      ...choices,
    });
    mine.language = choices.language ?? mine.language;
    await follow(mine);
  } catch (error) {
    complain(error);
  }
}

function coverOf(mine) {
  const { book, typed } = mine;
  return coverField({
    hasCover: () => book.has_cover,
    isUsed: () => typed.cover,
    address: () => addressOf(`/api/manuscripts/${mine.id}/cover?${mine.covers ?? 0}`),
    toggle: () => (typed.cover = !typed.cover),
    take: async (picture) => {
      await sendCover(`/api/manuscripts/${mine.id}/cover`, picture);
      [book.has_cover, typed.cover, mine.covers] = [true, true, (mine.covers ?? 0) + 1];
    },
  });
}

function told(book) {
  const remarks = book.remarks.filter((remark) => !isOnLanguage(remark));
  const lines = [book.dialogue && `Read as ${book.dialogue}.`, ...remarks].filter(Boolean);
  if (!lines.length) return null;
  return h(
    "section",
    {},
    h("h3", {}, "Please note"),
    h("ul", { class: "remarks" }, ...lines.map((line) => h("li", {}, capitalized(line)))),
  );
}

function otherwise(mine, typed) {
  const { book } = mine;
  const select = (words, value, options, onchange) =>
    h(
      "label",
      { class: "field" },
      h("span", {}, words),
      h(
        "select",
        { onchange: (event) => onchange(event.target.value) },
        ...options.map(([name, label]) =>
          h("option", { value: name, selected: name === value }, label),
        ),
      ),
    );
  const heading = h("input", {
    type: "text",
    value: typed.heading,
    autocomplete: "off",
    placeholder: "Chapter",
    maxlength: 200,
    oninput: (event) => (typed.heading = event.target.value),
  });
  return h(
    "details",
    { open: Boolean(typed.heading || typed.reading) || book.notes !== "omit" },
    h("summary", {}, "Read it in another way"),
    select(
      "Footnotes",
      book.notes,
      [
        ["omit", "Left out"],
        ["in-place", "After their paragraph"],
        ["end", "After the chapter"],
      ],
      (notes) => again(mine, { notes }),
    ),
    select(
      "Names that begin paragraphs (“ADA: …”)",
      typed.reading,
      [
        ["", "As the text suggests"],
        ["script", "Say who speaks"],
        ["prose", "Are read aloud"],
      ],
      (reading) => {
        typed.reading = reading;
        again(mine, {});
      },
    ),
    h("label", { class: "field" }, h("span", {}, "Chapters begin with the words"), heading),
    h(
      "button",
      { type: "button", onclick: () => again(mine, {}) },
      icon("again"),
      "Read again",
    ),
  );
}

// -- chapters --------------------------------------------------------------------------------------

function parts(mine) {
  const { book, ticks } = mine;
  const sum = h("p", { class: "big", role: "status" });
  const boxes = [];
  const count = () => {
    const chosen = book.parts.filter((_, number) => ticks[number]);
    const seconds = chosen.reduce((all, part) => all + part.seconds, 0);
    const words = chosen.reduce((all, part) => all + part.words, 0);
    fill(
      sum,
      `${counted(chosen.length, "chapter")}, about ${span(seconds)}`,
      h("small", {}, ` ${counted(words, "word")}`),
    );
  };
  const set = (choose) => () => {
    book.parts.forEach((part, number) => {
      ticks[number] = choose(part);
      boxes[number].checked = ticks[number];
    });
    count();
  };
  const rows = book.parts.map((part, number) => {
    boxes[number] = h("input", {
      type: "checkbox",
      checked: ticks[number],
      "aria-label": [part.title || "Untitled", span(part.seconds), part.reason].filter(Boolean).join(", "),
      onchange: (event) => {
        ticks[number] = event.target.checked;
        count();
      },
    });
    return h(
      "li",
      { class: part.is_read ? "" : "apart" },
      h(
        "label",
        {},
        boxes[number],
        h("span", { class: "name", dir: "auto", lang: book.language }, part.title || "Untitled"),
        h("span", { class: "length" }, clock(part.seconds)),
        part.reason ? h("small", { class: "why" }, `Left out: ${part.reason}`) : null,
        part.begin ? h("small", { class: "begin", dir: "auto", lang: book.language }, part.begin) : null,
      ),
    );
  });
  count();
  return h(
    "section",
    {},
    h("h3", {}, "What is read"),
    sum,
    h(
      "div",
      { class: "row wrap" },
      h("button", { type: "button", class: "small", onclick: set(() => true) }, "All"),
      h("button", { type: "button", class: "small", onclick: set(() => false) }, "None"),
      h(
        "button",
        { type: "button", class: "small", onclick: set((part) => part.is_read) },
        "As suggested",
      ),
    ),
    h("ol", { class: "parts" }, ...rows),
  );
}

function leftOut(book) {
  if (!book.left_out.length) return null;
  return h(
    "section",
    {},
    h("h3", {}, "Also left out"),
    h(
      "ul",
      { class: "remarks" },
      ...book.left_out.map(({ reason, words, places }) =>
        h(
          "li",
          {},
          `${reason}: `,
          places > 1 ? `${grouped(places)} places, ` : "",
          counted(words, "word"),
        ),
      ),
    ),
  );
}

// The list of pickups: what is to be spoken again or otherwise, for the studio and for other people.

import { act, attempt, tick, undo } from "./actions.js";
import { addressOf } from "./address.js";
import { get, post, sendList } from "./api.js";
import { field, open } from "./dialogs.js";
import { byId, fill, h, icon, refill } from "./dom.js";
import { flag } from "./edits.js";
import { goTo } from "./loading.js";
import { complain, say } from "./messages.js";
import { pane } from "./panes.js";
import { canEdit } from "./rights.js";
import { on, state } from "./store.js";
import { counted, shortened } from "./words.js";

const box = byId("pane-lists");
/** @type {any[]} */
let rows = [];

const buttons = h("div", { class: "row wrap" });
const words = h("input", {
  type: "search",
  "aria-label": "Words of note or text",
  placeholder: "Words of note or text",
  autocomplete: "off",
  oninput: () => draw(),
});
const filter = (label) => h("select", { "aria-label": label, onchange: () => draw() });
const [speaker, chapter, which, who] = ["Speaker", "Chapter", "Done or not", "Noted by"].map(filter);
const count = h("p", { class: "note", role: "status" });
const list = h("div", {});
const filters = h("div", { class: "find-form", role: "search" }, words, h("div", { class: "row wrap" }, which, chapter, speaker, who));
fill(box, buttons, filters, count, list);

const DONE = [
  ["", "Open"],
  ["done", "Done"],
  ["all", "All"],
];

async function load() {
  const answer = await attempt(() => get("/api/pickups"));
  if (!answer) return;
  rows = answer.rows;
  draw();
}

/** Puts choices into a filter; the one that is chosen stays, where it is still there. */
function offer(select, choices) {
  const before = select.value;
  fill(select, ...choices.map(([value, label]) => h("option", { value, selected: value === before }, label)));
}

const different = (name) => [...new Set(rows.map((one) => one[name]))].filter(Boolean);
const plain = (text) => text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();

function isShown(one) {
  return (
    (which.value === "all" || one.done === (which.value === "done")) &&
    (!speaker.value || one.speaker === speaker.value) &&
    (!who.value || one.who === who.value) &&
    (!chapter.value || one.chapter === chapter.value) &&
    plain(`${one.note}\n${one.text}`).includes(plain(words.value.trim()))
  );
}

/** Lists from other people, and for them. @param {number} number of the open chapter */
function lists(number) {
  return [
    h("button", { "data-keep": "import", onclick: importList }, icon("clip"), "Import"),
    h("a", { class: "button", href: addressOf("/pickups.csv"), download: true }, "CSV"),
    h(
      "a",
      { class: "button", href: addressOf("/pickups.html"), target: "_blank", rel: "noopener" },
      "Print view",
    ),
    h(
      "a",
      {
        class: "button",
        href: addressOf(`/labels/${number}.txt`),
        download: true,
        title: "Where the pickups are in the sound, as a label file for Audacity and other audio editors",
      },
      `Chapter ${number} for an audio editor`,
    ),
  ];
}

function draw() {
  const number = state.chapter?.number ?? 1;
  refill(
    buttons,
    h("button", { "data-keep": "add", onclick: () => flag() }, icon("flag"), "Flag this line"),
    ...(canEdit ? lists(number) : []),
  );
  const titles = new Map(state.book?.chapters.map((one) => [String(one.number), one.title]));
  offer(which, DONE);
  offer(chapter, [["", "Any chapter"], ...different("chapter").map((one) => [one, `${one}. ${shortened(titles.get(one) ?? "", 30)}`])]);
  offer(speaker, [["", "Any speaker"], ...different("speaker").map((one) => [one, one])]);
  offer(who, [["", "Noted by anybody"], ...different("who").map((one) => [one, one])]);
  who.hidden = !different("who").length;
  filters.hidden = !rows.length;
  const shown = rows.filter(isShown);
  const done = rows.filter((one) => one.done).length;
  fill(
    count,
    rows.length
      ? `${shown.length} of ${counted(rows.length, "pickup")} shown; ${done} done`
      : "Nothing is flagged.",
  );
  refill(list, h("ul", { class: "pickups" }, ...shown.map(row)));
}

function row(one) {
  const box = h("input", {
    type: "checkbox",
    checked: one.done,
    "aria-label": `Done: ${one.note}`,
    "data-keep": `done-${one.chunk}-${one.note}`,
    disabled: one.is_lost || !canEdit,
    onchange: () => tick(one, box.checked).then(load),
  });
  const time = (one.time ?? "").replace(/\.\d+$/, "");
  return h(
    "li",
    { class: one.done ? "done" : "" },
    box,
    h(
      "div",
      {},
      h(
        "p",
        { class: "note" },
        one.is_lost
          ? "its text is gone"
          : h(
              "button",
              {
                class: "link",
                "data-keep": `go-${one.chunk}-${one.note}`,
                onclick: () => goTo(one.chunk),
              },
              one.chunk,
            ),
        time ? ` · ${time}` : "",
        ` · ${one.speaker}`,
        one.who ? ` · noted by ${one.who}` : "",
      ),
      h("p", { class: "what" }, one.note),
      h("p", { class: "text" }, shortened(one.text, 100)),
    ),
  );
}

/** The first lines that were not understood, and how many there are. */
function notTaken(problems) {
  const more = problems.length - SHOWN;
  return [
    `${counted(problems.length, "line")} of the list ${problems.length === 1 ? "was" : "were"} not understood:`,
    ...problems.slice(0, SHOWN).map((one) => shortened(one, 160)),
    ...(more > 0 ? [`and ${more} more`] : []),
  ].join("\n");
}
const SHOWN = 5;

function importList() {
  const text = h("textarea", {
    rows: 8,
    placeholder: "3  12:34  “bow” as in arrow",
    autofocus: true,
  });
  const file = h("input", {
    type: "file",
    accept: ".csv,.txt,.tsv,text/*",
    onchange: async () => {
      if (file.files[0]) text.value = await file.files[0].text();
    },
  });
  return open({
    title: "Import a list",
    content: [
      h(
        "p",
        { class: "note" },
        "A CSV with columns note and text, labels of an audio editor, or lines with a chapter, a time and a note.",
      ),
      field("A file", file),
      field("Or its lines", text),
    ],
    done: "Import",
    resumes: () => true,
    onDone: async () => {
      const list = text.value;
      let found = { added: [], problems: [] };
      const command = {
        what: "",
        revert: () => post("/api/flags/gone", { flags: found.added }).then(() => undefined),
        apply: async () => {
          found = await sendList(list);
          command.what = `${counted(found.added.length, "pickup")} added`;
        },
      };
      await act(command);
      say(command.what, "history", found.added.length ? { words: "Undo", run: undo } : undefined);
      if (found.problems.length) complain(notTaken(found.problems));
      load();
    },
  });
}

on("pane", (name) => name === "lists" && load());
on("listed", () => pane() === "lists" && load());
on("opened", () => pane() === "lists" && draw());
on("event:book", () => pane() === "lists" && load());

// The list of pickups: what is to be spoken again or otherwise, for the studio and for other people.

import { act, attempt, tick, undo } from "./actions.js";
import { addressOf } from "./address.js";
import { get, post, sendList } from "./api.js";
import { field, open } from "./dialogs.js";
import { byId, h, icon, refill } from "./dom.js";
import { flag } from "./edits.js";
import { goTo } from "./loading.js";
import { complain, say } from "./messages.js";
import { pane } from "./panes.js";
import { on, state } from "./store.js";
import { counted, shortened } from "./words.js";

const box = byId("pane-lists");
/** @type {any[]} */
let rows = [];
let isAll = false;

async function load() {
  const answer = await attempt(() => get("/api/pickups"));
  if (!answer) return;
  rows = answer.rows ?? answer;
  draw();
}

function draw() {
  const shown = rows.filter((one) => isAll || !one.done);
  const number = state.chapter?.number ?? 1;
  refill(
    box,
    h(
      "div",
      { class: "row wrap" },
      h(
        "button",
        { "data-keep": "add", onclick: () => flag() },
        icon("flag"),
        "Flag this sentence",
      ),
      h("button", { "data-keep": "import", onclick: importList }, icon("clip"), "Import"),
      h("a", { class: "button", href: addressOf("/pickups.csv"), download: true }, "CSV"),
      h(
        "a",
        { class: "button", href: addressOf("/pickups.html"), target: "_blank", rel: "noopener" },
        "To print",
      ),
      h(
        "a",
        { class: "button", href: addressOf(`/labels/${number}.txt`), download: true },
        `Labels of chapter ${number}`,
      ),
    ),
    shown.length
      ? h("ul", { class: "pickups" }, ...shown.map(row))
      : h("p", { class: "empty" }, rows.length ? "All is done." : "Nothing is flagged."),
    rows.some((one) => one.done) ? showAll() : null,
  );
}

function showAll() {
  const tick = h("input", {
    type: "checkbox",
    checked: isAll,
    "data-keep": "all",
    onchange: () => {
      isAll = tick.checked;
      draw();
    },
  });
  return h(
    "label",
    { class: "tick" },
    tick,
    h("span", {}, `Also those that are done (${rows.filter((one) => one.done).length})`),
  );
}

function row(one) {
  const box = h("input", {
    type: "checkbox",
    checked: one.done,
    "aria-label": `Done: ${one.note}`,
    "data-keep": `done-${one.chunk}-${one.note}`,
    disabled: one.is_lost,
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
    `${counted(problems.length, "line")} of the list ${problems.length === 1 ? "was" : "were"} not taken:`,
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
    onDone: async () => {
      const list = text.value;
      let found = { added: [], problems: [] };
      const deed = {
        what: "",
        back: () => post("/api/flags/gone", { flags: found.added }).then(() => undefined),
        again: async () => {
          found = await sendList(list);
          deed.what = `${counted(found.added.length, "pickup")} added`;
        },
      };
      await act(deed);
      say(deed.what, "travel", found.added.length ? { words: "Undo", run: undo } : undefined);
      if (found.problems.length) complain(notTaken(found.problems));
      load();
    },
  });
}

on("pane", (name) => name === "lists" && load());
on("listed", () => pane() === "lists" && load());
on("opened", () => pane() === "lists" && draw());
on("event:book", () => pane() === "lists" && load());

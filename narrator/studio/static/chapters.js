// The book by chapter: what of each is rendered, doubtful, flagged, reviewed.

import { byId, h, refill } from "./dom.js";
import { on, state } from "./store.js";
import { clock, counted, grouped, percent, span } from "./words.js";

const list = byId("chapters");
const sum = byId("sum");

function draw() {
  const { book, chapter } = state;
  if (!book) return;
  refill(list, ...book.chapters.map((one) => row(one, one.number === chapter?.number)));
  const all = (name) => book.chapters.reduce((total, one) => total + (one[name] ?? 0), 0);
  const chunks = all("chunks") || 1;
  refill(
    sum,
    h(
      "p",
      {},
      `${all("rendered") < chunks ? "about " : ""}${span(all("length"))}, ${counted(chunks, "line")}`,
    ),
    h(
      "p",
      {},
      `${percent(all("rendered") / chunks)} rendered, ${percent(all("reviewed") / chunks)} reviewed`,
    ),
  );
}

function row(one, isOpen) {
  return h(
    "li",
    {},
    h(
      "a",
      {
        href: `#${one.number}`,
        class: "chapter",
        "aria-current": isOpen ? "page" : null,
        "data-keep": `chapter-${one.number}`,
      },
      h("span", { class: "name" }, ...nameOf(one)),
      h(
        "span",
        { class: "length" },
        `${one.rendered < one.chunks ? "≈ " : ""}${clock(one.length)}`,
      ),
      bars(one),
      h("span", { class: "tally" }, ...tally(one)),
    ),
  );
}

/** Its place in the book, with which the ids of its lines begin, and its title. */
const nameOf = ({ number, title }) =>
  title
    ? [h("span", { class: "place" }, `${number} · `), h("span", { lang: state.book.script.lang }, title)]
    : [`Chapter ${number}`];

/** Rendered and doubtful in one bar, reviewed in a thin one beneath; the words beside say the same. */
function bars(one) {
  const chunks = one.chunks || 1;
  const piece = (name, number) => {
    if (!number) return null;
    const element = h("span", { class: name });
    element.style.width = `${(100 * number) / chunks}%`;
    return element;
  };
  return h(
    "span",
    { class: "bars", "aria-hidden": "true" },
    h(
      "span",
      { class: "bar" },
      piece("rendered", one.rendered - one.doubtful),
      piece("doubt", one.doubtful),
    ),
    h("span", { class: "bar thin" }, piece("done", one.reviewed)),
  );
}

function tally(one) {
  const parts = [
    [
      "",
      one.rendered === one.chunks
        ? ""
        : `${grouped(one.rendered)} of ${grouped(one.chunks)} rendered`,
    ],
    ["doubt", one.doubtful ? `${one.doubtful} doubtful` : ""],
    ["flagged", one.flagged ? `${one.flagged} flagged` : ""],
    ["reviewed", one.reviewed ? `${percent(one.reviewed / (one.chunks || 1))} reviewed` : ""],
  ];
  const shown = parts.filter(([, words]) => words);
  if (!shown.length) return ["rendered"];
  return shown.flatMap(([name, words], i) => [i ? " · " : "", h("span", { class: name }, words)]);
}

on("book", draw);
on("opened", () => {
  draw();
  list.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest" });
});

// The retake desk: style, speed, settings, seed and number of the next takes of one chunk.

import { announce, oneReading, submit } from "./actions.js";
import { h, icon } from "./dom.js";
import { savePreference, preference } from "./preferences.js";
import { say } from "./messages.js";
import { showPane } from "./panes.js";
import { chosenChunk, on } from "./store.js";
import { compareLine } from "./takes.js";
import { capitalized, counted, settingName } from "./words.js";

const NOTES = { cfg: "How closely text and voice are followed", steps: "More steps take longer" };
const MOST = 32;

/**
 * The form stays while the chunk and what it can be given stay: somebody writes in it. `sent` is what
 * it said at first, or when it was sent last.
 */
let form = { id: "", of: "", element: null, sent: "" };
/** Forms of other chunks in which something was written and not sent. @type {Map<string, typeof form>} */
const begun = new Map();
/** The chunk whose desk is to be opened as soon as it is drawn. */
let wanted = "";

/** @param {any} chunk @param {any} detail what /api/chunks says of it */
export function desk(chunk, detail) {
  if (!detail) return null;
  const of = JSON.stringify([chunk.id, detail.desk, detail.retakes]);
  if (form.of !== of) {
    if (isChanged()) begun.set(form.of, form);
    form = begun.get(of) ?? { id: chunk.id, of, element: build(chunk.id, detail.desk), sent: "" };
    form.sent ||= written(form);
    begun.delete(of);
  }
  if (wanted === chunk.id) setTimeout(focus);
  return form.element;
}

const written = ({ element }) => new URLSearchParams(new FormData(element.querySelector("form"))).toString();
const isChanged = () => Boolean(form.element) && written(form) !== form.sent;

/** Whether something was written on the desk of the chosen chunk and not sent. */
export const isBegun = () => form.id === chosenChunk()?.id && isChanged();

function number(name, words, attributes, note) {
  const input = h("input", { type: "number", name, "data-keep": `desk-${name}`, step: "any", ...attributes });
  return h("label", { class: "field", title: note }, h("span", {}, words), input);
}

function build(id, { style, no_style: noStyle, settings, seed }) {
  const isOne = seed === null;
  const styled = h("input", {
    type: "text",
    name: "style",
    value: style,
    maxlength: 1000,
    placeholder: "in a whisper",
    autocomplete: "off",
    "data-keep": "desk-style",
  });
  const fields = h(
    "div",
    { class: "desk-fields" },
    noStyle
      ? h("p", { class: "note whole" }, `No style: ${noStyle}.`)
      : h("label", { class: "field whole" }, h("span", {}, "Style"), styled),
    number("speed", "Speed", { value: 1, min: 0.5, max: 2, step: 0.05 }, "0.9 is ten per cent slower than the speaker's other takes"),
    ...settings.map((one) =>
      number(
        one.name,
        capitalized(settingName(one.name)),
        { value: one.value, min: one.min, max: one.max, step: one.whole ? 1 : 0.1 },
        NOTES[one.name],
      ),
    ),
    isOne ? null : number("seed", "Seed", { placeholder: "any", min: 0, max: 2 ** 32 - 1, step: 1 }, "The same seed and settings give the same take"),
    isOne ? null : number("count", "Takes", { value: preference("count", 1), min: 1, max: MOST, step: 1 }, "How many; each has the next seed"),
  );
  const element = h(
    "form",
    { onsubmit: (event) => (event.preventDefault(), send(id, element, { style, settings, isOne })) },
    fields,
    isOne ? h("p", { class: "note" }, oneReading(), " A change of speed is another take.") : null,
    h(
      "div",
      { class: "row" },
      h("button", { class: "main", "data-keep": "desk-send" }, icon("again"), "Speak with these settings"),
      h("button", { type: "reset", "data-keep": "desk-reset", onclick: () => resetTo(element, { style, settings }) }, "Reset"),
    ),
  );
  return h(
    "details",
    {
      class: "desk",
      open: preference("desk", false),
      ontoggle: (event) => savePreference("desk", event.target.open),
    },
    h("summary", { "data-keep": "desk", title: "Settings for the next takes of this line alone (d)" }, "Retake desk"),
    element,
  );
}

function resetTo(element, { style, settings }) {
  const own = form;
  // After the form's own reset, which empties what was set by value.
  setTimeout(() => {
    if (element.elements.style) element.elements.style.value = style;
    element.elements.speed.value = 1;
    for (const one of settings) element.elements[one.name].value = one.value;
    if (element.elements.count) element.elements.count.value = preference("count", 1);
    own.sent = written(own);
  });
}

async function send(id, element, { style, settings, isOne }) {
  const value = (name) => element.elements[name]?.value.trim() ?? "";
  const styled = element.elements.style ? value("style") : style;
  const speed = Number(value("speed")) || 1;
  if (isOne && speed === 1 && styled === style) {
    say(`${oneReading()} Set another speed.`, "job");
    return;
  }
  const changed = settings.filter((one) => value(one.name) && Number(value(one.name)) !== one.value);
  const count = Math.max(1, Math.min(MOST, Number(value("count")) || 1));
  const job = {
    kind: "retake",
    chunks: [id],
    count,
    speed,
    seed: value("seed") ? Number(value("seed")) : null,
    parameters: Object.fromEntries(changed.map((one) => [one.name, Number(value(one.name))])),
    style: styled === style ? null : styled,
  };
  const own = form;
  const sent = written(own);
  if (!(await submit(job))) return;
  own.sent = sent;
  say(`${id} will be spoken with these settings${count > 1 ? `, ${count} times` : ""}`, "job");
}

export function openDesk() {
  wanted = chosenChunk()?.id ?? "";
  showPane("chunk", { focus: false });
  if (form.element?.isConnected) focus();
}

function focus() {
  if (form.id !== wanted) return;
  wanted = "";
  form.element.open = true;
  const first = form.element.querySelector("input:not(:disabled)");
  first.focus();
  first.select();
  form.element.scrollIntoView({ block: "nearest" });
}

/** What became of a retake: of its job's summary. @param {any[]} rows */
export function retaken(rows) {
  return rows
    .map((row) => {
      const { id, pinned, tries, failures } = row;
      if (pinned !== null) {
        const before = takeBefore(row);
        return `${id}: take ${pinned} is used now${reasonOf(tries)}${before ? `; take ${before} is kept` : ""}`;
      }
      if (tries.length)
        return `${id}: ${tries.length > 1 ? `none of ${counted(tries.length, "new take")} passed its` : "the new take did not pass its"} checks, and what was in use stays`;
      return `${id}: nothing was spoken${failures.length ? `: ${failures[0]}` : ""}`;
    })
    .join("\n");
}

/** Why one of several new takes is used. */
function reasonOf(tries) {
  const good = tries.filter(({ faults }) => !faults.length);
  if (good.length < 2) return tries.length > 1 ? `, the only one of ${tries.length} that passed its checks` : "";
  return `, the best by its score of ${good.length} that passed their checks`;
}

/** The number of the take that was in use before a retake; 0 where there was none. */
function takeBefore({ replaced, tries }) {
  const before = replaced ?? 1;
  return tries.some(({ number }) => number === before) ? 0 : before;
}

on("retaken", ({ command, row }) => {
  const before = takeBefore(row);
  const listen = { words: "Compare", run: () => compareLine(row.id, before) };
  announce(command, retaken([row]), ...(before ? [listen] : []));
});

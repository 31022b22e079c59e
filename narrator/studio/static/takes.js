// The tries of a chunk: heard and compared by number, with their figures and faults; and beside them
// those of other voices.

import { attempt, pin, speakBy, unpin } from "./actions.js";
import { chunkDetail, get } from "./api.js";
import { compare } from "./compare.js";
import { fill, h, icon } from "./dom.js";
import { goTo } from "./loading.js";
import { heardNow, playUrl, share, stop } from "./samples.js";
import { say } from "./messages.js";
import { drawWave } from "./pictures.js";
import { canEdit } from "./rights.js";
import { chosenChunk, on } from "./store.js";
import { modeWords, settingName, shortened } from "./words.js";

/** @type {any[]} Of the chunk in the inspector. */
let tries = [];
/** @type {Map<string, { row: HTMLElement, bar: HTMLElement }>} By the address of the sound. */
const rows = new Map();
/** The number of the try heard last. */
let last = -1;
let owner = "";

/** None until they are known: those of the chunk before are still here. */
const triesOfChosen = () => (chosenChunk()?.id === owner ? tries : []);

const named = (one) => `try:${one.url}`;

/** The list for a chunk. @param {string} chunk its id @param {any[]} ofChunk */
export function list(chunk, ofChunk) {
  if (chunk !== owner) {
    last = -1;
    others = null;
  }
  owner = chunk;
  tries = [...ofChunk].sort((one, other) => other.number - one.number);
  rows.clear();
  const own = h("ol", { class: "takes" }, ...tries.map((one) => row(one)));
  drawOthers();
  return h(
    "div",
    { class: "takes" },
    tries.length ? own : h("p", { class: "empty" }, "Not spoken yet."),
    tries.some((one) => one.pinned)
      ? h("p", { class: "note" }, "Pinned: this take is used until you unpin it. The others are kept.")
      : null,
    canEdit && h(
      "div",
      { class: "row wrap" },
      h(
        "button",
        { class: "small", "data-keep": "compare", title: "Two takes against each other (x)", onclick: compareTakes },
        "Compare two",
      ),
      h(
        "button",
        {
          class: "small",
          "data-keep": "others",
          "aria-expanded": String(Boolean(others)),
          onclick: toggleOthers,
        },
        "Other voices",
      ),
    ),
    othersBox,
  );
}

// -- other voices ----------------------------------------------------------------------------------

const othersBox = h("div", { class: "others", role: "status" });
/** What other voices have of this chunk, once it was asked for. @type {any[] | null} */
let others = null;

async function toggleOthers(event) {
  const isShown = Boolean(others);
  others = null;
  if (!isShown) {
    fill(othersBox, h("p", { class: "note" }, "Looking for the takes of other voices …"));
    await loadOthers();
  }
  event.target.setAttribute("aria-expanded", String(Boolean(others)));
  drawOthers();
}

async function loadOthers() {
  const answer = await attempt(() => get(`/api/chunks/${encodeURIComponent(owner)}/others`));
  if (answer && answer.id !== owner) return;
  others = answer?.voices ?? null;
}

/** Has the chunk spoken by an engine that has no take of it, to be heard and compared here. */
async function speakByOther(engine, button) {
  const id = owner;
  button.disabled = true;
  const asked = await speakBy(id, engine, async ({ exit }) => {
    if (!exit) say(`${titleOf(engine)} has spoken ${id}: “Compare two” sets it against the others`, "job");
    if (owner !== id || !others) return;
    await loadOthers();
    drawOthers();
  });
  if (!asked) button.disabled = false;
}

function drawOthers() {
  const shown = (others ?? []).filter((one) => one.tries.length || one.trouble || one.can_speak);
  fill(
    othersBox,
    ...shown.flatMap(({ engine, tries: theirs, trouble, can_speak: canSpeak }) => [
      h("h3", {}, titleOf(engine)),
      canSpeak && canEdit
        ? h("button", { class: "small", "data-keep": `by-${engine}`, onclick: (event) => speakByOther(engine, event.currentTarget) }, icon("again"), "Speak this line")
        : null,
      trouble ? h("p", { class: "note" }, shortened(trouble, 160)) : null,
      h("ol", { class: "takes" }, ...theirs.map((one) => row(one, titleOf(engine)))),
    ]),
    others && !shown.length ? h("p", { class: "note" }, "No other voice has spoken this.") : null,
  );
}

const titleOf = (engine) => (engine === "draft" ? "The draft voice" : engine || "The book's own voice");

// -- comparing -------------------------------------------------------------------------------------

/** Opens the comparison of two takes of the chosen chunk: the one in use, and the newest other. */
export function compareTakes() {
  compareAll(triesOfChosen());
}

/** The same for any chunk, with a certain other take. @param {string} id @param {number} number */
export async function compareLine(id, number) {
  await goTo(id);
  const detail = await attempt(() => chunkDetail(id));
  if (detail && chosenChunk()?.id === id) compareAll(detail.tries, number);
}

/** @param {any[]} known @param {number} [number] of the other one */
function compareAll(known, number) {
  const chunk = chosenChunk();
  const newestFirst = [...known].sort((one, other) => other.number - one.number);
  const whole = (one) => one.whole !== false;
  const all = [
    ...newestFirst.filter(whole).map((one) => ({ ...one, title: `Take ${one.number}${standing(one)}` })),
    ...((chunk.id === owner && others) || []).flatMap(({ engine, tries: theirs }) =>
      theirs.filter(whole).map((one) => ({ ...one, title: `${titleOf(engine)}, take ${one.number}`, number: null })),
    ),
  ];
  const used = all.find((one) => one.in_use && one.number !== null) ?? all[0];
  if (all.length < 2) {
    say("There is one take alone: speak again, or show other voices, to compare two");
    return;
  }
  const rest = all.filter((one) => one !== used);
  const other =
    rest.find((one) => one.number === number) ?? rest.find((one) => !one.faults.length) ?? rest[0];
  compare(chunk, all, used, other, (one, what) => pin(chunk.id, one.number, what));
}

const standing = (one) => (one.pinned ? ", pinned" : one.in_use ? ", in use" : "");

// -- a row -----------------------------------------------------------------------------------------

/** @param {any} one @param {string} [voice] another than that of the chunk */
function row(one, voice) {
  const bar = h("span", { class: "played" });
  const canvas = h("canvas", { height: 30, width: 300 });
  drawWave(canvas, one.url);
  const picture = h("span", { class: "small-wave", "aria-hidden": "true" }, canvas, bar);
  picture.addEventListener("click", (event) => {
    const box = picture.getBoundingClientRect();
    hear(one, (event.clientX - box.left) / box.width);
  });
  const play = h(
    "button",
    {
      class: "round",
      "aria-label": `Hear take ${one.number}${voice ? ` of ${voice}` : ""}`,
      "data-keep": `hear-${one.url}`,
      onclick: () => toggle(one),
    },
    icon("play"),
  );
  const keepIt = h(
    "button",
    {
      class: "small",
      "aria-pressed": String(one.pinned),
      "data-keep": `pin-${one.number}`,
      title: one.pinned
        ? "This take is used, whatever the checks say: press to let the best be chosen again (Shift-p)"
        : "Use this take, whatever the checks say (p)",
      onclick: () => (one.pinned ? unpin(owner) : pin(owner, one.number)),
    },
    icon("pin"),
    one.pinned ? "Pinned" : "Pin",
  );
  const element = h(
    "li",
    { class: `take${one.in_use ? " used" : ""}`, "data-number": one.number },
    h(
      "div",
      { class: "line" },
      play,
      !voice && one.number < 10 ? h("kbd", {}, one.number) : null,
      picture,
      voice || one.whole === false || !canEdit ? null : keepIt,
    ),
    h("p", { class: "figures" }, figures(one)),
    one.faults.length ? h("p", { class: "faults" }, one.faults.join("; ")) : null,
  );
  rows.set(one.url, { row: element, bar });
  return element;
}

function figures(one) {
  const parts = [
    `take ${one.number}`,
    one.pinned ? "pinned" : one.in_use ? "in use" : null,
    `${one.seconds.toFixed(1)} s`,
    one.level === null || one.level === undefined ? null : `${one.level.toFixed(1)} dB`,
    one.ratio === null || one.ratio === undefined
      ? null
      : `${Math.round(one.ratio * 100)} % of the expected length`,
    one.correction ? `in the files ${one.correction}` : null,
    one.score ? `score ${one.score} (less is better)` : null,
    one.whole === false ? "a part of it" : null,
    modeWords(one.mode) || null,
    !one.has_seed
      ? null
      : `seed ${one.seed}${one.attempt ? `, attempt ${one.attempt + 1}` : ""}`,
    ...Object.entries(one.settings ?? {}).map(([name, value]) =>
      name === "style" ? `“${shortened(value, 60) || "no style"}”` : `${settingName(name)} ${value}`,
    ),
  ];
  return parts.filter(Boolean).join(" · ");
}

// -- hearing ---------------------------------------------------------------------------------------

function hear(one, at = 0) {
  if (tries.includes(one)) last = one.number;
  playUrl(one.url, named(one), at);
}

function toggle(one) {
  if (heardNow() === named(one)) stop();
  else hear(one);
}

/** By its key, the take's number. @param {number} key */
export function hearKey(key) {
  const one = triesOfChosen().find((each) => each.number === key);
  if (one) hear(one);
}

/** Pins the try heard last, else the one in use. */
export function pinHeard() {
  const known = triesOfChosen();
  const one = known.find((each) => each.number === last) ?? known.find((each) => each.in_use);
  if (one) pin(owner, one.number); // also one that seems to be pinned: a retake may be under way
}

export function unpinHeard() {
  if (triesOfChosen().length) unpin(owner);
}

function light() {
  const now = heardNow();
  for (const [url, { row, bar }] of rows) {
    const isHeard = now === named({ url });
    row.classList.toggle("heard", isHeard);
    row.querySelector("use").setAttribute("href", isHeard ? "#i-pause" : "#i-play");
    bar.style.width = isHeard ? `${share() * 100}%` : "0";
  }
}
on("sample", light);
on("sample-time", light);

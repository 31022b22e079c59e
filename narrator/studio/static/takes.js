// The tries of a chunk: heard and compared by number, with their figures and faults.

import { pin, unpin } from "./actions.js";
import { bytes } from "./api.js";
import { h, icon } from "./dom.js";
import { heardNow, playUrl, share, stop } from "./samples.js";
import { say } from "./messages.js";
import { on } from "./store.js";

/** @type {any[]} Of the chunk in the inspector. */
let tries = [];
/** @type {Map<number, { row: HTMLElement, bar: HTMLElement }>} */
const rows = new Map();
/** The number of the try heard last. */
let last = -1;
let owner = "";

const named = (one) => `try:${one.url}`;

/** The list for a chunk. @param {string} chunk its id @param {any[]} ofChunk */
export function list(chunk, ofChunk) {
  if (chunk !== owner) last = -1;
  owner = chunk;
  tries = [...ofChunk].sort((one, other) => other.number - one.number);
  rows.clear();
  return h("ol", { class: "takes" }, ...tries.map(row));
}

function row(one, place) {
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
      "aria-label": `Hear take ${one.number}`,
      "data-keep": `hear-${one.number}`,
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
        ? "Let the best take be chosen again (p)"
        : "Use this take, whatever the checks say (p)",
      onclick: () => (one.pinned ? unpin(one.number) : pin(one.number, pinned())),
    },
    icon("pin"),
    one.pinned ? "Pinned" : "Pin",
  );
  const element = h(
    "li",
    { class: `take${one.in_use ? " used" : ""}`, "data-number": one.number },
    h("div", { class: "line" }, play, place < 9 ? h("kbd", {}, place + 1) : null, picture, keepIt),
    h("p", { class: "figures" }, figures(one)),
    one.faults.length ? h("p", { class: "faults" }, one.faults.join("; ")) : null,
  );
  rows.set(one.number, { row: element, bar });
  return element;
}

function figures(one) {
  const parts = [
    `take ${one.number}`,
    one.in_use ? "in use" : null,
    `${one.seconds.toFixed(1)} s`,
    one.level === null || one.level === undefined ? null : `${one.level.toFixed(1)} dB`,
    one.ratio === null || one.ratio === undefined
      ? null
      : `${Math.round(one.ratio * 100)} % of the expected length`,
    one.whole === false ? "in two halves" : null,
    one.mode || null,
    one.seed === null || one.seed === undefined ? null : `seed ${one.seed}`,
  ];
  return parts.filter(Boolean).join(" · ");
}

// -- hearing ---------------------------------------------------------------------------------------

function hear(one, at = 0) {
  last = one.number;
  playUrl(one.url, named(one), at);
}

function toggle(one) {
  if (heardNow() === named(one)) stop();
  else hear(one);
}

/** By its key, the take's number. @param {number} key */
export function hearKey(key) {
  const one = tries.find((each) => each.number === key);
  if (one) hear(one);
}

/** Pins the try heard last, else the one in use. */
export function pinHeard() {
  const one = tries.find((each) => each.number === last) ?? tries.find((each) => each.in_use);
  if (!one) return;
  if (one.pinned) say(`Take ${one.number} is pinned already; P lets it go`);
  else pin(one.number, pinned());
}

/** The number of the one that is pinned, if any. */
const pinned = () => tries.find((each) => each.pinned)?.number;

export const unpinHeard = () => unpin(pinned());

function light() {
  const now = heardNow();
  for (const one of tries) {
    const { row, bar } = rows.get(one.number) ?? {};
    if (!row) continue;
    const isHeard = now === named(one);
    row.classList.toggle("heard", isHeard);
    row.querySelector("use").setAttribute("href", isHeard ? "#i-pause" : "#i-play");
    bar.style.width = isHeard ? `${share() * 100}%` : "0";
  }
}
on("sample", light);
on("sample-time", light);

// -- pictures --------------------------------------------------------------------------------------

/** @type {Map<string, Float32Array>} */
const waves = new Map();
let decoder = null;

async function waveOf(url) {
  const known = waves.get(url);
  if (known) return known;
  decoder ??= new OfflineAudioContext(1, 1, 16000);
  const sound = await decoder.decodeAudioData(await bytes(url));
  const samples = sound.getChannelData(0);
  const wave = new Float32Array(150);
  const step = samples.length / wave.length;
  for (let i = 0; i < wave.length; i++) {
    let peak = 0;
    for (let j = Math.floor(i * step); j < (i + 1) * step; j++)
      peak = Math.max(peak, Math.abs(samples[j]));
    wave[i] = peak;
  }
  if (waves.size > 200) waves.clear();
  waves.set(url, wave);
  return wave;
}

async function drawWave(canvas, url) {
  let wave;
  try {
    wave = await waveOf(url);
  } catch {
    return; // without a picture it is heard all the same
  }
  const paper = canvas.getContext("2d");
  if (!paper) return;
  paper.fillStyle = getComputedStyle(canvas).color;
  wave.forEach((peak, i) => {
    const half = Math.max(0.5, Math.sqrt(peak) * 14);
    paper.fillRect(i * 2, 15 - half, 1.4, 2 * half);
  });
}

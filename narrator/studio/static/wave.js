// The chapter's sound as a picture: loudness coloured by speaker, marks beneath, and where one is.
// It is also the control that goes to a time, for the mouse and for arrow keys.

import { bytes } from "./api.js";
import { byId, h } from "./dom.js";
import { savePreference, preference } from "./preferences.js";
import { reloadChapter } from "./loading.js";
import { hasSound, isPlaying, length, place, seek } from "./player.js";
import { COLORS, colorOf, isDoubtful, isFlagged, on, state } from "./store.js";
import { clock } from "./words.js";

const slider = byId("wave");
const canvas = byId("wave-picture");
const needle = byId("needle");
const hint = byId("wave-hint");

const RATE = 20; // peaks a second
const NEAR = 45; // seconds, seen from close by
const MARKS = 9; // pixels beneath the wave

/** @type {Uint8Array} */
let peaks = new Uint8Array();
let isNear = preference("near", false);
let from = 0;
let painting = 0;
/** The sound whose peaks were not there. */
let missed = "";
/** @type {AbortController | null} */
let asking = null;

const seen = () => (isNear ? Math.min(NEAR, total()) : total());
const total = () => state.chapter?.seconds || length() || 1;

async function load() {
  asking?.abort();
  asking = new AbortController();
  const { number, sound } = state.chapter;
  const key = (sound.url ?? "").split("/").pop();
  try {
    const data =
      sound.kind === "none"
        ? new ArrayBuffer(0)
        : await bytes(`/api/peaks/${number}?v=${encodeURIComponent(key)}`, asking.signal);
    peaks = new Uint8Array(data);
  } catch (error) {
    // Asked for anew meanwhile; or the banner says why; or it sounds otherwise by now.
    if (error.status === 404 && missed !== sound.url) reloadChapter();
    missed = sound.url;
    return;
  }
  paint();
}

// -- drawing ---------------------------------------------------------------------------------------

/** Colours of the style sheet, as they are in this theme. */
function colors() {
  const probe = h("span", { hidden: true });
  slider.append(probe);
  const read = (name) => {
    probe.style.color = `var(--${name})`;
    return getComputedStyle(probe).color;
  };
  const all = {
    speakers: Array.from({ length: COLORS }, (_, i) => read(i ? `c${i}` : "wave")),
    rule: read("rule"),
    doubt: read("doubt"),
    flag: read("flag"),
    done: read("done"),
  };
  probe.remove();
  return all;
}

function paint() {
  if (!painting) painting = requestAnimationFrame(draw);
}

function draw() {
  painting = 0;
  const ratio = devicePixelRatio || 1;
  const [width, height] = [slider.clientWidth, slider.clientHeight];
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  const paper = canvas.getContext("2d");
  if (!paper || !state.chapter || !width) return;
  paper.scale(ratio, ratio);
  const look = colors();
  const scale = width / seen();
  drawPeaks(paper, look, { width, height: height - MARKS, scale });
  drawMarks(paper, look, { width, height, scale });
  move();
}

const isDrawn = (chunk) => chunk.start !== null && chunk.stop !== null;

/** For every pixel column its speaker's colour: the last chunk that has begun there. */
function drawPeaks(paper, look, { width, height, scale }) {
  const middle = height / 2;
  const chunks = state.chapter.chunks.filter(isDrawn);
  const step = 2;
  let next = 0;
  for (let x = 0; x < width; x += step) {
    const [start, stop] = [from + x / scale, from + (x + step) / scale];
    let peak = 0;
    const last = Math.min(
      peaks.length,
      Math.max(Math.ceil(stop * RATE), Math.floor(start * RATE) + 1),
    );
    for (let i = Math.floor(start * RATE); i < last; i++) peak = Math.max(peak, peaks[i]);
    while (next + 1 < chunks.length && chunks[next + 1].start <= start) next++;
    const speaker = chunks[next]?.speakers[0];
    paper.globalAlpha = 0.8;
    paper.fillStyle = look.speakers[speaker ? colorOf(speaker) : 0];
    const half = Math.max(0.5, (peak / 255) ** 1.6 * (middle - 1));
    paper.fillRect(x, middle - half, step - 0.6, 2 * half);
  }
  paper.globalAlpha = 1;
}

function drawMarks(paper, look, { width, height, scale }) {
  const top = height - MARKS + 2;
  paper.fillStyle = look.rule;
  paper.fillRect(0, top + 2, width, 1);
  for (const chunk of state.chapter.chunks) {
    if (!isDrawn(chunk) || chunk.stop < from || chunk.start > from + seen()) continue;
    const x = (chunk.start - from) * scale;
    const wide = Math.max(1, (chunk.stop - chunk.start) * scale);
    if (chunk.reviewed) {
      paper.fillStyle = look.done;
      paper.fillRect(x, top + 1.5, wide, 2);
    }
    if (!isFlagged(chunk) && !isDoubtful(chunk)) continue;
    paper.fillStyle = isFlagged(chunk) ? look.flag : look.doubt;
    if (isFlagged(chunk))
      paper.fillRect(x, top - 1, Math.max(3, wide), 7); // a block
    else triangle(paper, x + Math.min(wide / 2, 4), top - 2);
  }
}

function triangle(paper, x, y) {
  paper.beginPath();
  paper.moveTo(x, y);
  paper.lineTo(x + 4, y + 8);
  paper.lineTo(x - 4, y + 8);
  paper.fill();
}

/** The needle, and from close by the picture beneath it. */
function move() {
  const at = place();
  if (isNear && (at < from + 0.1 * NEAR || at > from + 0.8 * NEAR)) {
    const wanted = Math.max(0, Math.min(at - 0.2 * NEAR, total() - seen()));
    if (Math.abs(wanted - from) > 0.5) {
      from = wanted;
      paint();
    }
  }
  const x = ((at - from) / seen()) * slider.clientWidth;
  needle.style.transform = `translateX(${Math.round(x * 10) / 10}px)`;
}

/** For screen readers: twice a second is more than they can say. */
let spoken = 0;
function label(always = false) {
  const now = performance.now();
  if (!always && now - spoken < 500) return;
  spoken = now;
  slider.setAttribute("aria-valuemax", String(Math.round(total())));
  slider.setAttribute("aria-valuenow", String(Math.round(place())));
  const chunk = state.chapter?.chunks[state.playing];
  const where = chunk ? `, line ${chunk.id}, ${chunk.speakers.join(" and ")}` : "";
  slider.setAttribute("aria-valuetext", `${clock(place())} of ${clock(total())}${where}`);
}

// -- mouse and keys --------------------------------------------------------------------------------

const timeAt = (event) => {
  const box = slider.getBoundingClientRect();
  return from + (Math.max(0, Math.min(box.width, event.clientX - box.left)) / box.width) * seen();
};

let isDragging = false;
slider.addEventListener("pointerdown", (event) => {
  if (event.button || !hasSound()) return;
  isDragging = true;
  slider.setPointerCapture(event.pointerId);
  seek(timeAt(event));
});
slider.addEventListener("pointermove", (event) => {
  if (isDragging) seek(timeAt(event));
  const time = timeAt(event);
  hint.textContent = clock(time);
  const box = slider.getBoundingClientRect();
  hint.style.transform = `translateX(${Math.min(box.width - 44, Math.max(0, event.clientX - box.left - 20))}px)`;
});
for (const name of ["pointerup", "pointercancel"]) {
  slider.addEventListener(name, () => (isDragging = false));
}
slider.addEventListener("keydown", (event) => {
  const steps = {
    ArrowLeft: -5,
    ArrowRight: 5,
    ArrowDown: -5,
    ArrowUp: 5,
    PageDown: -30,
    PageUp: 30,
  };
  let to = null;
  if (event.key in steps) to = place() + steps[event.key];
  else if (event.key === "Home") to = 0;
  else if (event.key === "End") to = total() - 0.5;
  if (to === null || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  seek(to);
  label(true);
});

/** From close by, or the whole chapter. */
export function zoom() {
  isNear = !isNear;
  savePreference("near", isNear);
  from = 0;
  byId("zoom").setAttribute("aria-pressed", String(isNear));
  if (isNear) from = Math.max(0, Math.min(place() - 0.2 * NEAR, total() - seen()));
  paint();
}
byId("zoom").setAttribute("aria-pressed", String(isNear));
byId("zoom").addEventListener("click", zoom);

on("sound", () => {
  from = 0;
  peaks = new Uint8Array();
  load();
  paint();
  label(true);
});
on("chapter", paint);
on("book", paint);
on("time", () => {
  move();
  label(!isPlaying());
});
on("sought", move);
on("look", paint);
new ResizeObserver(paint).observe(slider);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", paint);

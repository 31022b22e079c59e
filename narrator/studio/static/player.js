// The chapter's sound: what is heard, where, how fast. Knows when chunks begin, draws nothing.
//
// The sound that is loaded and the chapter's times may part while a render goes on: `cues` are
// those of the loaded sound. A new sound takes its place in a pause, or between two chunks.

import { addressOf } from "./address.js";
import { byId } from "./dom.js";
import { savePreference, savePlace, preference, lastPlace } from "./preferences.js";
import { openChapter, reloadChapter } from "./loading.js";
import { CODEC_HINT, complain, say } from "./messages.js";
import { choose, emit, on, placeOf, state } from "./store.js";

/** @type {HTMLAudioElement} */
const audio = byId("sound");

/** @type {{ id: string, start: number, stop: number }[]} by start */
let cues = [];
/** @type {any} The chapter whose sound waits for its turn. */
let waiting = null;
let loaded = "";
let loadedSeconds = 0;
/** Where to go as soon as the sound says how long it is. */
let goal = null;
let cue = -1;
/** The last address that could not be read. */
let failed = "";

/** Whether somebody writes about the chosen chunk; the page decides. */
let isWritten = () => false;
/** @param {() => boolean} f */
export const holdWhile = (f) => (isWritten = f);
/** Whether the choice stays where it is while the sound goes on. */
export const isHeld = () => state.held || isWritten();

const RATES = [0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.1, 1.2, 1.3, 1.4, 1.5, 1.75, 2, 2.25, 2.5, 2.75, 3];

export const isPlaying = () => !audio.paused;
export const rate = () => audio.defaultPlaybackRate;
/** Seconds from the chapter's start. */
export const place = () => goal ?? audio.currentTime;
/** Seconds of the loaded sound, as planned: decoders count a little more or less. */
export const length = () => loadedSeconds;
export const hasSound = () => Boolean(loaded);

/** @param {number} value */
export function setRate(value) {
  const next = Math.min(3, Math.max(0.5, value));
  audio.defaultPlaybackRate = next;
  audio.playbackRate = next;
  audio.preservesPitch = true;
  savePreference("rate", next);
  emit("player");
}

/** The next speed up (1) or down (-1). @param {number} step */
export function changeRate(step) {
  const near = RATES.reduce((best, one) =>
    Math.abs(one - rate()) < Math.abs(best - rate()) ? one : best,
  );
  setRate(RATES[Math.max(0, Math.min(RATES.length - 1, RATES.indexOf(near) + step))]);
  say(`Speed ${rate()}`, "speed");
}

/** @param {number} value 0 to 1 */
export function setVolume(value) {
  audio.volume = value;
  savePreference("volume", value);
}

export function pause() {
  audio.pause();
}

export async function play() {
  if (!loaded) {
    say("Nothing of this chapter can be heard yet: render it first.");
    return;
  }
  state.held = false;
  emit("plays");
  try {
    await audio.play();
  } catch (error) {
    if (error.name !== "AbortError")
      complain(audio.error ? unplayable() : `The sound cannot be played: ${error.message}`);
  }
}

const unplayable = () =>
  `The sound of this chapter could not be played.${state.chapter?.sound.kind === "mastered" ? ` ${CODEC_HINT}` : ""}`;

export const toggle = () => (isPlaying() ? pause() : play());

/** @param {number} seconds @param {{ follow?: boolean }} [how] */
export function seek(seconds, { follow = true } = {}) {
  if (waiting) swap();
  const to = Math.max(0, Math.min(seconds, length() || seconds));
  if (audio.readyState) {
    audio.currentTime = to;
    goal = null;
  } else goal = to;
  notice(follow);
  emit("sought");
}

/** Goes to where a chunk begins; whether it can be heard. @param {number} chunk its place */
export function seekChunk(chunk) {
  if (waiting) swap();
  const id = state.chapter?.chunks[chunk]?.id;
  const found = cues.find((one) => one.id === id);
  if (!found) return false;
  seek(found.start);
  return true;
}

/** @param {number} chunk its place */
export async function playFrom(chunk) {
  if (seekChunk(chunk)) await play();
  else say("This cannot be heard yet: it is not rendered.");
}

// -- sound and cues --------------------------------------------------------------------------------

function cuesOf(chapter) {
  return chapter.chunks
    .filter((chunk) => chunk.start !== null && chunk.stop !== null)
    .map(({ id, start, stop }) => ({ id, start, stop }))
    .sort((one, other) => one.start - other.start);
}

function load(chapter, at) {
  waiting = null;
  cues = cuesOf(chapter);
  cue = -1;
  loaded = chapter.sound.kind === "none" ? "" : chapter.sound.url;
  loadedSeconds = chapter.seconds;
  goal = at;
  if (loaded) {
    audio.src = addressOf(loaded);
    audio.playbackRate = rate();
  } else audio.removeAttribute("src");
  emit("sound");
  notice(false);
}

/** The waiting sound takes the place of the old one, at the same word; where its chunk is silent now, at the next. */
function swap() {
  const chapter = waiting;
  const was = cues[cueAt(place())];
  const offset = was ? place() - was.start : 0;
  const isOn = isPlaying();
  const now = was && cuesOf(chapter).find((one) => placeOf(one.id) >= placeOf(was.id));
  const isSame = now?.id === was?.id;
  load(chapter, now ? (isSame ? Math.min(now.start + offset, now.stop) : now.start) : place());
  if (isOn) play();
}

/** The last cue that has begun. @param {number} seconds */
function cueAt(seconds) {
  let [low, high] = [0, cues.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (cues[middle].start <= seconds + 0.03) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

function notice(follow) {
  const now = cueAt(place());
  const isNew = now !== cue;
  cue = now;
  if (isNew && waiting && isPlaying()) {
    swap();
    return;
  }
  const chunk = cues[now] ? placeOf(cues[now].id) : -1;
  if (chunk !== state.playing) {
    const before = state.playing;
    state.playing = chunk;
    emit("playing", { before });
  }
  if (follow && chunk >= 0 && chunk !== state.chosen && !isHeld())
    choose(chunk, { scroll: false });
}

let frame = 0;

function tick() {
  notice(true);
  emit("time");
  frame = isPlaying() ? requestAnimationFrame(tick) : 0;
}

// Frames rest in a tab that is not looked at; the sound does not.
audio.addEventListener("timeupdate", () => notice(isPlaying()));

for (const name of ["play", "pause", "ratechange", "waiting", "playing"]) {
  audio.addEventListener(name, () => emit("player"));
}
audio.addEventListener("play", () => {
  if (!frame) frame = requestAnimationFrame(tick);
});
audio.addEventListener("pause", () => {
  if (waiting) swap();
  remember();
});
audio.addEventListener("seeked", () => emit("time"));
audio.addEventListener("loadedmetadata", () => {
  failed = "";
  if (goal !== null) audio.currentTime = goal;
  goal = null;
  emit("player");
  emit("time");
});
audio.addEventListener("ended", () => {
  const next = state.book?.chapters.find((one) => one.number === state.chapter.number + 1);
  if (next && !isWritten()) openChapter(next.number, { play: true });
});
audio.addEventListener("error", () => {
  if (!loaded || !audio.src) return;
  emit("player");
  if (failed === loaded) complain(unplayable());
  else reloadChapter(); // it sounds otherwise now, or the server was away
  failed = loaded;
});

// -- the chapter -----------------------------------------------------------------------------------

on("opened", (how) => {
  const before = state.book ? lastPlace(state.book) : {};
  const isBack = before.chapter === state.chapter.number && !how.chunk && !how.play;
  load(state.chapter, how.time ?? (isBack ? (before.time ?? 0) : 0));
});
on("arrived", (how) => {
  if (how.time !== undefined) seek(how.time);
  else if (how.chunk) seekChunk(state.chosen);
  if (how.play) play();
});
on("chapter", () => {
  const isSame = state.chapter.sound.url === loaded;
  if (isSame && audio.error) load(state.chapter, place());
  else if (isSame) cues = cuesOf(state.chapter);
  else if (isPlaying()) waiting = state.chapter;
  else {
    waiting = state.chapter;
    swap();
  }
});

function remember() {
  if (!state.book || !state.chapter) return;
  const chunk = state.chapter.chunks[state.chosen]?.id ?? "";
  savePlace(state.book, { chapter: state.chapter.number, chunk, time: place() });
}
on("chosen", () => {
  if (!isPlaying()) remember();
});
setInterval(() => isPlaying() && remember(), 5000);

setRate(preference("rate", 1));
setVolume(preference("volume", 1));

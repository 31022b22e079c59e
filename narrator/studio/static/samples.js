// Short sounds beside the chapter: tries, auditions, drafts of a word. One at a time; while one is
// heard, the chapter waits.

import { addressOf } from "./address.js";
import { byId } from "./dom.js";
import { pause } from "./player.js";
import { emit, on } from "./store.js";
import { complain } from "./messages.js";

/** @type {HTMLAudioElement} */
const audio = byId("sample");

/** What is heard: a try's address, or another name its maker gave. */
let name = "";
let address = "";

export const heardNow = () => (audio.paused ? "" : name);
export const share = () => (audio.duration ? audio.currentTime / audio.duration : 0);

/**
 * @param {string} url @param {string} [as] @param {number} [at] share of it, 0 to 1
 * @param {number} [gain] 0 to 1
 */
export async function playUrl(url, as = url, at = 0, gain = 1) {
  pause();
  audio.volume = gain;
  if (address.startsWith("blob:") && address !== url) URL.revokeObjectURL(address);
  name = as;
  if (address !== url) audio.src = addressOf(url);
  address = url;
  const start = () => (audio.currentTime = at * (audio.duration || 0));
  if (audio.readyState) start();
  else audio.addEventListener("loadedmetadata", start, { once: true });
  try {
    await audio.play();
  } catch (error) {
    if (error.name !== "AbortError") complain(`This cannot be played: ${error.message}`);
  }
  emit("sample");
}

/** @param {Blob} sound @param {string} as */
export const playBlob = (sound, as) => playUrl(URL.createObjectURL(sound), as);

export function stop() {
  audio.pause();
}

for (const event of ["play", "pause", "ended"]) audio.addEventListener(event, () => emit("sample"));
audio.addEventListener("timeupdate", () => emit("sample-time"));
on("plays", stop);

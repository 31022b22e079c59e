// Pictures of short sounds: their wave, and what is loud at which pitch over time. Hiss, clicks and
// another pitch show there.

import { bytes } from "./api.js";

const RATE = 16000;
/** Samples of a spectrum, and from one to the next. */
const [WINDOW, HOP] = [512, 256];
/** dB from the loudest to the softest that a spectrogram shows. */
const DEPTH = 65;

let decoder = null;

/** The first channel. @param {string} url */
async function samplesOf(url) {
  decoder ??= new OfflineAudioContext(1, 1, RATE);
  return (await decoder.decodeAudioData(await bytes(url))).getChannelData(0);
}

// -- waves -----------------------------------------------------------------------------------------

/** @type {Map<string, Float32Array>} */
const waves = new Map();

async function waveOf(url) {
  const known = waves.get(url);
  if (known) return known;
  const samples = await samplesOf(url);
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

/** @param {HTMLCanvasElement} canvas @param {string} url */
export async function drawWave(canvas, url) {
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

// -- spectrograms ----------------------------------------------------------------------------------

/**
 * Draws sounds over one scale of time, up to 8 kHz. Nothing is drawn where one cannot be decoded.
 * @param {HTMLCanvasElement[]} canvases @param {string[]} urls
 */
export async function drawSpectrograms(canvases, urls) {
  let sounds;
  try {
    sounds = await Promise.all(urls.map(samplesOf));
  } catch {
    return;
  }
  const length = Math.max(...sounds.map((samples) => samples.length));
  canvases.forEach((canvas, i) => drawSpectrogram(canvas, sounds[i], length));
}

function drawSpectrogram(canvas, samples, length) {
  const paper = canvas.getContext("2d");
  if (!paper) return;
  const { width, height } = canvas;
  const levels = new Float32Array(width * height); // the loudest of what falls together
  let top = 1e-9;
  for (let start = 0; start + WINDOW <= samples.length; start += HOP) {
    const column = Math.min(width - 1, Math.floor((start / length) * width));
    const powers = spectrum(samples.subarray(start, start + WINDOW));
    powers.forEach((power, bin) => {
      const cell = column * height + Math.floor((bin / powers.length) * height);
      levels[cell] = Math.max(levels[cell], power);
      top = Math.max(top, power);
    });
  }
  paper.clearRect(0, 0, width, height);
  paper.fillStyle = getComputedStyle(canvas).color;
  levels.forEach((power, cell) => {
    const share = 1 + (10 * Math.log10(power / top + 1e-12)) / DEPTH;
    if (share <= 0) return;
    paper.globalAlpha = share;
    paper.fillRect(Math.floor(cell / height), height - 1 - (cell % height), 1, 1);
  });
}

const hann = Float32Array.from({ length: WINDOW }, (_, i) => 0.5 - 0.5 * Math.cos((2 * Math.PI * i) / WINDOW));

/** Powers from 0 Hz to half the rate, by an FFT of radix 2. @param {Float32Array} samples */
function spectrum(samples) {
  const real = new Float32Array(WINDOW);
  const imaginary = new Float32Array(WINDOW);
  for (let i = 0, place = 0; i < WINDOW; i++) {
    real[place] = samples[i] * hann[i];
    let bit = WINDOW >> 1;
    for (; place & bit; bit >>= 1) place ^= bit; // the next place with its bits in reverse
    place |= bit;
  }
  for (let size = 2; size <= WINDOW; size *= 2) {
    const half = size / 2;
    for (let k = 0; k < half; k++) {
      const [cosine, sine] = [Math.cos((2 * Math.PI * k) / size), -Math.sin((2 * Math.PI * k) / size)];
      for (let i = k; i < WINDOW; i += size) {
        const [re, im] = [real[i + half] * cosine - imaginary[i + half] * sine, real[i + half] * sine + imaginary[i + half] * cosine];
        [real[i + half], imaginary[i + half]] = [real[i] - re, imaginary[i] - im];
        [real[i], imaginary[i]] = [real[i] + re, imaginary[i] + im];
      }
    }
  }
  return real.subarray(0, WINDOW / 2).map((re, i) => re * re + imaginary[i] * imaginary[i]);
}

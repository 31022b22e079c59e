// Figures as words: times, counts, shares.

const two = (number) => String(number).padStart(2, "0");

/** Seconds as 2:43 or 1:02:43. @param {number} seconds */
export function clock(seconds) {
  const all = Math.max(0, Math.floor(seconds));
  const [hours, minutes, rest] = [Math.floor(all / 3600), Math.floor(all / 60) % 60, all % 60];
  return hours ? `${hours}:${two(minutes)}:${two(rest)}` : `${minutes}:${two(rest)}`;
}

/** Seconds as people say them: 40 s, 3 min, 2 h 10 min. @param {number} seconds */
export function span(seconds) {
  if (seconds < 90) return `${Math.max(1, Math.round(seconds))} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 60) return `${minutes} min`;
  const rest = minutes % 60;
  return rest ? `${Math.floor(minutes / 60)} h ${rest} min` : `${Math.floor(minutes / 60)} h`;
}

/**
 * An estimated time, in steps so coarse that it stands still while it holds: 40 s, 3 min, 1 h 20 min.
 * @param {number} seconds
 */
export function roughly(seconds) {
  if (seconds <= 50) return `${Math.max(10, Math.ceil(seconds / 10) * 10)} s`;
  const minutes = Math.round(seconds / 60);
  const step = minutes < 10 ? 1 : minutes < 60 ? 5 : 10;
  const rounded = Math.round(minutes / step) * step;
  return rounded < 2 ? "1 min" : span(60 * rounded);
}

/** What is left of some work, after a comma; nothing while too little was measured. @param {number | null} [seconds] */
export function timeLeft(seconds) {
  if (seconds === null || seconds === undefined) return "";
  return seconds < 10 ? ", a few seconds left" : `, ${roughly(seconds)} left`;
}

/** Tells every second how long something takes, in words; returns what ends it. @param {(time: string) => void} tell */
export function stopwatch(tell) {
  const begin = performance.now();
  const timer = setInterval(() => tell(span((performance.now() - begin) / 1000)), 1000);
  return () => clearInterval(timer);
}

/** How much of some work is done, 0 to 1. @param {{ done: number, of: number } | null} [progress] */
export const doneShare = (progress) => (progress?.of ? Math.min(1, progress.done / progress.of) : 0);

/** @param {string} words */
export const capitalized = (words) => words[0].toUpperCase() + words.slice(1);

/** 1 line, 1,200 lines. @param {number} number @param {string} thing */
export const counted = (number, thing) => `${grouped(number)} ${thing}${number === 1 ? "" : "s"}`;

/** @param {number} number */
export const grouped = (number) => number.toLocaleString("en-US");

/** @param {number} share of 1 */
export const percent = (share) =>
  share > 0 && share < 0.01 ? "under 1 %" : `${Math.round(share * 100)} %`;

const SETTINGS = { cfg: "guidance", style: "style", steps: "steps", speed: "speed" };

/** What a setting of an engine is called. @param {string} name */
export const settingName = (name) => SETTINGS[name] ?? name;

const MODES = {
  "zero-shot": "",
  reference: "spoken from a sample of the voice",
  anchored: "goes on from the line before, with a sample of the voice",
  continuation: "goes on from the line before",
};

/** What a take had besides its text. @param {string} mode */
export const modeWords = (mode) => MODES[mode] ?? mode;

/** The first words of a text. @param {string} text @param {number} length */
export const shortened = (text, length = 60) =>
  text.length > length ? `${text.slice(0, length - 1).trimEnd()}…` : text;

/** "12:34", "1:02:03" or "754" -> seconds; null for other words. @param {string} words */
export function seconds(words) {
  if (!/^\d+(:[0-5]?\d){0,2}(\.\d+)?$/.test(words.trim())) return null;
  return words
    .trim()
    .split(":")
    .reduce((sum, part) => sum * 60 + Number(part), 0);
}

const STAGES = {
  "measure music": "Measuring the music",
  encode: "Encoding",
  files: "Writing the files",
  check: "Checking the files",
};

/** What a stage of making files is called, of which share and time left are said; "" for others. @param {string} [phase] */
export const stageName = (phase) => STAGES[phase] ?? "";

const STATES = {
  good: "good",
  doubtful: "doubtful",
  missing: "not rendered yet",
  "given up": "given up",
  stale: "to be rendered again",
};

/** What a chunk's state is called. @param {string} state */
export const stateWords = (state) => STATES[state] ?? state;

/** "today", "yesterday", "5 days ago", or a date. @param {number} seconds since 1970 */
export function since(seconds) {
  const midnight = new Date().setHours(0, 0, 0, 0);
  const days = Math.ceil((midnight - seconds * 1000) / 86_400_000);
  if (days <= 0) return "today";
  if (days === 1) return "yesterday";
  return days < 30 ? `${days} days ago` : new Date(seconds * 1000).toLocaleDateString("en-GB", { dateStyle: "medium" });
}

/** A size as 900 B, 12 kB, 3.4 MB. @param {number} size */
export function sizeWords(size) {
  for (const unit of ["B", "kB", "MB"]) {
    if (size < 1000) return `${size.toFixed(unit === "MB" && size < 10 ? 1 : 0)} ${unit}`;
    size /= 1000;
  }
  return `${size.toFixed(1)} GB`;
}

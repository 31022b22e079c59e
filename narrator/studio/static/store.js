// What the page knows, and who wants to hear of changes. Asks nothing of the server, draws nothing.

/**
 * @typedef {{ note: string, done: boolean, who?: string }} Flag
 * @typedef {{
 *   id: string, key: string, speakers: string[], style: string, text: string, heading: number,
 *   paragraph: number, scene: number, source: string, start: number | null, stop: number | null,
 *   state: string, why: string, faults: string[], pinned: boolean, reviewed: boolean,
 *   flags: Flag[], sure: number | null, also?: string[], pending?: boolean,
 *   script: { lang: string, dir: string } | null
 * }} Chunk
 * @typedef {{
 *   version: number, number: number, title: string, seconds: number,
 *   sound: { kind: string, url: string, label: string }, chunks: Chunk[]
 * }} Chapter
 */

/** Of speakers, with that of ink. */
export const COLORS = 12;

export const state = {
  /** @type {any} What /api/book says. */
  book: null,
  /** @type {Chapter | null} The open chapter. */
  chapter: null,
  /** The chunk that keys and the inspector are about: its place in the chapter's list. */
  chosen: -1,
  /** The chunk that is heard, or would be. */
  playing: -1,
  /** Whether the choice stays where it is while the sound goes on, as somebody is at work there. */
  held: false,
  /** Whether the chosen chunk's voice can read it in another way. */
  retakes: true,
  /** Chosen chunks, or words, beside the one. @type {import("./stretch.js").Stretch | null} */
  stretch: null,
  /** Whether a voice of the book takes phonemes. */
  takesPhonemes: false,
};

/** @type {Map<string, Set<(detail: any) => void>>} */
const listeners = new Map();

/**
 * Returns a function that ends it. Among the topics: book, opened (another chapter), chapter (the
 * same one has changed), chosen, playing, player, jobs, link, edited, retaken; and event:TYPE, an event
 * of the server.
 * @param {string} topic @param {(detail: any) => void} listener
 */
export function on(topic, listener) {
  if (!listeners.has(topic)) listeners.set(topic, new Set());
  listeners.get(topic)?.add(listener);
  return () => listeners.get(topic)?.delete(listener);
}

/** @param {string} topic @param {unknown} [detail] */
export function emit(topic, detail) {
  for (const listener of listeners.get(topic) ?? []) listener(detail);
}

/** @returns {Chunk | null} */
export const chosenChunk = () => state.chapter?.chunks[state.chosen] ?? null;

/** @param {string} id @returns {number} its place in the open chapter, or -1 */
export const placeOf = (id) => places.get(id) ?? -1;

/** @type {Map<string, number>} */
let places = new Map();

/** @param {Chapter | null} chapter */
export function setChapter(chapter) {
  state.chapter = chapter;
  places = new Map();
  chapter?.chunks.forEach((chunk, place) => {
    for (const id of [chunk.id, ...(chunk.also ?? [])]) places.set(id, place);
  });
}

/** @param {number} place @param {{ scroll?: boolean, focus?: boolean }} [how] */
export function choose(place, { scroll = true, focus = false } = {}) {
  const last = state.chapter ? state.chapter.chunks.length - 1 : -1;
  const next = Math.max(0, Math.min(last, place));
  if (last < 0) return;
  const before = state.chosen;
  state.chosen = next;
  emit("chosen", { before, scroll, focus });
}

/** Language and direction of a chunk, else of the book, as attributes. @param {Chunk | null} [chunk] */
export const scriptOf = (chunk) => chunk?.script ?? state.book?.script ?? {};

/** @param {Chunk} chunk */
export const isFlagged = (chunk) => chunk.flags.some((flag) => !flag.done);

/** @param {Chunk} chunk */
export const isDoubtful = (chunk) => chunk.state === "doubtful" || chunk.state === "given up";

/** @type {Map<string, number>} Who has which colour for as long as the page is open. */
const colors = new Map();

/** The server gives colours by share, which edits change: here they stay. @param {any} book */
export function setBook(book) {
  state.book = book;
  for (const { name, color } of book.speakers) {
    if (!colors.has(name)) colors.set(name, color ? free(color) : color);
  }
}

/** A colour that nobody has, the wanted one if it can be. @param {number} wanted */
function free(wanted) {
  const taken = new Set(colors.values());
  if (!taken.has(wanted)) return wanted;
  for (let color = 1; color < COLORS; color++) if (!taken.has(color)) return color;
  return wanted;
}

/** The number of a speaker's colour; 0 is that of ink. @param {string} name */
export const colorOf = (name) => colors.get(name) ?? 0;

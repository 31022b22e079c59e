// Book and chapter from the server into the store, again whenever it says that they have changed.

import { get } from "./api.js";
import { complain } from "./messages.js";
import { choose, emit, on, placeOf, setBook, setChapter, state } from "./store.js";

/** A function that runs once at a time, and once more where it was asked meanwhile. */
export function once(work, pause) {
  let running = false;
  let again = false;
  return async function run() {
    if (running) {
      again = true;
      return;
    }
    running = true;
    const began = performance.now();
    try {
      await work();
    } catch (error) {
      complain(error);
    }
    // What takes long is asked for less often.
    const rest = Math.max(pause, 4 * (performance.now() - began));
    setTimeout(() => {
      running = false;
      if (again) {
        again = false;
        run();
      }
    }, rest);
  };
}

export const loadBook = once(async () => {
  const before = state.book?.trouble;
  setBook(await get("/api/book"));
  const { trouble } = state.book;
  if (trouble && trouble !== before) complain(trouble);
  emit("book");
}, 400);

export const reloadChapter = once(async () => {
  const number = state.chapter?.number;
  if (!number) return;
  receive(await get(`/api/chapters/${number}`));
}, 700);

/** The open chapter as the server gave it last. @type {import("./store.js").Chapter | null} */
let rows = null;
/**
 * Edits on their way, which are shown already: each makes of a chapter what it will be.
 * @type {Set<(chapter: import("./store.js").Chapter) => import("./store.js").Chapter>}
 */
const changes = new Set();

const withChanges = (chapter) => [...changes].reduce((shown, change) => change(shown), chapter);

/** Shows newer rows of the open chapter. @param {import("./store.js").Chapter} chapter */
export function receive(chapter) {
  if (state.chapter?.number !== chapter.number || chapter.version < rows.version) return;
  rows = chapter;
  take(withChanges(rows));
}

/**
 * Shows a change of the open chapter until `work` is done, which gives the server's rows.
 * @param {(chapter: import("./store.js").Chapter) => import("./store.js").Chapter} change
 * @param {() => Promise<{ chapter?: import("./store.js").Chapter }>} work
 */
export async function showMeanwhile(change, work) {
  changes.add(change);
  take(withChanges(rows));
  let answer;
  try {
    answer = await work();
  } finally {
    changes.delete(change);
    if (!answer?.chapter || answer.chapter.number !== rows.number) take(withChanges(rows));
    else receive(answer.chapter);
  }
}

function take(chapter) {
  const before = state.chapter.chunks;
  const [chosen, playing] = [before[state.chosen], before[state.playing]];
  setChapter(chapter);
  const keys = new Map(chapter.chunks.map((chunk, place) => [chunk.key, place]));
  const again = (chunk) => chunk && (keys.get(chunk.key) ?? at(placeOf(chunk.id)));
  const at = (place) => (place < 0 ? undefined : place);
  state.playing = again(playing) ?? -1;
  const place = again(chosen) ?? Math.min(state.chosen, chapter.chunks.length - 1);
  state.chosen = place;
  emit("chapter", { before });
  choose(place, { scroll: false });
}

/** Counts calls, so that of two chapters the one opened last stays. */
let opened = 0;

/**
 * @param {number} number
 * @param {{ chunk?: string, time?: number, play?: boolean, focus?: boolean }} [how]
 */
export async function openChapter(number, how = {}) {
  const mine = ++opened;
  if (state.chapter?.number === number) {
    arrive(how);
    return;
  }
  try {
    const chapter = await get(`/api/chapters/${number}`);
    if (mine !== opened) return;
    state.playing = -1;
    state.chosen = -1;
    rows = chapter;
    setChapter(withChanges(rows));
    emit("opened", how);
    arrive(how);
  } catch (error) {
    complain(error);
  }
}

function arrive(how) {
  const place = how.chunk ? placeOf(how.chunk) : -1;
  if (place >= 0 || state.chosen < 0) choose(Math.max(0, place), { focus: how.focus });
  if (how.time !== undefined || how.play || how.chunk) emit("arrived", how);
}

/** Goes to a chunk of any chapter. @param {string} id @param {{ play?: boolean }} [how] */
export const goTo = (id, how = {}) => openChapter(Number(id.split(".")[0]), { chunk: id, ...how });

on("event:book", (event) => {
  if (event.busy && state.book) {
    state.book.busy = event.busy;
    emit("busy");
    return;
  }
  loadBook();
  if (rows && event.version > rows.version) reloadChapter();
});
on("event:chapter", (event) => {
  loadBook(); // its figures
  if (event.number === state.chapter?.number) reloadChapter();
});
on("listening", () => {
  loadBook(); // what was said while nobody listened
  if (rows) rows = { ...rows, version: 0 }; // a new server counts from the beginning
  reloadChapter();
});

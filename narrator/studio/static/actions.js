// What is done to the chosen chunk without a question: reviewed, spoken again, pinned; undo, redo.

import { post } from "./api.js";
import { loadBook, reloadChapter } from "./loading.js";
import { complain, say } from "./messages.js";
import { isPlaying, seekChunk } from "./player.js";
import { choose, chosenChunk, emit, isDoubtful, isFlagged, state } from "./store.js";
import { counted } from "./words.js";

/** Runs it and says what went wrong. @template T @param {() => Promise<T>} work */
export async function attempt(work) {
  try {
    return await work();
  } catch (error) {
    complain(error);
    return undefined;
  }
}

/** Sends an edit and says what it did. @param {any} edit @returns {Promise<any>} */
export async function sendEdit(edit) {
  const { what } = await post("/api/edits", edit);
  say(what);
  emit("edited");
  loadBook();
  reloadChapter();
}

const travel = (path, word) => async () => {
  await attempt(async () => {
    const { what } = await post(path);
    say(
      what ? `${word}: ${what}` : `Nothing to ${word === "Undone" ? "undo" : "do again"}`,
      "travel",
    );
    emit("edited");
    loadBook();
    reloadChapter();
  });
};
export const undo = travel("/api/undo", "Undone");
export const redo = travel("/api/redo", "Done again");

/** @param {any} job */
export const submit = (job) =>
  attempt(() => post("/api/jobs", { draft: state.book.draft, ...job }));

/** @param {number} count */
export async function speakAgain(count = 1) {
  const chunk = chosenChunk();
  if (!chunk) return;
  if (state.retakes === false) {
    say("This voice reads a text in one way: another take would be the same");
    return;
  }
  say(`${chunk.id} is to be spoken again${count > 1 ? `, ${count} times` : ""}`, "job");
  await submit({ kind: "retake", chunks: [chunk.id], count });
}

/** @param {number} number of the try */
export async function pin(number) {
  const chunk = chosenChunk();
  if (chunk && (await submit({ kind: "pin", chunks: [chunk.id], number }))) {
    say(`Take ${number} of ${chunk.id} is pinned`);
  }
}

export async function unpin() {
  const chunk = chosenChunk();
  if (chunk && (await submit({ kind: "unpin", chunks: [chunk.id] })))
    say(`${chunk.id} is not pinned any more`);
}

/** Marks the chosen chunk, or takes the mark away. @param {boolean} [goesOn] to the next one */
export async function review(goesOn = true) {
  const chunk = chosenChunk();
  if (!chunk) return;
  const yes = !chunk.reviewed;
  await attempt(async () => {
    await post("/api/reviewed", { chunks: [chunk.id], yes });
    chunk.reviewed = yes; // at once; the server's word follows
    if (yes && goesOn && !isPlaying()) step(1);
    reloadChapter();
    loadBook();
  });
}

/** Marks all that was heard of the chapter, up to the chosen chunk, but for what is flagged. */
export async function reviewToHere() {
  const heard = state.chapter?.chunks.slice(0, state.chosen + 1) ?? [];
  const chunks = heard
    .filter((one) => one.start !== null && !one.reviewed && !isFlagged(one))
    .map((one) => one.id);
  const mark = (yes) =>
    attempt(async () => {
      await post("/api/reviewed", { chunks, yes });
      reloadChapter();
      loadBook();
      return true;
    });
  if (!chunks.length) say("All up to here is reviewed, but for what is flagged", "reviewed");
  else if (await mark(true)) {
    say(`${counted(chunks.length, "chunk")} reviewed`, "reviewed", {
      words: "Take back",
      run: () => mark(false),
    });
  }
}

// -- going about -----------------------------------------------------------------------------------

/** The next chunk or the one before; the sound goes along. @param {number} by */
export function step(by) {
  state.held = false;
  goToPlace(state.chosen + by);
}

/** @param {number} place */
export function goToPlace(place) {
  const last = state.chapter ? state.chapter.chunks.length - 1 : -1;
  if (last < 0) return;
  const to = Math.max(0, Math.min(last, place));
  choose(to);
  seekChunk(to);
}

/** The next chunk that somebody should hear. @param {number} by 1 or -1 */
export function nextDoubtful(by = 1) {
  const chunks = state.chapter?.chunks ?? [];
  const from = state.chosen;
  for (let i = 1; i <= chunks.length; i++) {
    const place = (from + by * i + chunks.length) % chunks.length;
    if (!isDoubtful(chunks[place]) && !isFlagged(chunks[place])) continue;
    state.held = false;
    goToPlace(place);
    if (by > 0 ? place <= from : place >= from)
      say("Round again: the rest of the chapter has none");
    return;
  }
  const other = state.book?.chapters.find((one) => one.doubtful || one.flagged);
  say(`Nothing here is doubtful or flagged${other ? `; chapter ${other.number} has some` : ""}`);
}

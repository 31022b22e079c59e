// What is done to the chosen chunk without a question: reviewed, spoken again, pinned; and what was
// done, in its order, to be undone and done again.

import { post } from "./api.js";
import { loadBook, receive, reloadChapter } from "./loading.js";
import { complain, say } from "./messages.js";
import { isPlaying, seekChunk } from "./player.js";
import { choose, chosenChunk, emit, isDoubtful, isFlagged, state } from "./store.js";
import { counted, shortened } from "./words.js";

/** Runs it and says what went wrong. @template T @param {() => Promise<T>} work */
export async function attempt(work) {
  try {
    return await work();
  } catch (error) {
    complain(error);
    return undefined;
  }
}

/** Edits, undone and done again one after another, in the order of the keys. */
let travelling = Promise.resolve();

/**
 * Sends an edit, after those before it, and says what it did.
 * @param {any} edit or a function that gives it once it is its turn @returns {Promise<any>}
 */
export function sendEdit(edit) {
  const sent = travelling.then(async () => {
    const answer = await changeFiles("/api/edits", typeof edit === "function" ? edit() : edit);
    if (answer.changed) note(EDIT);
    say(answer.what);
    refresh(true, answer);
    return answer;
  });
  travelling = sent.then(
    () => undefined,
    () => undefined,
  );
  return sent;
}

/** Changes the book's files; the open chapter comes back as it is now. */
async function changeFiles(path, body = {}) {
  const answer = await post(path, { ...body, shown: state.chapter?.number });
  ways = answer;
  return answer;
}

/**
 * @param {boolean} isEdited whether the book's own files are other ones now
 * @param {any} [answer] with the chapter as it is now, if the server has read it: the rest follows
 */
function refresh(isEdited, answer) {
  if (isEdited) emit("edited", answer?.version ?? state.book.version);
  if (answer?.chapter) {
    receive(answer.chapter);
    return;
  }
  loadBook();
  reloadChapter();
}

// -- undo ------------------------------------------------------------------------------------------

/**
 * @typedef {{ what: string, back: () => Promise<unknown>, again: () => Promise<unknown> }} Deed
 * Something that was done on this page, and how it is taken back. Edits of files are the server's,
 * which keeps them for other days: EDIT stands for one in the order of things.
 */
/** @type {Deed} */
const EDIT = {
  what: "",
  back: () => changeFiles("/api/undo"),
  again: () => changeFiles("/api/redo"),
};
/**
 * What the server would undo and do again since the last edit: until the book has been read with it.
 * @type {{ version: number, undo: string | null, redo: string | null } | null}
 */
let ways = null;
/** @type {Deed[]} */
const done = [];
/** @type {Deed[]} */
const undone = [];

/** @param {Deed} deed */
function note(deed) {
  done.push(deed);
  undone.length = 0;
  emit("deeds");
}

/**
 * Does something that can be undone; said with a way back. Whether it was done.
 * @param {Deed} deed @param {string} [words] for the message, if any
 */
export async function act(deed, words) {
  await deed.again();
  note(deed);
  refresh(false);
  if (words) say(words, "travel", { words: "Undo", run: () => takeBack(deed) });
}

async function takeBack(deed) {
  const place = done.lastIndexOf(deed);
  if (place < 0) return; // it was undone by its key
  done.push(...done.splice(place, 1));
  await undo();
}

/** What would be undone, or done again. @returns {{ undo: string, redo: string }} */
export function travels() {
  const { version = 0, undo = null, redo = null } = state.book ?? {};
  const edits = ways && version <= ways.version ? ways : { undo: undo?.what, redo: redo?.what };
  return { undo: done.at(-1)?.what || edits.undo || "", redo: undone.at(-1)?.what || edits.redo || "" };
}

const travel = (from, to, way, word) => () => {
  travelling = travelling.then(() =>
    attempt(async () => {
      if (!from.length && !travels()[way === "back" ? "undo" : "redo"])
        return say(`Nothing to ${way === "back" ? "undo" : "do again"}`, "travel");
      const known = from.pop();
      const deed = known ?? EDIT;
      let answer;
      try {
        answer = await deed[way]();
      } catch (error) {
        if (known && !(error.status < 500)) from.push(known); // the server cannot now, but may
        throw error;
      }
      to.push(deed);
      say(`${word}: ${deed.what || answer.what}`, "travel");
      emit("deeds");
      refresh(deed === EDIT, answer);
    }),
  );
  return travelling;
};
export const undo = travel(done, undone, "back", "Undone");
export const redo = travel(undone, done, "again", "Done again");

// -- the chosen chunk ------------------------------------------------------------------------------

/** Jobs that were submitted here, by id. */
const own = new Set();

/** @param {any} job */
export const submit = (job) =>
  attempt(async () => {
    const answer = await post("/api/jobs", { draft: state.book.draft, ...job });
    own.add(answer.job.id);
    return answer;
  });

/** Why a chunk cannot be spoken again. */
export function oneReading() {
  const { draft, can } = state.book;
  const mend = draft && can.model ? ": choose the model at the top" : "";
  return `${draft ? "The draft voice" : "This voice"} has one reading of a text, and another take would be the same${mend}.`;
}

/** Whether a render would speak a chunk. @param {{state: string}} chunk */
export const isUnspoken = ({ state: its }) => !["good", "doubtful"].includes(its);

/** A voice with one reading of a text speaks what its chapter lacks. */
async function speakChapter() {
  const { number } = state.chapter;
  say(`What chapter ${number} lacks is to be spoken`, "job");
  await submit({ kind: "render", chapters: [String(number)] });
}

/** @param {number} count */
export async function speakAgain(count = 1) {
  const chunk = chosenChunk();
  if (!chunk) return;
  if (state.retakes === false) {
    if (isUnspoken(chunk)) await speakChapter();
    else say(oneReading());
    return;
  }
  say(`${chunk.id} is to be spoken again${count > 1 ? `, ${count} times` : ""}`, "job");
  await submit({ kind: "retake", chunks: [chunk.id], count });
}

/** @param {number} number of the try @param {number} [before] of the one that was pinned */
export async function pin(number, before) {
  const chunk = chosenChunk();
  if (chunk) await pinning(chunk.id, number, before, `Pinning take ${number} of ${chunk.id}`);
}

/** @param {number} [before] of the try that is pinned */
export async function unpin(before) {
  const chunk = chosenChunk();
  if (chunk) await pinning(chunk.id, undefined, before, `Unpinning ${chunk.id}`);
}

/** Pins a take of any chunk; true if that was done. @param {string} id @param {number} number */
export const pinAs = (id, number, what) => pinning(id, number, undefined, what);

/** @returns {Deed} The pin of a chunk; `before` is the take that was pinned, if any. */
function pinDeed(id, number, before, what) {
  const put = (to) => () =>
    post("/api/jobs", {
      draft: state.book.draft,
      chunks: [id],
      ...(to === undefined ? { kind: "unpin" } : { kind: "pin", number: to }),
    }).then(() => undefined);
  return { what, back: put(before), again: put(number) };
}

function pinning(id, number, before, what) {
  return attempt(async () => {
    await act(pinDeed(id, number, before, what), what);
    return true;
  });
}

/** The pins of retakes that were asked for here can be undone. @param {string} job @param {any[]} rows */
export function noteRetaken(job, rows) {
  if (!own.delete(job)) return;
  for (const { id, pinned, replaced } of rows)
    if (pinned !== null) note(pinDeed(id, pinned, replaced ?? undefined, `Take ${pinned} of ${id} is pinned`));
}

/** Marks the chosen chunk, or takes the mark away. @param {boolean} [goesOn] to the next one */
export async function review(goesOn = true) {
  const chunk = chosenChunk();
  if (!chunk) return;
  const yes = !chunk.reviewed;
  await attempt(async () => {
    await act(marking([chunk.id], yes, `${chunk.id} is ${yes ? "" : "not "}reviewed`));
    chunk.reviewed = yes; // at once; the server's word follows
    if (yes && goesOn && !isPlaying()) step(1);
  });
}

/** @returns {Deed} */
function marking(chunks, yes, what) {
  const mark = (as) => () => post("/api/reviewed", { chunks, yes: as }).then(() => undefined);
  return { what, back: mark(!yes), again: mark(yes) };
}

/** Marks all that was heard of the chapter, up to the chosen chunk, but for what is flagged. */
export async function reviewToHere() {
  const heard = state.chapter?.chunks.slice(0, state.chosen + 1) ?? [];
  const chunks = heard
    .filter((one) => one.start !== null && !one.reviewed && !isFlagged(one))
    .map((one) => one.id);
  const what = `${counted(chunks.length, "line")} reviewed`;
  if (!chunks.length) say("All up to here is reviewed, but for what is flagged", "reviewed");
  else await attempt(() => act(marking(chunks, true, what), what));
}

/** Flags that are new. @param {{ chunk: string, note: string }[]} flags @returns {Deed} */
export function flagging(flags, what) {
  /** Those that were not on the list before: they alone are taken back. */
  let added = [];
  return {
    what,
    back: () => post("/api/flags/gone", { flags: added }).then(() => undefined),
    again: async () => {
      added = [];
      for (const one of flags) if ((await post("/api/flags", one)).added) added.push(one);
    },
  };
}

/** A flag done, or still to do. @param {{ chunk: string, note: string }} flag @returns {Promise<unknown>} */
export function tick({ chunk, note: words }, isDone) {
  const put = (done) => () =>
    post("/api/flags/done", { chunk, note: words, done }).then(() => undefined);
  const what = `“${shortened(words, 40)}” is ${isDone ? "done" : "to do again"}`;
  return attempt(() => act({ what, back: put(!isDone), again: put(isDone) }, what));
}

// -- going about -----------------------------------------------------------------------------------

/** The next chunk or the one before; the sound goes along. @param {number} by */
export function step(by) {
  state.held = false;
  goToPlace(state.chosen + by);
}

/** @param {number} place */
function goToPlace(place) {
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

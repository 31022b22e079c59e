// What is done to the chosen chunk without a question: reviewed, spoken again, pinned; and what was
// done, in its order, to be undone and redone.

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

/** What is done, undone and done again, one after another in the order of the keys. */
let pendingWork = Promise.resolve();

/** @template T @param {() => Promise<T>} work @returns {Promise<T>} */
function inTurn(work) {
  const answer = pendingWork.then(work);
  pendingWork = answer.then(
    () => undefined,
    () => undefined,
  );
  return answer;
}

/**
 * Sends an edit, after those before it, and says what it did.
 * @param {any} edit or a function that gives it once it is its turn @returns {Promise<any>}
 */
export const sendEdit = (edit) =>
  inTurn(async () => {
    const answer = await changeFiles("/api/edits", typeof edit === "function" ? edit() : edit);
    const command = { ...EDIT };
    if (answer.changed) {
      record(command);
      announce(command, answer.what);
    } else say(answer.what, "history");
    refresh(true, answer);
    return { ...answer, command };
  });

/** Changes the book's files; the open chapter comes back as it is now. */
async function changeFiles(path, body = {}) {
  const answer = await post(path, { ...body, shown: state.chapter?.number });
  serverHistory = answer;
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
 * @typedef {{ what: string, revert: () => Promise<unknown>, apply: () => Promise<unknown>, at?: number,
 *   isEdit?: boolean, topic?: string, dismiss?: () => void }} Command
 * Something that was done on this page, and how it is reverted and applied again. Edits of files are the server's,
 * which keeps them for other days: EDIT stands for one in the order of things. `at` counts the jobs that
 * were asked for before; `dismiss` takes away its message, which has the topic `topic`.
 */
/** @type {Command} */
const EDIT = {
  what: "",
  isEdit: true,
  revert: () => changeFiles("/api/undo"),
  apply: () => changeFiles("/api/redo"),
};
/**
 * What the server would undo and redo since the last edit: until the book has been read with it.
 * @type {{ version: number, undo: string | null, redo: string | null } | null}
 */
let serverHistory = null;
/** @type {Command[]} */
const undoStack = [];
/** @type {Command[]} */
const redoStack = [];
/** Whether edits that were undone can be redone, though this page has none on its list. */
let canRedoOlder = true;

/** Puts a command on the undo stack, before the pins that were asked for after it. @param {Command} command */
function record(command) {
  let place = undoStack.length;
  while (place && undoStack[place - 1].at > command.at) place--;
  undoStack.splice(place, 0, command);
  redoStack.length = 0;
  canRedoOlder = false;
  emit("history");
}

/**
 * Moves a command that did not happen to where it was, or off the stacks.
 * @param {Command} command @param {Command[]} from @param {Command[]} [to]
 */
function putBack(command, from, to) {
  const place = from.lastIndexOf(command);
  if (place < 0) return;
  from.splice(place, 1);
  to?.push(command);
  emit("history");
}

/**
 * Does something that can be undone, after what is on its way, and says so with a way back.
 * @param {Command} command @param {string} [words] for the message, if any
 * @returns {Promise<() => Promise<unknown>>} takes it back
 */
export function act(command, words) {
  return inTurn(async () => {
    await command.apply();
    record(command);
    refresh(false);
    if (words) announce(command, words);
    return () => takeBack(command);
  });
}

/** Takes away the message about the last command. */
let dismissLast = () => {};

/**
 * Says what a command did, with the way back, in the place of what was said of the one before;
 * nothing where it was undone meanwhile.
 * @param {Command} command @param {string} words @param {...{ words: string, run: () => unknown }} actions
 */
export function announce(command, words, ...actions) {
  if (!undoStack.includes(command)) return;
  const undoIt = { words: "Undo", run: () => takeBack(command) };
  dismissLast();
  dismissLast = command.dismiss = say(words, command.topic ?? "history", ...actions, undoIt);
}

/** Takes back what may not have been done last; after an edit its chunk may have another name. */
async function takeBack(command) {
  const place = undoStack.lastIndexOf(command);
  if (place < 0) return; // it was undone by its key
  const later = undoStack.slice(place + 1);
  if (command.isEdit ? later.length : later.some((one) => one.isEdit)) {
    say(`${command.isEdit ? "Something came after it: undo that" : "Edits came after it: undo them"} first`, "history");
    return;
  }
  undoStack.push(...undoStack.splice(place, 1));
  await undo();
}

/** What would be undone, or redone. @returns {{ undo: string, redo: string }} */
export function undoState() {
  const { version = 0, undo = null, redo = null } = state.book ?? {};
  const edits = serverHistory && version <= serverHistory.version ? serverHistory : { undo: undo?.what, redo: redo?.what };
  const next = redoStack.length || canRedoOlder ? edits.redo : "";
  return { undo: undoStack.at(-1)?.what || edits.undo || "", redo: redoStack.at(-1)?.what || next || "" };
}

const historyMove = (from, to, direction, word) => () =>
  inTurn(() =>
    attempt(async () => {
      if (!from.length && !undoState()[direction === "revert" ? "undo" : "redo"])
        return say(`Nothing to ${direction === "revert" ? "undo" : "redo"}`, "history");
      const known = from.pop();
      const command = known ?? EDIT;
      let answer;
      try {
        answer = await command[direction]();
      } catch (error) {
        if (known && !(error.status < 500)) from.push(known); // the server cannot now, but may
        throw error;
      }
      to.push(command);
      command.dismiss?.();
      say(`${word}: ${command.what || answer.what}`, "history");
      emit("history");
      refresh(Boolean(command.isEdit), answer);
    }),
  );
export const undo = historyMove(undoStack, redoStack, "revert", "Undone");
export const redo = historyMove(redoStack, undoStack, "apply", "Redone");

// -- the chosen chunk ------------------------------------------------------------------------------

/** What is to be done with jobs of this page once they have ended, by id. @type {Map<string, (event: any) => void>} */
const awaited = new Map();
/** Jobs that ended while some were on their way to the server: an end may come before the id. */
const ended = new Map();
let sending = 0;
/** Jobs that were asked for here: they are done in this order. */
let jobCount = 0;

/** @param {any} job @param {(event: any) => void} onEnd */
async function sendJob(job, onEnd) {
  sending++;
  try {
    const answer = await post("/api/jobs", { draft: state.book.draft, ...job });
    const { id } = answer.job;
    const event = ended.get(id);
    if (event) setTimeout(() => onEnd(event)); // once the caller has recorded what it asked for
    else awaited.set(id, onEnd);
    return answer;
  } finally {
    if (!--sending) ended.clear();
  }
}

/** A job has ended, of this page or another. @param {any} event */
export function settleJob(event) {
  const onEnd = awaited.get(event.job);
  if (awaited.delete(event.job)) onEnd(event);
  else if (sending) ended.set(event.job, event);
}

/** @param {any} job */
export const submit = (job) => {
  const draft = state.book.draft;
  const at = ++jobCount;
  return attempt(() => sendJob({ draft, ...job }, (event) => noteRetaken(draft, at, event)));
};

/**
 * Has a chunk spoken by an engine that does not speak it in the book.
 * @param {string} id @param {string} engine "" for the book's own @param {(event: any) => unknown} onEnd
 */
export const speakBy = (id, engine, onEnd) => {
  const by = engine && engine !== "draft" ? { by: engine } : { draft: engine === "draft" };
  return attempt(() => sendJob({ kind: "retake", chunks: [id], ...by }, onEnd));
};

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
  say(`The missing lines of chapter ${number} will be spoken`, "job");
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
  say(`${chunk.id} will be spoken again${count > 1 ? `, ${count} times` : ""}`, "job");
  await submit({ kind: "retake", chunks: [chunk.id], count });
}

/**
 * Pins a take of a chunk. Resolves to what takes it back, undefined if it was not done.
 * @param {string} id @param {number} number of the try @param {string} [what]
 */
export const pin = (id, number, what = `Pinning take ${number} of ${id}`) =>
  attempt(() => act(pinCommand(state.book.draft, id, number, what), what));

/** @param {string} id */
export function unpin(id) {
  const what = `Unpinning ${id}`;
  return attempt(() => act(pinCommand(state.book.draft, id, null, what), what));
}

/**
 * The pin of a chunk. What was pinned before is known for sure once the job has ended: until then
 * it is what was told of it.
 * @param {boolean} draft whose takes they are @param {string} id
 * @param {number | null} number of the try; null lets it go
 * @param {{ replaced?: number | null, replaced_home?: string }} [before] the pin before
 * @returns {Command}
 */
function pinCommand(draft, id, number, what, before = {}, at = ++jobCount) {
  let { replaced = null, replaced_home: home } = before;
  const put = (to, more, onEnd) =>
    sendJob({ draft, chunks: [id], ...(to === null ? { kind: "unpin" } : { kind: "pin", number: to, ...more }) }, onEnd);
  const command = {
    what,
    revert: () => put(replaced, { home }, (event) => event.exit && putBack(command, redoStack, undoStack)),
    apply: () =>
      put(number, {}, ({ exit, summary }) => {
        if (!exit) ({ replaced, replaced_home: home } = summary);
        if (exit || replaced === number) putBack(command, undoStack);
        if (!exit && replaced === number)
          say(number === null ? `No take of ${id} is pinned` : `Take ${number} of ${id} is pinned already`, "history");
      }),
    at,
  };
  return command;
}

/** The pins of a retake that was asked for here can be undone. */
function noteRetaken(draft, at, { summary }) {
  return inTurn(async () => {
    for (const row of summary?.retaken ?? []) {
      if (row.pinned === null) continue;
      const command = pinCommand(draft, row.id, row.pinned, `Take ${row.pinned} of ${row.id} is pinned`, row, at);
      command.topic = "job"; // in the place of what was said of its job
      record(command);
      emit("retaken", { command, row });
    }
  });
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

/** @returns {Command} */
function marking(chunks, yes, what) {
  const mark = (as) => () => post("/api/reviewed", { chunks, yes: as }).then(() => undefined);
  return { what, revert: mark(!yes), apply: mark(yes) };
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

/** Flags that are new. @param {{ chunk: string, note: string }[]} flags @returns {Command} */
export function flagging(flags, what) {
  /** Those that were not on the list before: they alone are taken back. */
  let added = [];
  return {
    what,
    revert: () => post("/api/flags/gone", { flags: added }).then(() => undefined),
    apply: async () => {
      added = [];
      for (const one of flags) if ((await post("/api/flags", one)).added) added.push(one);
    },
  };
}

/** A flag done, or still to do. @param {{ chunk: string, note: string }} flag @returns {Promise<unknown>} */
export function tick({ chunk, note: words }, isDone) {
  const put = (done) => () =>
    post("/api/flags/done", { chunk, note: words, done }).then(() => undefined);
  const what = `“${shortened(words, 40)}” is ${isDone ? "done" : "open again"}`;
  return attempt(() => act({ what, revert: put(!isDone), apply: put(isDone) }, what));
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
      say(by > 0 ? "None further on: this is the first of the chapter" : "None before: this is the last of the chapter");
    return;
  }
  const other = state.book?.chapters.find((one) => one.doubtful || one.flagged);
  say(`Nothing here is doubtful or flagged${other ? `; chapter ${other.number} has some` : ""}`);
}

// The jobs of the owner of the project: what runs and waits, and the bar at the top that says so.

import { attempt, settleJob } from "./actions.js";
import { get, post } from "./api.js";
import { retaken } from "./desk.js";
import { byId, fill, h, icon } from "./dom.js";
import { loadBook, once } from "./loading.js";
import { complain, say } from "./messages.js";
import { showPane } from "./panes.js";
import { canEdit } from "./rights.js";
import { emit, on, state } from "./store.js";
import { counted, doneShare, percent, roughly, span, stageName, timeLeft } from "./words.js";

const status = byId("status");
const opener = byId("to-render");

export const work = {
  /** @type {any} */
  running: null,
  /** @type {any} */
  progress: null,
  /** @type {any[]} */
  queue: [],
  isPaused: false,
  /** Renders and exports that an earlier studio did not finish. @type {any[]} */
  earlier: [],
  /** What was tried again or given up lately. @type {{ chunk: string, words: string }[]} */
  news: [],
};

export const KINDS = {
  render: "Rendering",
  export: "Writing the files",
  retake: "Speaking again",
  pin: "Pinning",
  unpin: "Unpinning",
  audition: "Trying a voice",
  hear: "Listening",
  judge: "Checking again",
};
/** Whether what was spoken is being made into files. */
const isMaking = () => Boolean(work.progress) && !["render", "starting"].includes(work.progress.phase);
export const activity = () =>
  stageName(work.progress?.phase) || (KINDS[work.running.kind] ?? work.running.kind);
const SLOW = new Set(["render", "export", "retake", "audition", "hear"]);
const isSlow = () => Boolean(work.running) && SLOW.has(work.running.kind);
/** Whether what runs is being stopped until somebody resumes it. */
export const isPausing = () => work.isPaused && Boolean(work.running?.pausable);

// -- what is said ----------------------------------------------------------------------------------

/** Seconds of work for seconds of speech, by what was measured here; null where nothing was. */
export const costOf = ({ todo }, seconds) =>
  todo.cost && todo.seconds ? (seconds * todo.cost) / todo.seconds : null;

/** The finished files of a book that is spoken: "none", "older" than it, "current"; "" until it is known. */
let fileState = "";
/** The version of the book that it was asked for. */
let fileStateVersion = -1;

const loadFileState = once(async () => {
  const { version, todo } = state.book;
  if (todo.chunks || work.running || version === fileStateVersion) return;
  const { files: rows } = await get("/api/downloads");
  fileStateVersion = version;
  fileState = !rows.length ? "none" : rows.every((one) => one.is_current) ? "current" : "older";
  draw();
}, 0);

/** For a book without lines to speak. */
function spokenWords() {
  if (isMaking()) return "Everything is spoken; the files are being written";
  if (fileState === "current") return "Everything is rendered";
  const words = { none: "; there is no file yet: Export", older: "; the file is older: Export" };
  return `Everything is spoken${words[fileState] ?? ""}`;
}

export function todoWords(book) {
  const { chunks, seconds } = book.todo;
  if (!chunks) return [spokenWords()];
  const cost = costOf(book, seconds);
  const long = cost === null ? `${span(seconds)} of speech` : roughly(cost);
  return [`${counted(chunks, "line")} to speak`, h("span", { class: "more" }, `, about ${long}`)];
}

export function progressWords() {
  const { progress } = work;
  if (!progress) return "";
  const parts = [
    isMaking() ? "" : progress.what,
    progress.speed ? `${progress.speed.toFixed(1)}× as fast as speech` : "",
  ];
  return parts.filter(Boolean).join(" · ");
}

export const share = () => doneShare(work.progress);
export const leftWords = () => timeLeft(work.progress?.left);

// -- the bar at the top ----------------------------------------------------------------------------

function drawStatus() {
  const book = state.book;
  if (!book) return;
  const { running, queue, isPaused } = work;
  const says = (...words) => h("span", { class: "words" }, ...words);
  const waits = queue.length ? h("span", { class: "more" }, `, then ${queue.length} more`) : "";
  if (isSlow()) {
    const bar = h("progress", { max: 1, value: share(), "aria-label": activity() });
    fill(status, bar, says(h("b", {}, `${activity()} `), `${percent(share())}${leftWords()}`, waits));
    opener.className = running.pausable ? "" : "stop";
    fill(opener, ...(running.pausable ? [icon("pause"), "Pause"] : [icon("stop"), "Stop"]));
  } else if (isPaused) {
    fill(status, says("Paused", h("span", { class: "more" }, `: ${counted(queue.length, "job")} in the queue`)));
    opener.className = "main";
    fill(opener, icon("play"), "Resume");
  } else {
    const before = work.earlier.length ? [`${counted(work.earlier.length, "job")} not finished last time`] : todoWords(book);
    fill(status, says(...(book.busy ? [`${book.busy} …`] : before)));
    opener.className = book.todo.chunks ? "main" : "";
    fill(opener, icon("render"), "Render…");
  }
  opener.disabled = isPausing();
  status.title = running ? progressWords() : "";
}

opener.addEventListener("click", () => {
  if (isSlow()) work.running.pausable ? pause(true) : stop(work.running.id);
  else if (work.isPaused) pause(false);
  else openRender();
});

export function openRender() {
  showPane("render", { focus: false });
  byId("pane-render").querySelector("button.main")?.focus();
}

/** @param {boolean} paused */
export async function pause(paused) {
  await attempt(() => post("/api/queue/pause", { paused }));
  if (paused && isSlow()) say("It pauses once what is being spoken is safe", "job");
}

/** Stops a job or drops it from the queue; what it has spoken is kept. @param {string} [id] all without */
export async function stop(id) {
  await attempt(() => post("/api/jobs/stop", { id }));
  if (!id || id === work.running?.id) say("It stops once what is being spoken is safe", "job");
}

/** What a chunk waits for that something was asked of. @param {string} id */
export function waiting(id) {
  const of = (job) => job.chunks?.includes(id);
  const { running } = work;
  if (running && of(running)) return `${KINDS[running.kind]} …`;
  const job = work.queue.find(of);
  if (!job) return "";
  const before = running ? (isMaking() ? "the files that are being written" : "what runs now") : "its turn";
  return `${KINDS[job.kind]} waits for ${before}.`;
}

// -- events of the owner ---------------------------------------------------------------------------

function draw() {
  drawStatus();
  emit("jobs");
}

/** The exit code of a job that somebody stopped. */
export const STOPPED = 130;

function endWords(kind, exit) {
  if (exit === STOPPED) return "Stopped: what was spoken is kept";
  if (kind === "retake")
    return exit ? "Spoken again, but no take passed its checks" : "Spoken again";
  return exit ? "Finished, but not complete: see the panel Render" : "Done";
}

const listened = ({ heard, misheard }) =>
  `Listened to ${counted(heard, "take")}: ${misheard ? `${counted(misheard, "take")} may not say the text` : "all say their text"}`;

function tell(chunk, words) {
  work.news = [{ chunk, words }, ...work.news].slice(0, 30);
}

const drop = (id) => {
  work.queue = work.queue.filter((job) => job.id !== id);
};

const handlers = {
  hello(event) {
    work.running = event.running;
    work.queue = event.queue ?? [];
    work.isPaused = Boolean(event.paused);
    if (!work.running) work.progress = null;
  },
  queued({ job }) {
    drop(job.id);
    work.queue.push(job);
    if (job.id === work.running?.id) [work.running, work.progress] = [null, null]; // paused
  },
  order({ jobs }) {
    work.queue.sort((one, other) => jobs.indexOf(one.id) - jobs.indexOf(other.id));
  },
  paused(event) {
    work.isPaused = event.paused;
  },
  started({ job }) {
    drop(job.id);
    if (job.beside) return;
    [work.running, work.progress] = [job, null];
    if (job.kind === "render") work.news = [];
  },
  progress(event) {
    work.progress = event;
  },
  retried(event) {
    tell(event.chunk, `tried again: ${event.faults.join("; ")}`);
  },
  flagged(event) {
    tell(event.chunk, `doubtful: ${event.faults.join("; ")}`);
  },
  earlier: loadBook,
  gone() {
    Object.assign(work, { running: null, progress: null, queue: [] });
    loadBook();
  },
  ended(event) {
    const { kind, exit } = event;
    const wasWaiting = exit === STOPPED && event.job !== work.running?.id;
    if (event.job === work.running?.id) [work.running, work.progress] = [null, null];
    drop(event.job);
    if (exit && event.error) complain(event.error);
    else if (kind === "hear" && !exit) say(listened(event.summary), "job");
    else if (event.summary?.retaken?.length) say(retaken(event.summary.retaken), "job");
    else if (SLOW.has(kind) && kind !== "audition" && !wasWaiting) say(endWords(kind, exit), "job");
    settleJob(event);
    loadBook();
  },
};

on("event:job", (event) => {
  handlers[event.event]?.(event);
  draw();
});
on("book", () => {
  const { running, queue, progress, paused, earlier } = state.book.jobs;
  work.running = running;
  work.earlier = earlier;
  work.queue = queue ?? [];
  work.isPaused = Boolean(paused);
  work.progress = running ? (progress ?? work.progress) : null;
  if (state.book.todo.chunks || running) [fileState, fileStateVersion] = ["", -1];
  draw();
  if (canEdit) loadFileState();
});
on("opened", draw);
on("busy", drawStatus);

// What is rendered, would be, and what that costs; the job that runs, and the button that stops it.

import { attempt, submit } from "./actions.js";
import { post } from "./api.js";
import { retaken } from "./desk.js";
import { choice } from "./dialogs.js";
import { byId, fill, h, icon, refill } from "./dom.js";
import { goTo, loadBook } from "./loading.js";
import { complain, say } from "./messages.js";
import { showPane } from "./panes.js";
import { on, state } from "./store.js";
import { counted, percent, span } from "./words.js";

const box = byId("pane-render");
const status = byId("status");
const opener = byId("to-render");

/** @type {any} */
let running = null;
/** @type {any} */
let progress = null;
/** @type {any[]} */
let queue = [];
/** What was tried again or given up lately. @type {{ chunk: string, words: string }[]} */
let news = [];
let scope = "book";
/** What has been asked for, render or export, and nobody has said yet that it begins. */
let asking = "";

const KINDS = {
  render: "Rendering",
  export: "Writing the files",
  retake: "Speaking again",
  pin: "Pinning",
  unpin: "Unpinning",
  audition: "Trying a voice",
  hear: "Listening",
  judge: "Judging again",
};
/** Whether what was spoken is being made into files. */
const isMaking = () => Boolean(progress) && !["render", "starting"].includes(progress.phase);
/** What runs, in words. */
const atWhat = () =>
  running.kind === "render" && isMaking() ? KINDS.export : (KINDS[running.kind] ?? running.kind);
const SLOW = new Set(["render", "export", "retake", "audition", "hear"]);

// -- what is said ----------------------------------------------------------------------------------

/** Seconds of work for seconds of speech, by what was measured here; null where nothing was. */
const costOf = ({ todo }, seconds) =>
  todo.cost && todo.seconds ? (seconds * todo.cost) / todo.seconds : null;

function what(book) {
  const { chunks, seconds } = book.todo;
  if (!chunks) return ["All is rendered"];
  const cost = costOf(book, seconds);
  const long = cost === null ? `${span(seconds)} of speech` : span(cost);
  return [`${counted(chunks, "chunk")} to speak`, h("span", { class: "more" }, `, about ${long}`)];
}

function done() {
  if (!progress) return "";
  const parts = [
    isMaking() ? "" : progress.what,
    progress.chunks ? `${progress.chunks_done} of ${progress.chunks}` : "",
    progress.left === null || progress.left === undefined ? "" : `${span(progress.left)} left`,
    progress.speed ? `${progress.speed.toFixed(1)}× as fast as speech` : "",
  ];
  return parts.filter(Boolean).join(" · ");
}

const share = () => (progress?.of ? Math.min(1, progress.done / progress.of) : 0);

// -- the bar at the top ----------------------------------------------------------------------------

function drawStatus() {
  const book = state.book;
  if (!book) return;
  if (running && SLOW.has(running.kind)) {
    const bar = h("progress", { max: 1, value: share(), "aria-label": atWhat() });
    fill(
      status,
      bar,
      h("span", { class: "words" }, h("b", {}, `${atWhat()} `), `${percent(share())}${left()}`),
    );
    fill(opener, icon("stop"), "Stop");
    opener.className = "stop";
  } else {
    fill(status, h("span", { class: "words" }, ...(book.busy ? [`${book.busy} …`] : what(book))));
    fill(opener, icon("render"), "Render…");
    opener.className = book.todo.chunks ? "main" : "";
  }
  status.title = running ? done() : "";
}

const left = () =>
  progress?.left === null || progress?.left === undefined ? "" : `, ${span(progress.left)} left`;

opener.addEventListener("click", () => {
  if (running && SLOW.has(running.kind)) stop();
  else openRender();
});

export function openRender() {
  showPane("render", { focus: false });
  box.querySelector("button.main")?.focus();
}

async function stop() {
  await attempt(() => post("/api/jobs/stop"));
  say("It stops once what is being spoken is safe");
}

/** What a chunk waits for that something was asked of. @param {string} id */
export function waiting(id) {
  const of = (job) => job.chunks?.includes(id);
  if (running && of(running)) return `${KINDS[running.kind]} …`;
  const job = queue.find(of);
  if (!job) return "";
  const before = running ? (isMaking() ? "the files that are being written" : "what runs now") : "its turn";
  return `${KINDS[job.kind]} waits for ${before}.`;
}

// -- the panel -------------------------------------------------------------------------------------

function draw() {
  drawStatus();
  if (!state.book) return;
  refill(box, running ? atWork() : atRest(), lately(), warnings());
}

/** What a render of the book, or of the open chapter, has to do. */
function scoped() {
  const { book, chapter } = state;
  const one = scope === "chapter" && book.chapters.find((each) => each.number === chapter?.number);
  if (!one) return { name: "the book", chapters: [], chunks: book.todo.chunks, seconds: book.todo.seconds };
  return {
    name: `chapter ${one.number}`,
    chapters: [String(one.number)],
    chunks: one.chunks - one.rendered,
    seconds: one.unspoken,
  };
}

function atRest() {
  const { todo, jobs, can, draft } = state.book;
  const chapter = state.chapter;
  const reasons = todo.reasons.map((one) =>
    h("li", {}, h("b", {}, counted(one.chunks, "chunk")), ` ${one.why}`),
  );
  return h(
    "section",
    {},
    h("h3", {}, "To be rendered"),
    h("p", { class: "big" }, ...what(state.book)),
    reasons.length ? h("ul", { class: "reasons" }, ...reasons) : null,
    chapter
      ? choice(
          "How much",
          "scope",
          [
            ["book", "The book"],
            ["chapter", `Chapter ${chapter.number} alone`],
          ],
          scope,
          (value) => {
            scope = value;
            draw();
          },
        )
      : null,
    ...buttons(scoped(), draft ? can.draft : can.model),
    jobs.last ? h("p", { class: jobs.last.exit ? "trouble" : "note" }, ended(jobs.last)) : null,
  );
}

/** One speaks what is missing, and then makes the files; the other makes them of what is there. */
function buttons(part, isThere) {
  const { draft, can, formats } = state.book;
  const files = formats.map((one) => one.toUpperCase()).join(", ");
  const cost = costOf(state.book, part.seconds);
  const button = (id, kind, words, isOff) =>
    h(
      "button",
      {
        id,
        class: `wide${isOff ? "" : " main"}`,
        "data-keep": id,
        disabled: isOff,
        onclick: () => begin(kind, part),
      },
      icon(kind),
      words,
    );
  const time = cost === null || !part.chunks ? "" : ` (about ${span(cost)})`;
  const notes = [
    !isThere && can.why_not,
    part.chunks
      ? `By the ${draft ? "draft voice" : "model"}; then ${files} is made. You can go on working meanwhile.`
      : `Nothing of ${part.name} is missing.`,
    part.chunks && cost === null && `About ${span(part.seconds)} of speech: ${UNMEASURED[String(draft)]}`,
  ];
  return [
    button(
      "render-now",
      "render",
      asking === "render" ? "Starting …" : `Render ${part.name}${time}`,
      !isThere || Boolean(asking) || !part.chunks,
    ),
    ...notes.filter(Boolean).map((words) => h("p", { class: "note" }, words)),
    button(
      "export-now",
      "export",
      asking === "export" ? "Starting …" : `Export ${files}`,
      Boolean(asking) || part.chunks > 0,
    ),
    part.chunks
      ? h("p", { class: "note" }, `${counted(part.chunks, "chunk")} of ${part.name} must be spoken first.`)
      : null,
  ];
}

const UNMEASURED = {
  true: "the draft voice needs a small part of that.",
  false: "how long the model needs here is known after its first chunks.",
};

async function begin(kind, { chapters }) {
  asking = kind;
  draw();
  if (await submit({ kind, chapters })) say(`${KINDS[kind]} begins`, "job");
  asking = "";
  draw();
}

const STOPPED = 130;

function endWords(kind, exit) {
  if (exit === STOPPED) return "Stopped: what was spoken is kept";
  if (kind === "retake")
    return exit ? "Spoken again, but no take passed its checks" : "Spoken again";
  return exit ? "Done, but not complete: the Render panel says more" : "Done";
}

const listened = ({ heard, misheard }) =>
  `Listened to ${counted(heard, "take")}: ${misheard ? `${counted(misheard, "take")} of the book may not say the text` : "all of the book say their text"}`;

/** How the last job went: it may end with an error, or with something left to do. */
function ended({ exit, error, text }) {
  if (!exit) return text;
  if (exit === STOPPED) return text ? `Stopped: ${text}` : "Stopped";
  return error ? `The last one stopped: ${error}` : `Not complete: ${text || `exit code ${exit}`}`;
}

function atWork() {
  return h(
    "section",
    {},
    h("h3", {}, atWhat()),
    h("progress", { max: 1, value: share(), "aria-label": "Done" }),
    h("p", { class: "big" }, `${percent(share())}${left()}`),
    h("p", { class: "note" }, done()),
    queue.length
      ? h(
          "p",
          { class: "note" },
          `Then ${counted(queue.length, "job")}: ${queue
            .map((job) => KINDS[job.kind] ?? job.kind)
            .join(", ")
            .toLowerCase()}`,
        )
      : null,
    h("button", { class: "stop wide", "data-keep": "stop", onclick: stop }, icon("stop"), "Stop"),
  );
}

function lately() {
  if (!news.length) return null;
  const rows = news.map((one) =>
    h(
      "li",
      {},
      h("button", { class: "link", onclick: () => goTo(one.chunk) }, one.chunk),
      ` ${one.words}`,
    ),
  );
  return h("section", {}, h("h3", {}, "Lately"), h("ul", { class: "news" }, ...rows));
}

function warnings() {
  const all = state.book.warnings ?? [];
  if (!all.length) return null;
  const rows = all
    .slice(0, 50)
    .map((one) => h("li", {}, one.text, one.where ? h("small", {}, ` ${one.where}`) : null));
  return h(
    "section",
    {},
    h("h3", {}, counted(all.length, "warning")),
    h("ul", { class: "news" }, ...rows),
  );
}

// -- events of the owner ---------------------------------------------------------------------------

function tell(chunk, words) {
  news = [{ chunk, words }, ...news].slice(0, 30);
}

const heard = {
  hello(event) {
    running = event.running;
    queue = event.queue ?? [];
    if (!running) progress = null;
  },
  queued(event) {
    queue = [...queue.filter((job) => job.id !== event.job.id), event.job];
  },
  started(event) {
    queue = queue.filter((job) => job.id !== event.job.id);
    if (event.job.beside) return;
    running = event.job;
    progress = null;
    if (running.kind === "render") news = [];
  },
  progress(event) {
    progress = event;
  },
  retried(event) {
    tell(event.chunk, `tried again: ${event.faults.join("; ")}`);
  },
  flagged(event) {
    tell(event.chunk, `doubtful: ${event.faults.join("; ")}`);
  },
  rendered() {},
  gone() {
    [running, progress, queue] = [null, null, []];
    loadBook();
  },
  ended(event) {
    const kind = event.kind;
    if (event.job === running?.id) [running, progress] = [null, null];
    queue = queue.filter((job) => job.id !== event.job);
    if (event.exit && event.error) complain(event.error);
    else if (kind === "hear" && !event.exit) say(listened(event.summary), "job");
    else if (event.summary?.retaken?.length) say(retaken(event.summary.retaken), "job");
    else if (SLOW.has(kind) && kind !== "audition") say(endWords(kind, event.exit), "job");
    loadBook();
  },
};

on("event:job", (event) => {
  heard[event.event]?.(event);
  draw();
});
on("book", () => {
  const { jobs } = state.book;
  running = jobs.running;
  queue = jobs.queue ?? [];
  if (running) progress = jobs.progress ?? progress;
  else progress = null;
  draw();
});
on("opened", draw);
on("busy", drawStatus);

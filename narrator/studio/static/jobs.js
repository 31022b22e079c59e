// What is rendered, would be, and what that costs; the job that runs, and the button that stops it.

import { attempt, submit } from "./actions.js";
import { post } from "./api.js";
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
/** Whether a render has been asked for, and nobody has said yet that it begins. */
let isAsking = false;

const KINDS = {
  render: "Rendering",
  export: "Writing the files",
  retake: "Speaking again",
  pin: "Pinning",
  unpin: "Unpinning",
  audition: "Trying a voice",
};
const SLOW = new Set(["render", "export", "retake", "audition"]);

// -- what is said ----------------------------------------------------------------------------------

const cost = (todo) =>
  todo.cost === null || todo.cost === undefined ? "" : `, about ${span(todo.cost)}`;

function what(todo) {
  return todo.chunks ? `${counted(todo.chunks, "chunk")} to speak${cost(todo)}` : "All is rendered";
}

function done() {
  if (!progress) return "";
  const parts = [
    progress.what,
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
    const bar = h("progress", { max: 1, value: share(), "aria-label": KINDS[running.kind] });
    fill(
      status,
      bar,
      h("span", { class: "words" }, `${KINDS[running.kind]} ${percent(share())}${left()}`),
    );
    fill(opener, icon("stop"), "Stop");
    opener.className = "stop";
  } else {
    fill(status, h("span", { class: "words" }, book.busy ? `${book.busy} …` : what(book.todo)));
    fill(opener, icon("render"), "Render");
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
  byId("render-now")?.focus();
}

async function stop() {
  await attempt(() => post("/api/jobs/stop"));
  say("It stops once what is being spoken is safe");
}

// -- the panel -------------------------------------------------------------------------------------

function draw() {
  drawStatus();
  if (!state.book) return;
  refill(box, running ? atWork() : atRest(), lately(), warnings());
}

function atRest() {
  const { todo, jobs, can, draft } = state.book;
  const isThere = draft ? can.draft : can.model;
  const reasons = todo.reasons.map((one) =>
    h("li", {}, h("b", {}, counted(one.chunks, "chunk")), ` ${one.why}`),
  );
  const chapter = state.chapter;
  const button = h(
    "button",
    {
      id: "render-now",
      class: "main wide",
      "data-keep": "render-now",
      disabled: !isThere || isAsking,
      onclick: render,
    },
    icon("render"),
    isAsking ? "Starting …" : renderWords(todo),
  );
  return h(
    "section",
    {},
    h("h3", {}, "To be rendered"),
    h("p", { class: "big" }, what(todo)),
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
          (value) => (scope = value),
        )
      : null,
    button,
    h(
      "p",
      { class: "note" },
      isThere
        ? `By the ${draft ? "draft voice" : "model"}. You can go on working meanwhile.`
        : can.why_not,
    ),
    jobs.last ? h("p", { class: jobs.last.exit ? "trouble" : "note" }, ended(jobs.last)) : null,
  );
}

const renderWords = (todo) =>
  todo.chunks ? `Render${cost(todo) ? ` (about ${span(todo.cost)})` : ""}` : "Write the files";

async function render() {
  const chapters = scope === "chapter" && state.chapter ? [String(state.chapter.number)] : [];
  isAsking = true;
  draw();
  if (await submit({ kind: "render", chapters })) say("Rendering begins", "job");
  isAsking = false;
  draw();
}

const STOPPED = 130;

function endWords(kind, exit) {
  if (exit === STOPPED) return "Stopped: what was spoken is kept";
  if (kind === "retake")
    return exit ? "Spoken again, but no take passed its checks" : "Spoken again";
  return exit ? "Done, but not complete: the Render panel says more" : "Done";
}

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
    h("h3", {}, KINDS[running.kind] ?? running.kind),
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
    queue = [...queue, event.job];
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

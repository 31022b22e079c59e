// From a new book to its files: a voice, who speaks, what it costs, the render, the download. All of
// it by the routes of the book's own studio, which the start page's server has opened.

import { bytes, fetchSound, get, post, remove, sendCover } from "./api.js";
import { coverField, languageField, titleFields } from "./bookfacts.js";
import { byId, fill, h, icon, refill } from "./dom.js";
import { CODEC_HINT, complain, say } from "./messages.js";
import { toFetch, toInstall, withCode } from "./modelfetch.js";
import { openOnServer } from "./opening.js";
import { emit } from "./store.js";
import { capitalized, counted, doneShare, percent, roughly, sizeWords, span, stageName, stopwatch, timeLeft } from "./words.js";

const box = byId("making");
const audio = byId("sample");

/** The book on the page: its address, and what its server says. @type {any} */
let book = null;
/** @type {EventSource | null} */
let source = null;

const api = (path) => `${book.address}api/${path}`;

// -- in and out ------------------------------------------------------------------------------------

/** Shows what is left to do with a book until it can be heard. @param {string} id */
export async function showBook(id) {
  emit("making", true);
  const words = h("p", { class: "note", role: "status" });
  const heading = h("h2", { tabindex: "-1" }, "Opening the book");
  fill(box, heading, h("progress", { "aria-label": "Opening" }), words);
  heading.focus();
  try {
    const { address } = await openOnServer(id, (now) => fill(words, now));
    if (location.hash !== `#book=${id}`) return; // the page shows something else by now
    book = { id, address };
    await load();
    if (book?.id !== id) return;
  } catch (error) {
    fill(box, h("p", { class: "trouble" }, error.message), backButton());
    return;
  }
  draw();
  box.querySelector("h2").focus();
  listen();
}

export function leaveBook() {
  source?.close();
  source = null;
  book = null;
  audio.pause();
  fill(box);
}

async function load() {
  const mine = book;
  const [facts, about, voices, costs, downloads] = await Promise.all([
    get(api("book")),
    get(api("facts")),
    get(api("voices")),
    get(api("estimate")),
    get(api("downloads")),
  ]);
  Object.assign(mine, { facts, about, voices, costs, files: downloads.files });
  mine.chosen ??= voices.chosen ?? voices.voices[0] ?? null;
}

function listen() {
  source?.close();
  source = new EventSource(api("events"));
  source.onmessage = (message) => {
    const event = JSON.parse(message.data);
    if (event.type === "job") handle(event);
    if (event.type === "book" && !event.busy && event.version > book.facts.version) reload();
  };
}

const backButton = () =>
  h("button", { onclick: () => (location.hash = "") }, icon("book"), "All books");

// -- the page --------------------------------------------------------------------------------------

const places = {};

function draw() {
  for (const name of ["facts", "voice", "people", "render", "files"])
    places[name] = h("section", { class: "step", "aria-labelledby": `step-${name}` });
  fill(
    box,
    h("div", { class: "row" }, backButton()),
    title,
    ...Object.values(places),
  );
  drawTitle();
  drawFacts();
  drawVoice();
  drawPeople();
  drawRender();
  drawFiles();
}

const title = h("h2", { tabindex: "-1", dir: "auto" });
const drawTitle = () =>
  fill(title, book.facts.title, book.facts.author ? h("small", {}, ` ${book.facts.author}`) : null);

// -- title, author, language, cover ----------------------------------------------------------------

function drawFacts() {
  const { about } = book;
  const typed = { title: about.title, authors: about.authors.join("; "), language: about.language };
  const cover = coverField({
    hasCover: () => book.about.has_cover,
    isUsed: () => true,
    address: () => `/api/projects/${book.id}/cover?${book.facts.version}`,
    toggle: () => change(() => remove(api("cover")), "The cover is taken away"),
    take: (picture) => change(() => sendCover(api("cover"), picture), "The cover is saved"),
  });
  const form = h(
    "form",
    { class: "facts-form" },
    cover,
    ...titleFields(typed),
    languageField(about.languages, about.language, (tag) => (typed.language = tag), [
      "Another language: the book is spoken again.",
    ]),
    h("div", { class: "row" }, h("button", { class: "main", "data-keep": "facts" }, "Save")),
  );
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const authors = typed.authors.split(";").map((name) => name.trim());
    await change(() => post(api("facts"), { ...typed, authors }), "Title, author and language are saved").catch(complain);
  });
  const isOpen = places.facts.querySelector("details")?.open;
  refill(
    places.facts,
    h("details", { open: isOpen }, h("summary", {}, heading("facts", "Title, author, language, cover")), form),
  );
}

/** An edit of book.yaml, which the message can take back. */
async function change(edit, words) {
  const mine = book;
  await edit();
  await reload();
  if (book !== mine) return;
  drawTitle();
  const undo = async () => {
    try {
      await post(api("undo"));
      await reload();
      if (book === mine) [drawTitle, drawFacts].forEach((redraw) => redraw());
    } catch (error) {
      complain(error);
    }
  };
  say(words, "facts", { words: "Undo", run: undo });
}

const heading = (name, words) => h("h3", { id: `step-${name}` }, words);

/** Asks the server for everything again, and shows it where nobody is typing. */
async function reload() {
  const mine = book;
  if (!mine) return; // the page shows the list again
  try {
    await load();
    if (book !== mine) return;
    drawPeople();
    drawRender();
    drawFiles();
  } catch (error) {
    complain(error);
  }
}

// -- a voice ---------------------------------------------------------------------------------------

const PEOPLE = { she: "a woman", he: "a man" };
const ABOUT = {
  draft: "Robotic and fast: to hear quickly whether text and order are right.",
  kokoro: "Natural, on any computer.",
  voxcpm2: "Natural, and can imitate a voice.",
  cosyvoice2: "Natural, and imitates a voice.",
};

/** Whether an engine has one voice only, whose row says everything. */
const isAlone = (rows) => rows.length === 1 && !rows[0].voice;
const isSame = (one, other) => one?.engine === other?.engine && one?.voice === other?.voice;
/** A voice's name without the letters of its language and speaker: bf_emma is Emma. */
const nameOf = (one) =>
  one.voice
    ? one.voice.replace(/^[a-z]{2}_(.)/, (_, letter) => letter.toUpperCase())
    : one.engine === "draft" ? "Draft voice" : "A voice made for this book";

function drawVoice() {
  const { voices, absent } = book.voices;
  const engines = [...new Set(voices.map((one) => one.engine))];
  const offered = absent.filter((one) => one.bytes || one.install);
  const lacking = absent.filter((one) => !offered.includes(one));
  refill(
    places.voice,
    heading("voice", "Voice"),
    ...offered.map((one) => (one.bytes ? toFetch(one, fetched) : toInstall(one))),
    ...engines.map((engine) => {
      const rows = voices.filter((one) => one.engine === engine);
      return h(
        "fieldset",
        { class: "voices" },
        h(
          "legend",
          { class: isAlone(rows) ? "vh" : "" },
          rows[0].title,
          h("small", {}, ` ${ABOUT[engine] ?? ""}`),
        ),
        h("ul", {}, ...rows.map(voiceRow)),
      );
    }),
    lacking.length
      ? h(
          "details",
          {},
          h("summary", {}, "Other voices, which are not on this machine"),
          h(
            "ul",
            { class: "remarks" },
            ...lacking.map(({ title, note }) => h("li", {}, h("b", {}, title), ": ", ...withCode(note))),
          ),
        )
      : null,
  );
}

/** The voices that were fetched: the first is proposed, unless the book has one. */
async function fetched() {
  const mine = book;
  mine.voices = await get(api("voices"));
  if (book !== mine) return;
  if (!mine.voices.chosen) mine.chosen = mine.voices.voices[0];
  drawVoice();
  drawRender();
}

function voiceRow(one) {
  const facts = one.voice
    ? [
        PEOPLE[one.pronoun],
        languageName(one.language),
        one.description,
        nameOf(one) !== one.voice && one.voice,
      ]
    : [ABOUT[one.engine]];
  const hear = h(
    "button",
    { class: "round", "aria-label": `Hear ${nameOf(one)}`, title: "Hear the book's first sentences" },
    icon("play"),
  );
  hear.addEventListener("click", () => hearVoice(one, hear));
  return h(
    "li",
    {},
    h(
      "label",
      {},
      h("input", {
        type: "radio",
        name: "book-voice",
        checked: isSame(one, book.chosen),
        onchange: () => choose(one),
      }),
      h("span", { class: "name" }, nameOf(one)),
      h("small", {}, facts.filter(Boolean).join(", ")),
    ),
    h("small", { class: "wait", role: "status" }),
    hear,
  );
}

const languageName = (tag) => new Intl.DisplayNames(["en"], { type: "language" }).of(tag) ?? tag;

let hearing = null;

/** The book's first sentences in a voice, or an end of them. */
async function hearVoice(one, button) {
  const wasPlaying = hearing === button && !audio.paused;
  audio.pause();
  if (wasPlaying) return;
  hearing = button;
  button.disabled = true;
  const stopClock = stopwatch((time) => fill(button.previousElementSibling, `Speaking … ${time}`));
  try {
    const { sound, job } = await fetchSound(api("voices/sample"), { engine: one.engine, voice: one.voice });
    const url = sound ? URL.createObjectURL(sound) : await sampleOfJob(job);
    if (hearing !== button) return;
    if (audio.src.startsWith("blob:")) URL.revokeObjectURL(audio.src);
    audio.src = url;
    await audio.play();
  } catch (error) {
    if (error.name !== "AbortError") complain(error);
  }
  stopClock();
  fill(button.previousElementSibling);
  const hadFocus = document.activeElement === document.body;
  button.disabled = false;
  if (hadFocus) button.focus();
}
for (const event of ["play", "pause", "ended"])
  audio.addEventListener(event, () => {
    for (const button of box.querySelectorAll(".voices .round"))
      fill(button, icon(button === hearing && !audio.paused ? "pause" : "play"));
  });

/** Large models speak a sample as a job. @type {Map<string, { resolve: any, reject: any }>} */
const jobs = new Map();

async function sampleOfJob(job) {
  say("The model is loaded and speaks the first sentences", "sample");
  const summary = await new Promise((resolve, reject) => jobs.set(job.id, { resolve, reject }));
  return `${book.address}sound/auditions/${summary.name}`;
}

/** The voice that is chosen is written into the book at once. */
async function choose(one) {
  const mine = book;
  const before = mine.chosen;
  mine.chosen = one;
  try {
    await write();
  } catch (error) {
    mine.chosen = before;
    complain(error);
    if (book === mine) drawVoice();
  }
}

async function write() {
  if (!book.chosen || isSame(book.chosen, book.voices.chosen)) return;
  await busy(() => post(api("voices"), { engine: book.chosen.engine, voice: book.chosen.voice }));
  await reload();
}

/** What takes a while is said next to the button that begins a render. */
async function busy(work) {
  const mine = book;
  mine.busy = true;
  drawRender();
  try {
    await work();
  } finally {
    mine.busy = false;
    drawRender();
  }
}

// -- who speaks ------------------------------------------------------------------------------------

function drawPeople() {
  const people = book.facts.speakers.filter((one) => one.chunks);
  const find = h("button", { "data-keep": "find", disabled: book.finding }, icon("who"), "Find who speaks");
  find.addEventListener("click", async () => {
    const mine = book;
    mine.finding = true;
    drawPeople();
    const stopClock = stopwatch((time) => {
      mine.finding = time;
      if (book === mine) drawPeople();
    });
    try {
      const { what } = await post(api("edits"), { kind: "cast" });
      mine.found = `${capitalized(what)}.`;
      say(what, "people");
    } catch (error) {
      complain(error);
    }
    stopClock();
    mine.finding = false;
    await reload(); // and once more, when the server has read the book again
  });
  refill(
    places.people,
    heading("people", "Who speaks"),
    h(
      "p",
      {},
      people.length > 1
        ? `${counted(people.length, "voice")}: ${people
            .slice(0, 8)
            .map((one) => one.name)
            .join(", ")}${people.length > 8 ? " …" : ""}`
        : "One voice reads everything.",
    ),
    h(
      "div",
      { class: "row wrap" },
      find,
      book.finding
        ? h("span", { class: "note", role: "status" }, `Reading who says what … ${book.finding === true ? "" : book.finding}`)
        : h("small", {}, "Quoted people get voices of their own. Correct them later in the studio, or undo it there; others are added there by name."),
    ),
    book.found && h("p", { class: "note", role: "status" }, book.found),
  );
}

// -- the render ------------------------------------------------------------------------------------

/** Whether the render's buttons had the focus last: they come and go, and keep it among them. */
let isRenderFocused = false;
document.addEventListener("focusin", ({ target }) => {
  isRenderFocused = Boolean(places.render?.contains(target));
});

function drawRender() {
  if (!book) return;
  const { todo, jobs: state, can } = book.facts;
  const running = book.running ?? state.running;
  refill(
    places.render,
    heading("render", "Render"),
    ...(running ? atWork() : atRest(todo, can)),
  );
  if (isRenderFocused && document.activeElement === document.body)
    places.render.querySelector("button:enabled")?.focus();
}

function atRest(todo, can) {
  const isWritten = !book.chosen || isSame(book.chosen, book.voices.chosen);
  const costs = isWritten ? book.costs : {
        ...book.costs,
        seconds: book.chosen.pace && book.chosen.pace * book.costs.speech_seconds,
        is_measured: false,
      };
  const isPossible = !isWritten || (book.facts.draft ? can.draft : can.model);
  const last = book.facts.jobs.last;
  const time =
    costs.seconds === null
      ? "How long it takes is known after the first lines."
      : `It takes ${costs.is_measured ? "about" : "roughly"} ${roughly(costs.seconds)} on this machine.`;
  const room = `Needs ${sizeWords(costs.disk_bytes)} of disk while it works, ${sizeWords(costs.file_bytes)} for the file; ${sizeWords(costs.free_bytes)} are free.`;
  const sent = costs.sent_characters
    ? `${counted(costs.sent_characters, "character")} are sent to the speech server${costs.price ? `: ${costs.price}` : ""}.`
    : "";
  const button = h(
    "button",
    {
      class: `large${todo.chunks ? " main" : ""}`,
      "data-keep": "render",
      disabled: !isPossible || book.busy || book.finding,
      onclick: render,
    },
    icon("render"),
    book.busy ? "Reading the book …" : todo.chunks ? "Render the book" : "Make the file again",
  );
  return [
    h("p", { class: "big" }, todo.chunks ? `${span(todo.seconds)} of speech` : "Everything is spoken"),
    todo.chunks ? h("p", {}, time) : null,
    todo.chunks ? h("p", { class: costs.disk_bytes > costs.free_bytes ? "trouble" : "note" }, room) : null,
    sent ? h("p", {}, sent) : null,
    isPossible ? null : h("p", { class: "trouble" }, can.why_not),
    button,
    last?.exit ? h("p", { class: "trouble" }, last.error || last.text) : null,
  ];
}

async function render() {
  try {
    await write();
    book.running = { kind: "render" };
    book.progress = null;
    drawRender();
    const kind = book.facts.todo.chunks ? "render" : "export";
    await post(api("jobs"), { kind, draft: book.facts.draft });
  } catch (error) {
    if (book) book.running = null;
    drawRender();
    complain(error);
  }
}

const workWords = h("p", { class: "big" });
const workBar = h("progress", { max: 1, value: 0, "aria-label": "Rendered" });

/** The words and the bar change in place: what is drawn anew is read out anew. */
function atWork() {
  tellProgress();
  return [
    workWords,
    workBar,
    h("p", { class: "note" }, "You can close this page meanwhile, but not the studio's server."),
    h(
      "button",
      {
        class: "stop",
        "data-keep": "stop",
        onclick: () => post(api("jobs/stop")).catch(complain),
      },
      icon("stop"),
      "Stop",
    ),
  ];
}

function tellProgress() {
  const now = book.progress ?? book.facts.jobs.progress;
  const share = doneShare(now);
  workBar.value = share;
  workWords.textContent = `${stageName(now?.phase) || "Speaking"} ${percent(share)}${timeLeft(now?.left)}`;
}

/** Kinds of jobs that end with finished files. */
const MAKING = ["render", "export"];

function handle(event) {
  const sample = event.event === "ended" && jobs.get(event.job);
  if (sample) {
    jobs.delete(event.job);
    if (event.exit) sample.reject(new Error(event.error || "The model could not say this."));
    else sample.resolve(event.summary);
    return;
  }
  if (event.event === "hello" && event.running) book.running = event.running;
  if (event.event === "started" && !event.job.beside) book.running = event.job;
  if (event.event === "progress") {
    book.progress = event;
    if (workBar.isConnected) return tellProgress();
  }
  if (["ended", "gone"].includes(event.event)) {
    if (event.event === "ended" && !MAKING.includes(event.kind) && event.job !== book.running?.id) return;
    book.running = book.progress = null;
    if (MAKING.includes(event.kind) && !event.exit) say("The book is ready", "job");
    const wasFocused = isRenderFocused;
    reload().then(() => wasFocused && places.files.querySelector("a.main")?.focus());
    return;
  }
  if (["hello", "started", "progress"].includes(event.event)) drawRender();
}

// -- the files -------------------------------------------------------------------------------------

function drawFiles() {
  const { files } = book;
  const now = JSON.stringify(files);
  if (places.files.dataset.drawn === now) return; // somebody may be listening
  places.files.dataset.drawn = now;
  refill(
    places.files,
    heading("files", "Listen"),
    files.length ? h("ul", { class: "files" }, ...files.map(fileRow)) : h("p", { class: "note" }, "Nothing is rendered yet."),
    h(
      "div",
      { class: "row wrap" },
      h(
        "a",
        { class: "button", href: book.address },
        icon("edit"),
        "Open in the studio",
      ),
      h("small", {}, "to hear it line by line, mend names, and give lines to others"),
    ),
  );
}

const MAX_SENT_BYTES = 300_000_000; // it is held in memory

/** Whether the system has a dialog that hands files on: phones and some desktops have. */
const canSend = ({ name, type, bytes: size }) =>
  size < MAX_SENT_BYTES && navigator.canShare?.({ files: [new File([], name, { type })] });

async function sendOn(file, url) {
  try {
    const sound = new File([await bytes(url)], file.name, { type: file.type });
    await navigator.share({ title: book.facts.title, files: [sound] });
  } catch (error) {
    if (error.name !== "AbortError") complain(error);
  }
}

const inBook = (address) => book.address + address.slice(1);

function fileRow(file) {
  const url = inBook(file.address);
  const trouble = h("p", { class: "trouble", role: "alert" });
  const onerror = () => fill(trouble, `It could not be played here. ${CODEC_HINT}`);
  return h(
    "li",
    {},
    h("span", { class: "name" }, file.name),
    h("small", {}, sizeWords(file.bytes), file.is_current ? "" : ", older than the book"),
    h("audio", { controls: true, preload: "none", src: url, "aria-label": file.name, onerror }),
    trouble,
    h(
      "span",
      { class: "row" },
      h(
        "a",
        { class: "button main", "data-keep": file.name, href: url, download: file.name },
        icon("export"),
        "Download",
      ),
      canSend(file) ? h("button", { onclick: () => sendOn(file, url) }, icon("clip"), "Send") : null,
    ),
  );
}

// The cast: who speaks, with which voice; voices tried on lines of the book, changed, clips dropped in.

import { announce, attempt, sendEdit, submit } from "./actions.js";
import { get, fetchSound, sendClip } from "./api.js";
import { choice, field, finder, hasLetters } from "./dialogs.js";
import { byId, fill, h, icon, refill } from "./dom.js";
import { STOPPED } from "./jobs.js";
import { goTo } from "./loading.js";
import { say } from "./messages.js";
import { PRONOUNS, newSpeakerForm } from "./newspeaker.js";
import { pane, showPane } from "./panes.js";
import { playBlob, playUrl } from "./samples.js";
import { giveLinesOf } from "./speakers.js";
import { colorOf, on, state } from "./store.js";
import { capitalized, counted, percent, shortened, span, stopwatch } from "./words.js";

const box = byId("pane-cast");

/** @type {any} What /api/cast says. */
let cast = null;
const MANY = 12;
let sought = "";
let open = "";
/** @type {Map<string, HTMLElement>} Forms somebody has written in, by speaker: there until sent. */
const drafts = new Map();
/** @type {Map<string, HTMLElement>} Likewise those for names, pronouns and who is the same person. */
const personDrafts = new Map();
/** @type {Set<string>} People for whom this form is unfolded. */
const unfolded = new Set();
/** @type {Map<string, string>} Voices that there were, by speaker, when another was given: until it is read. */
const replacedVoices = new Map();

async function load() {
  const answer = await attempt(() => get("/api/cast"));
  if (!answer) return;
  cast = answer;
  draw();
}

function draw() {
  if (!cast || search) return;
  const rows = cast.speakers
    .filter(({ name, aliases }) => hasLetters(sought, name, ...aliases))
    .sort((one, other) => other.seconds - one.seconds)
    .map(row);
  refill(
    box,
    state.book.speakers.length < 2 ? oneVoice() : next,
    cast.speakers.length > MANY ? finder("Find a name", sought, showNames) : null,
    h("ul", { class: "cast" }, ...rows),
    addition,
    state.book.speakers.length < 2 ? null : finding(),
  );
}

function showNames(letters) {
  sought = letters;
  draw();
}

/** A book in which nobody has been found yet who speaks. */
function oneVoice() {
  const told =
    "One voice reads all of this book. Those who speak in it can be found by rules: they come into book.yaml, each with a description of a voice, and who says what comes into a file beside each text. It can be undone.";
  return h(
    "section",
    { class: "one-voice" },
    h("p", { class: "note" }, told),
    finding("main wide"),
    h("p", { class: "note" }, "The same in a terminal: narrator cast --find --write"),
  );
}

/** A button that looks for people, and what it found last. @param {string} [kind] */
function finding(kind = "") {
  const find = h(
    "button",
    { class: kind, "data-keep": "find", onclick: () => findAll(find) },
    icon("who"),
    kind ? "Find who speaks" : "Find who else speaks",
  );
  return h("div", { class: "one-voice" }, find, outcome && h("p", { class: "note", role: "status" }, outcome));
}

const addition = newSpeakerForm(
  "Somebody new",
  [
    h("button", { type: "submit", "data-keep": "add-speaker" }, "Add a speaker"),
    h("small", {}, "Lines are given in the text: choose some, and press v."),
  ],
  async (fields, clear) => {
    if (!(await attempt(() => sendEdit({ kind: "add", ...fields })))) return;
    clear();
    open = fields.speaker;
    load();
  },
);

/** What is shown of the search for people, while it goes on. @type {HTMLElement | null} */
let search = null;
/** What came of it, if nobody was found. */
let outcome = "";
/** What to do now that people were found: until the panel is left. @type {HTMLElement | null} */
let next = null;

async function findAll(button) {
  const before = namesOf(cast.speakers);
  outcome = "";
  button.nextElementSibling?.remove();
  const bar = h("progress", { max: 3, "aria-label": "Looking for who speaks" });
  const stage = h("span", {}, "Reading the book …");
  const elapsed = h("small", { "aria-hidden": "true" });
  search = h("div", { class: "told", role: "status" }, bar, h("p", { class: "note" }, stage, " ", elapsed));
  search.show = ({ stage: words, step, steps }) => {
    fill(stage, `${capitalized(words)} …`);
    [bar.max, bar.value] = [steps, step];
  };
  button.hidden = true;
  button.after(search);
  const stopClock = stopwatch((time) => fill(elapsed, time));
  const answer = await attempt(() => sendEdit({ kind: "cast" }));
  stopClock();
  search.remove();
  search = null;
  button.hidden = false;
  await load();
  if (!answer) return;
  if (namesOf(cast.speakers) !== before) {
    next = nextSteps();
    draw();
    return;
  }
  outcome = `${capitalized(answer.what)}. Add speakers by name here, or where you give lines to them: choose a line and press v.`;
  draw();
}

const nextSteps = () =>
  h(
    "p",
    { class: "note", role: "status" },
    "Next: look at the names here, for one person may have two. Then decide who says what is in doubt in ",
    h("button", { class: "link", onclick: () => showPane("doubts") }, "Who?"),
    ", and then ",
    h("button", { class: "link", onclick: () => showPane("render") }, "render"),
    ".",
  );
on("event:casting", (event) => search?.show(event));

function row(speaker) {
  const color = `c${colorOf(speaker.name)}`;
  const bar = h("span", { class: `share ${color}` });
  bar.style.width = `${Math.max(1, speaker.share * 100)}%`;
  const isOpen = speaker.name === open;
  const head = h(
    "button",
    {
      class: "plain person",
      "aria-expanded": String(isOpen),
      "data-keep": `cast-${speaker.name}`,
      onclick: () => turn(speaker.name),
    },
    h("span", { class: `name ${color}` }, speaker.name),
    h(
      "span",
      { class: "voice" },
      `${speaker.voice.text}${speaker.casting === "uncast" && speaker.voice.kind === "description" ? " (designed when it first speaks)" : ""}`,
    ),
    h(
      "span",
      { class: "part" },
      `${percent(speaker.share)} · ${counted(speaker.chunks, "line")} · ${span(speaker.seconds)}`,
    ),
    h("span", { class: "bar", "aria-hidden": "true" }, bar),
  );
  return h(
    "li",
    {},
    head,
    ...doubtsAbout(speaker.name).map((words) => h("p", { class: "note" }, words)),
    ...(isOpen ? [personPart(speaker), formOf(speaker)] : []),
  );
}

/** What speaks for merging somebody with another, or for parting their names. @param {string} name */
function doubtsAbout(name) {
  return cast.suspicions.flatMap((one) => {
    if (!one.is_one) return one.name === name ? [`“${one.other}” may be somebody else.`] : [];
    const names = [one.name, one.other];
    if (!names.includes(name)) return [];
    return [`May be the same person as “${names.find((other) => other !== name)}”.`];
  });
}

/** Another name, the pronoun, and who is the same person; not for the narrator, nor for a voice of several. */
function personPart(speaker) {
  const { name, is_narrator, plays } = speaker;
  if (is_narrator || plays.length) return null;
  const part = h(
    "details",
    {
      open: unfolded.has(name),
      ontoggle: () => (part.open ? unfolded.add(name) : unfolded.delete(name)),
    },
    h("summary", { "data-keep": `person-${name}` }, "Rename, merge, pronoun"),
    personDrafts.get(name) ?? personForm(speaker),
  );
  return part;
}

function personForm({ name, aliases, pronoun, shares_voice_of, rendered, samples }) {
  const own = h("input", { type: "text", value: name, autocomplete: "off", spellcheck: "false" });
  const others = cast.speakers.filter((one) => one.name !== name && !one.is_narrator && !one.plays.length);
  const merged = h("p", { class: "note", role: "status" });
  const merge = h("button", {
    "data-keep": `merge-${name}`,
    onclick: () =>
      required(same, "Choose into whom first", true) && change(same.value, { kind: "merge", into: same.value }),
  });
  const voiceOf = (one) => one.shares_voice_of ?? one.name;
  const same = h(
    "select",
    { onchange: tellMerge },
    h("option", { value: "" }, "…"),
    ...others.map((one) => h("option", { value: one.name }, one.name)),
  );
  /** What a merge would do, before it is done. */
  function tellMerge() {
    const other = others.find((one) => one.name === same.value);
    fill(merge, other ? `Merge into ${other.name}` : "Merge");
    if (!other) return fill(merged, `For one person with two names: choose the name that stays.`);
    const isSameVoice = voiceOf(other) === voiceOf({ name, shares_voice_of });
    const voice = isSameVoice ? "" : `, with the voice of ${other.name}`;
    const alias = `“${name}” becomes another name of ${{ she: "hers", he: "his" }[other.pronoun] ?? "theirs"}.`;
    const cost = isSameVoice || !rendered ? "" : ` ${spokenAgain(rendered, name, other.name)}`;
    return fill(merged, `All lines of ${name} go to ${other.name}${voice}; ${alias}${cost}`);
  }
  tellMerge();
  const pronouns = [...new Set([...PRONOUNS, ...(pronoun ? [pronoun] : [])])];
  const called = h(
    "select",
    {},
    ...(pronoun ? [] : [h("option", { value: "" }, "…")]),
    ...pronouns.map((one) => h("option", { value: one, selected: one === pronoun }, one)),
  );
  const change = async (newName, edit) => {
    say("Writing …", "history");
    personDrafts.delete(name); // what is written meanwhile stays
    if (!(await attempt(() => sendCast({ speaker: name, ...edit })))) {
      personDrafts.set(name, form);
      return;
    }
    unfolded.add(newName);
    open = newName;
    await load();
    reveal();
  };
  const form = h(
    "div",
    { class: "voice-form", oninput: () => personDrafts.set(name, form) },
    field("Name", own, "The text may go on using the old name."),
    h(
      "button",
      {
        "data-keep": `rename-${name}`,
        onclick: () =>
          required(own, "Write the new name first", true) &&
          change(own.value.trim(), { kind: "rename", name: own.value }),
      },
      "Rename",
    ),
    field("Pronoun", called, pronoun ? "" : "Unknown: the voice may be a woman's or a man's."),
    h(
      "button",
      {
        "data-keep": `pronoun-${name}`,
        onclick: () =>
          required(called, "Choose a pronoun first", true) &&
          change(name, { kind: "pronoun", pronoun: called.value }),
      },
      "Set pronoun",
    ),
    field(`Merge ${name} into`, same),
    merged,
    merge,
    ...aliases.map((alias) =>
      h(
        "button",
        {
          "data-keep": `split-${alias}`,
          onclick: () => change(alias, { kind: "split", alias }),
        },
        `${alias} is somebody else`,
      ),
    ),
    samples.length
      ? h(
          "button",
          { "data-keep": `part-${name}`, onclick: () => goTo(samples[0].id).then(() => giveLinesOf(name)) },
          `Some lines are somebody else’s …`,
        )
      : null,
  );
  return form;
}

/** What another voice costs. @param {number} rendered @param {string} name @param {string} [voice] whose it is then */
const spokenAgain = (rendered, name, voice) =>
  `${counted(rendered, "line")} of ${name} must then be spoken again${voice ? `, in the voice of ${voice}` : " in the new voice"}.`;

/** An edit of the cast that is being planned. @type {{ version: number, before: number, what: string, command: any } | null} */
let planned = null;

/** Sends an edit of the cast; once the book is planned with it, what must be spoken again is said. */
async function sendCast(edit) {
  const before = state.book.todo.chunks;
  const { version, what, command } = await sendEdit(edit);
  planned = { version, before, what, command };
  return true;
}
on("book", () => {
  if (!planned || state.book.version <= planned.version) return;
  const more = state.book.todo.chunks - planned.before;
  if (more > 0)
    announce(planned.command, `${planned.what}. ${counted(more, "line")} must be spoken again`, {
      words: "Render…",
      run: () => showPane("render"),
    });
  planned = null;
});

/** The form of a speaker's voice: one that somebody has written in stays until the book has that voice. */
function formOf(speaker) {
  const { name } = speaker;
  if (replacedVoices.has(name) && replacedVoices.get(name) !== JSON.stringify(speaker.voice)) {
    replacedVoices.delete(name);
    drafts.delete(name);
  }
  return drafts.get(name) ?? voice(speaker);
}

function turn(name) {
  open = open === name ? "" : name;
  draw();
  reveal();
}

/** Scrolls so that all of the open person is seen, or as much as there is room for. */
function reveal() {
  const part = box.querySelector(".person[aria-expanded=true]")?.parentElement.getBoundingClientRect();
  if (!part) return;
  const view = box.getBoundingClientRect();
  if (part.top < view.top) box.scrollTop += part.top - view.top;
  else if (part.bottom > view.bottom)
    box.scrollTop += Math.min(part.top - view.top, part.bottom - view.bottom);
}

// -- one voice -------------------------------------------------------------------------------------

/**
 * @typedef {{ element: Node, voice: () => Promise<any>, hear?: () => unknown }} Form
 * What a person fills in; `voice` is what the server is told, null where something is missing.
 */

function voice(speaker) {
  const kinds = [
    ["description", "Description"],
    ["preset", "Preset"],
    ["clip", "Recording"],
  ];
  const now = speaker.voice;
  let kind = kinds.some(([name]) => name === now.kind) ? now.kind : "description";
  const line = sampleLine(speaker);
  let isWritten = false;
  /** @type {Record<string, Form>} */
  const forms = { description: descriptionForm(now), preset: presetForm(now), clip: clipForm(now) };
  const place = h("div", {}, forms[kind].element);
  const trouble = h("p", { class: "trouble", role: "alert" });
  const tried = h("p", { class: "note", role: "status" });
  const again = h("button", { type: "button", hidden: true }, icon("play"), "Again");
  const hear = h(
    "button",
    { type: "button", "data-keep": `hear-${speaker.name}`, onclick: hearLine },
    icon("play"),
    "Hear the line",
  );
  const sound = h(
    "button",
    { type: "button", onclick: () => forms[kind].hear() },
    icon("play"),
    "Hear the voice",
  );
  function turnTo(value) {
    kind = value;
    fill(place, forms[kind].element);
    fill(trouble);
    sound.hidden = !forms[kind].hear;
  }
  turnTo(kind);
  /** In the voice of the form, as far as somebody has written in it. */
  async function hearLine() {
    fill(trouble);
    if (!line.text()) return say("Choose a line first");
    hear.disabled = again.hidden = true;
    try {
      const own = isDraft() ? null : isWritten ? await forms[kind].voice() : {};
      if (own) drafts.set(speaker.name, form);
      if (isDraft()) await byDraft(speaker.name, line.text(), tried);
      else if (own) {
        const url = await byModel({ speaker: speaker.name, text: line.text(), voice: own }, tried);
        again.onclick = () => playUrl(url);
        again.hidden = !url;
      }
    } catch (error) {
      fill(tried);
      fill(trouble, error.message);
    }
    hear.disabled = false;
  }
  async function give(event) {
    event.preventDefault();
    fill(trouble);
    try {
      const chosen = await forms[kind].voice();
      if (!chosen) return;
      drafts.set(speaker.name, form);
      replacedVoices.set(speaker.name, JSON.stringify(speaker.voice));
      await sendCast({ kind: "voice", speaker: speaker.name, voice: chosen });
    } catch (error) {
      replacedVoices.delete(speaker.name);
      fill(trouble, error.message);
    }
  }
  /** Described so that it differs from others; it can be changed here then. */
  const ownVoice = () => attempt(() => sendCast({ kind: "own voice", speaker: speaker.name }));
  const form = h(
    "form",
    { class: "voice-form", onsubmit: give, oninput: written },
    speaker.aliases.length
      ? h("p", { class: "note" }, `Also called ${speaker.aliases.join(", ")}`)
      : null,
    speaker.shares_voice_of
      ? h(
          "p",
          { class: "note" },
          `Has the voice of “${speaker.shares_voice_of}”, as others may: one that is given here is their own. `,
          h("button", { type: "button", class: "small", "data-keep": `own-${speaker.name}`, onclick: ownVoice }, "Give a voice of their own"),
        )
      : null,
    line.element,
    h("div", { class: "row" }, hear, again),
    tried,
    choice("Voice", "kind", kinds, kind, turnTo),
    place,
    speaker.rendered ? h("p", { class: "note" }, spokenAgain(speaker.rendered, speaker.name)) : null,
    trouble,
    h(
      "div",
      { class: "row" },
      sound,
      h("button", { class: "main", type: "submit" }, "Give this voice"),
    ),
  );
  function written(event) {
    drafts.set(speaker.name, form);
    replacedVoices.delete(speaker.name);
    isWritten ||= !line.element.contains(event.target);
  }
  return form;
}

function sampleLine(speaker) {
  const own = h("textarea", {
    rows: 3,
    value: speaker.samples[0]?.text ?? "",
    spellcheck: "false",
  });
  const rows = speaker.samples.map((one) =>
    h(
      "li",
      {},
      h(
        "button",
        { type: "button", class: "link", title: "Go there", onclick: () => goTo(one.id) },
        one.id,
      ),
      h(
        "button",
        {
          type: "button",
          class: "plain sample",
          title: "Try voices on this line",
          onclick: () => (own.value = one.text),
        },
        shortened(one.text, 90),
      ),
    ),
  );
  const { length } = rows;
  const count = counted(speaker.chunks, "line");
  return {
    element: h(
      "div",
      {},
      length && length < speaker.chunks ? h("p", { class: "note" }, `${length} of ${count}, to try voices on`) : null,
      length ? h("ul", { class: "samples" }, ...rows) : null,
      field("Words to try voices with", own),
    ),
    text: () => own.value.trim(),
  };
}

/** @returns {Form} */
function descriptionForm(now) {
  const text = h("textarea", {
    rows: 3,
    value: now.description ?? "",
    placeholder: "A woman of about thirty, low and clear, dry humour",
  });
  return {
    element: field("What it is like", text, "The model designs a voice like this when it first speaks."),
    voice: async () => required(text, "Describe the voice first", { description: text.value.trim() }),
  };
}

const NO_PRESETS = "There are no presets (voices kept for all books) yet. In a terminal: narrator voices add";

/** @returns {Form} */
function presetForm(now) {
  const options = cast.presets
    .filter((one) => !one.trouble)
    .map((one) =>
      h(
        "option",
        { value: one.name },
        one.description ? `${one.name}: ${one.description}` : one.name,
      ),
    );
  const select = h("select", {}, ...options);
  if (now.preset) select.value = now.preset;
  const isChosen = () => Boolean(select.value) || (say(NO_PRESETS), false);
  return {
    element: options.length
      ? field("Preset", select)
      : h("p", { class: "note" }, NO_PRESETS),
    voice: async () => (isChosen() ? { preset: select.value } : null),
    hear: () => isChosen() && playUrl(`/sound/voices/${encodeURIComponent(select.value)}`),
  };
}

/** @returns {Form} */
function clipForm(now) {
  /** @type {File | null} */
  let clip = null;
  let path = now.reference ?? "";
  const shown = h("p", { class: "note", role: "status" }, path || "No recording yet");
  const file = h("input", {
    type: "file",
    accept: "audio/*,.wav,.flac,.mp3,.m4a,.ogg",
    class: "vh",
    onchange: () => file.files[0] && take(file.files[0]),
  });
  const words = h("textarea", {
    rows: 3,
    value: now.transcript ?? "",
    placeholder: "Its words, exactly",
  });
  const origin = h("input", {
    value: now.origin ?? "",
    maxlength: 1000,
    placeholder: "Ann Smith, recorded in March for this book",
  });
  const consent = h("input", {
    value: now.consent ?? "",
    maxlength: 1000,
    placeholder: "She agreed by letter",
  });
  const drop = h(
    "label",
    { class: "drop" },
    file,
    icon("clip"),
    h("span", {}, "Drop a recording here, or choose a file"),
    h("small", {}, "5 to 20 seconds of one voice, nothing else"),
  );
  drop.addEventListener("dragover", (event) => {
    event.preventDefault();
    drop.classList.add("over");
  });
  drop.addEventListener("dragleave", () => drop.classList.remove("over"));
  drop.addEventListener("drop", (event) => {
    event.preventDefault();
    drop.classList.remove("over");
    if (event.dataTransfer.files[0]) take(event.dataTransfer.files[0]);
  });
  function take(one) {
    clip = one;
    words.value = origin.value = consent.value = "";
    fill(shown, `${one.name}: now its words`);
    words.dispatchEvent(new Event("input", { bubbles: true })); // a drop makes none
    words.focus();
  }
  /** It is judged with its words: how long they are, whether they fit. */
  async function send() {
    const answer = await sendClip(clip, words.value.trim());
    path = answer.path;
    clip = null;
    fill(shown, `${answer.path}, ${answer.seconds.toFixed(1)} s`);
    if (answer.remarks.length) say(answer.remarks.join("; "));
  }
  return {
    element: h(
      "div",
      {},
      drop,
      shown,
      field("What it says", words),
      field("Whose voice it is", origin, "For you: it stays in the project."),
      field("Who agreed to its use", consent),
    ),
    voice: async () => {
      if (!clip && !path) say("Choose a recording first");
      else if (required(words, "Write down what the recording says first", true)) {
        if (clip) await send();
        return {
          reference: path,
          transcript: words.value.trim(),
          origin: origin.value.trim(),
          consent: consent.value.trim(),
        };
      }
      return null;
    },
    hear: () => (clip ? playBlob(clip, "clip") : say("Choose a recording first")),
  };
}

function required(control, words, value) {
  if (control.value.trim()) return value;
  say(words);
  control.focus();
  return null;
}

// -- a line in a voice -----------------------------------------------------------------------------

/** Whether the draft voice reads it: it is looked at, or the model is not here. */
const isDraft = () => state.book.draft || !state.book.can.model;

async function byDraft(speaker, text, tried) {
  const { draft, can } = state.book;
  const answer = await fetchSound("/api/audition", { speaker, text });
  if (answer.sound) await playBlob(answer.sound, `audition:${speaker}`);
  fill(tried, "Read by a quick voice. ", draft ? "Choose the model to hear this one." : can.why_not);
}

/** @type {Map<string, any>} How auditions ended, by job: before the job is known here, even. */
const auditionEnds = new Map();
/** @type {Map<string, { tried: HTMLElement, done: (event: any) => void }>} Those waited for. */
const auditions = new Map();

/** Where what it said is heard, if it said anything. */
async function byModel(line, tried) {
  fill(tried, state.book.jobs.running ? "Waiting for its turn …" : "Starting …");
  const answer = await submit({ kind: "audition", line });
  const id = answer?.job.id;
  if (!id) return void fill(tried);
  const { exit, error, summary } =
    auditionEnds.get(id) ?? (await new Promise((done) => auditions.set(id, { tried, done })));
  auditions.delete(id);
  auditionEnds.delete(id);
  if (!summary?.audition) return void fill(tried, exit === STOPPED ? "Stopped" : error);
  const { name, seconds, faults } = summary.audition;
  const url = `/sound/auditions/${name}`;
  fill(tried, `${seconds.toFixed(1)} s, ${faults.join("; ") || "no faults found"}`);
  await playUrl(url);
  return url;
}

on("event:job", (event) => {
  if (event.event === "ended" && event.kind === "audition") {
    auditionEnds.set(event.job, event);
    auditions.get(event.job)?.done(event);
  } else if (event.event === "progress" && event.phase === "starting") {
    const one = auditions.get(event.job);
    if (one) fill(one.tried, event.what);
  } else if (event.event === "gone") {
    for (const id of event.lost) {
      auditionEnds.set(id, { error: "The job was lost: try again" });
      auditions.get(id)?.done(auditionEnds.get(id));
    }
  }
});

// A file dropped beside would be opened by the browser, in place of the page.
addEventListener("dragover", (event) => {
  if (!event.dataTransfer.types.includes("Files")) return;
  if (!event.defaultPrevented) event.dataTransfer.dropEffect = "none";
  event.preventDefault();
});
addEventListener("drop", (event) => {
  if (event.dataTransfer.types.includes("Files")) event.preventDefault();
});

on("pane", (name) => {
  if (name === "cast") load();
  else next = null;
});
on("edited", () => pane() === "cast" && cast && load()); // before the book is planned with it
const namesOf = (speakers) => speakers.map(({ name }) => name).join("\n");
/**
 * An open form that nobody writes in is left alone, but for another voice, given or undone, and for
 * other people.
 */
function isAsShown() {
  if (namesOf(state.book.speakers) !== namesOf(cast?.speakers ?? [])) return false;
  const read = state.book.speakers.find(({ name }) => name === open)?.voice;
  return read === cast?.speakers.find(({ name }) => name === open)?.voice.text;
}
on(
  "book",
  () => pane() === "cast" && (!open || drafts.has(open) || !isAsShown()) && load(),
);

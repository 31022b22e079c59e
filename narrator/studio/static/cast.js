// The cast: who speaks, with which voice; voices tried on lines of the book, changed, clips dropped in.

import { attempt, sendEdit } from "./actions.js";
import { get, heard, sendClip } from "./api.js";
import { choice, field } from "./dialogs.js";
import { byId, fill, h, icon, refill } from "./dom.js";
import { goTo } from "./loading.js";
import { complain, say } from "./messages.js";
import { pane } from "./panes.js";
import { playBlob } from "./samples.js";
import { colorOf, on } from "./store.js";
import { counted, percent, shortened, span } from "./words.js";

const box = byId("pane-cast");

/** @type {any} What /api/cast says. */
let cast = null;
/** The speaker whose voice is open. */
let open = "";

async function load() {
  const answer = await attempt(() => get("/api/cast"));
  if (!answer) return;
  cast = answer;
  draw();
}

function draw() {
  if (!cast) return;
  const rows = [...cast.speakers].sort((one, other) => other.seconds - one.seconds).map(row);
  refill(box, h("ul", { class: "cast" }, ...rows));
}

function row(speaker) {
  const color = `c${colorOf(speaker.name)}`;
  const bar = h("span", { class: `share ${color}` });
  bar.style.width = `${Math.max(1, speaker.share * 100)}%`;
  const isOpen = speaker.name === open;
  const head = h(
    "button",
    { class: "plain person", "aria-expanded": String(isOpen), "data-keep": `cast-${speaker.name}`, onclick: () => turn(speaker.name) },
    h("span", { class: `name ${color}` }, speaker.name),
    h("span", { class: "voice" }, speaker.casting === "uncast" ? "no voice of its own yet" : speaker.voice.text),
    h("span", { class: "part" }, `${percent(speaker.share)} · ${counted(speaker.chunks, "chunk")} · ${span(speaker.seconds)}`),
    h("span", { class: "bar", "aria-hidden": "true" }, bar),
  );
  return h("li", {}, head, isOpen ? voice(speaker) : null);
}

function turn(name) {
  open = open === name ? "" : name;
  draw();
}

// -- one voice -------------------------------------------------------------------------------------

function voice(speaker) {
  const kinds = [["description", "Description"], ["preset", "Preset"], ["clip", "Clip"]];
  const now = speaker.voice;
  let kind = kinds.some(([name]) => name === now.kind) ? now.kind : "description";
  const line = sampleLine(speaker);
  const forms = { description: descriptionForm(now), preset: presetForm(now), clip: clipForm(now) };
  const place = h("div", {}, forms[kind].element);
  const wanted = () => forms[kind].voice();
  const hear = h("button", { type: "button", onclick: () => audition(speaker.name, wanted(), line.text(), hear) }, icon("play"), "Hear it");
  return h(
    "form",
    {
      class: "voice-form",
      onsubmit: (event) => {
        event.preventDefault();
        const chosen = wanted();
        if (chosen) attempt(() => sendEdit({ kind: "voice", speaker: speaker.name, voice: chosen }).then(load));
      },
    },
    speaker.aliases.length ? h("p", { class: "note" }, `Also called ${speaker.aliases.join(", ")}`) : null,
    line.element,
    choice("Voice", "kind", kinds, kind, (value) => {
      kind = value;
      fill(place, forms[kind].element);
    }),
    place,
    h("div", { class: "row" }, hear, h("button", { class: "main", type: "submit" }, "Give this voice")),
  );
}

/** The line that voices are tried on: one of the book's, which may be changed. */
function sampleLine(speaker) {
  const own = h("textarea", { rows: 3, value: speaker.samples[0]?.text ?? "", spellcheck: "false" });
  const rows = speaker.samples.map((one) =>
    h(
      "li",
      {},
      h("button", { type: "button", class: "link", title: "Go there", onclick: () => goTo(one.id) }, one.id),
      h("button", { type: "button", class: "plain sample", title: "Try voices on this line", onclick: () => (own.value = one.text) }, shortened(one.text, 90)),
    ),
  );
  return {
    element: h("div", {}, rows.length ? h("ul", { class: "samples" }, ...rows) : null, field("Tried on", own)),
    text: () => own.value.trim(),
  };
}

function descriptionForm(now) {
  const text = h("textarea", { rows: 3, value: now.description ?? "", placeholder: "A woman of about thirty, low and clear, dry humour" });
  return {
    element: field("What it is like", text),
    voice: () => asked(text, "Describe the voice first", { description: text.value.trim() }),
  };
}

function presetForm(now) {
  const options = cast.presets.map((one) => h("option", { value: one.name }, `${one.name}: ${one.description}`));
  const select = h("select", {}, ...options);
  if (now.preset) select.value = now.preset;
  return {
    element: options.length ? field("Preset", select) : h("p", { class: "note" }, "There are no presets yet: narrator voices add"),
    voice: () => (select.value ? { preset: select.value } : null),
  };
}

function clipForm(now) {
  let path = now.reference ?? "";
  const shown = h("p", { class: "note", role: "status" }, path || "No clip yet");
  const file = h("input", { type: "file", accept: "audio/*,.wav,.flac,.mp3,.m4a,.ogg", class: "vh", onchange: () => file.files[0] && send(file.files[0]) });
  const words = h("textarea", { rows: 3, value: now.transcript ?? "", placeholder: "Its words, exactly" });
  const drop = h(
    "label",
    { class: "drop" },
    file,
    icon("clip"),
    h("span", {}, "Drop a clip here, or choose a file"),
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
    if (event.dataTransfer.files[0]) send(event.dataTransfer.files[0]);
  });
  async function send(one) {
    fill(shown, `${one.name} …`);
    try {
      const answer = await sendClip(one);
      path = answer.path;
      fill(shown, `${answer.path}, ${answer.seconds.toFixed(1)} s${answer.remarks.length ? `: ${answer.remarks.join("; ")}` : ""}`);
      words.focus();
    } catch (error) {
      fill(shown, error.message);
    }
  }
  return {
    element: h("div", {}, drop, shown, field("What it says", words)),
    voice: () => (path ? asked(words, "Write down the clip's words first", { reference: path, transcript: words.value.trim() }) : say("Choose a clip first")),
  };
}

function asked(control, words, value) {
  if (control.value.trim()) return value;
  say(words);
  control.focus();
  return null;
}

async function audition(speaker, chosen, text, button) {
  if (!chosen) return;
  button.disabled = true;
  try {
    const answer = await heard("/api/audition", { speaker, voice: chosen, text });
    if (answer.sound) await playBlob(answer.sound, `audition:${speaker}`);
    else say("It is being spoken");
  } catch (error) {
    complain(error);
  }
  button.disabled = false;
}

on("pane", (name) => name === "cast" && load());
on("book", () => pane() === "cast" && !box.contains(document.activeElement) && load());

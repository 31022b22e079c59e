// Two takes of a chunk against each other: as loud as each other, and blind where one wants it.

import { open } from "./dialogs.js";
import { fill, h, icon, isWriting, unseen } from "./dom.js";
import { preference, savePreference } from "./preferences.js";
import { say } from "./messages.js";
import { drawSpectrograms } from "./pictures.js";
import { heardNow, playUrl, share, stop } from "./samples.js";
import { colorOf, on, scriptOf } from "./store.js";
import { shortened } from "./words.js";

const SIDES = ["A", "B"];

/**
 * @typedef {{ title: string, url: string, level: number | null, number: number | null,
 *   pinned: boolean }} Take its number where it can be pinned
 * @param {import("./store.js").Chunk} chunk @param {Take[]} takes @param {Take} first
 * @param {Take} second
 * @param {(take: Take, what: string) => Promise<(() => unknown) | undefined>} pinIt resolves to what
 * takes it back
 */
export function compare(chunk, takes, first, second, pinIt) {
  let pair = [first, second];
  /** As they are heard: in another order where nobody is to know. */
  let sides = pair;
  let isTold = false;
  /** Whether a take was chosen: somebody who did that does not want the sound to run on. */
  let isChosen = false;
  const said = h("div", { class: "outcome", role: "status" });
  const levelled = tick("Same loudness", "levelled", true);
  const blind = tick("Blind: shows which is which after you choose", "blind", false, begin);
  const buttons = SIDES.map((side, place) =>
    h("button", { type: "button", class: "side", onclick: () => toggle(place) }, icon("play"), unseen("Hear "), h("strong", {}, side), h("small", {})),
  );
  /** Both sounds, which is which: not shown where nobody is to know. */
  const pictures = h("div", { class: "pair", "aria-hidden": "true" });
  const verdicts = [0, 1, null].map((place) =>
    h(
      "button",
      { type: "button", class: "small", onclick: () => choose(place) },
      place === null ? "No difference" : `${SIDES[place]} is better`,
    ),
  );

  function begin() {
    stop();
    isTold = !blind.input.checked;
    sides = blind.input.checked && Math.random() < 0.5 ? [pair[1], pair[0]] : pair;
    fill(said);
    for (const button of verdicts) button.disabled = false;
    const canvases = SIDES.map(() => h("canvas", { class: "spectrogram", width: 240, height: 64 }));
    fill(pictures, ...canvases);
    drawSpectrograms(canvases, sides.map((one) => one.url));
    draw();
  }

  function draw() {
    choices.hidden = pictures.hidden = !isTold;
    document.body.classList.toggle("blind", !isTold);
    const now = heardNow();
    buttons.forEach((button, place) => {
      const isOn = now === named(place);
      button.setAttribute("aria-pressed", String(isOn));
      button.querySelector("use").setAttribute("href", isOn ? "#i-pause" : "#i-play");
      button.querySelector("small").textContent = isTold ? sides[place].title : "";
    });
  }

  const named = (place) => `compare:${place}`;
  const playing = () => SIDES.findIndex((_, place) => heardNow() === named(place));

  /** The other one goes on where the first was. */
  function hear(place) {
    const at = playing() < 0 ? 0 : share();
    const levels = sides.map((one) => one.level);
    const isMatched = levelled.input.checked && levels.every((level) => Number.isFinite(level));
    const gain = isMatched ? 10 ** ((Math.min(...levels) - levels[place]) / 20) : 1;
    playUrl(sides[place].url, named(place), at > 0.98 ? 0 : at, gain);
  }

  const toggle = (place) => (playing() === place ? stop() : hear(place));

  /** Pins the better one at once. Which was which is told here; without that the window closes. */
  async function choose(place) {
    const isBlind = blind.input.checked;
    const better = place === null ? null : sides[place];
    const isNew = Boolean(better?.number) && !better.pinned;
    isChosen = true;
    isTold = true;
    draw();
    const names = SIDES.map((side, i) => `${side} was ${lower(sides[i].title)}`).join("; ");
    const takeBack = isNew ? await pinIt(better, `Take ${better.number} of ${chunk.id} is pinned`) : undefined;
    if (isNew && !takeBack) return; // what went wrong is said
    const words = outcome(better);
    if (!isBlind) {
      if (!isNew) say(words, "history");
      dialog()?.close();
      return;
    }
    const undo = () => {
      takeBack();
      dialog()?.close();
    };
    const close = h("button", { type: "button", class: "main", onclick: () => dialog()?.close() }, "Close");
    fill(
      said,
      h("p", {}, `${names}.`),
      h("p", {}, words),
      h("div", { class: "row" }, close, takeBack && h("button", { type: "button", onclick: undo }, "Undo")),
    );
    for (const button of verdicts) button.disabled = true;
    close.focus();
  }

  function outcome(better) {
    if (!better) return "No difference: both takes stay as they are.";
    if (!better.number) return `Better: ${lower(better.title)}. It is another voice's, and cannot be pinned here.`;
    return `Better: take ${better.number}. It ${better.pinned ? "stays" : "is"} pinned.`;
  }

  const dialog = () => said.closest("dialog");
  const selects = [0, 1].map((place) => {
    const select = h(
      "select",
      {
        "aria-label": place ? "The other take" : "One take",
        onchange: () => {
          pair = pair.map((one, i) => (i === place ? takes[select.selectedIndex] : one));
          begin();
        },
      },
      ...takes.map((one) => h("option", { selected: one === pair[place] }, one.title)),
    );
    return select;
  });
  /** Which two: not shown where nobody is to know. */
  const choices = h("div", { class: "pair" }, ...selects);
  const content = h(
    "div",
    { class: "compare", onkeydown: press },
    h("blockquote", { class: `c${colorOf(chunk.speakers[0])}`, ...scriptOf(chunk) }, shortened(chunk.text, 220)),
    choices,
    h("div", {}, levelled.label, blind.label),
    h("div", { class: "pair" }, ...buttons),
    pictures,
    h("p", { class: "note" }, h("kbd", {}, "a"), " ", h("kbd", {}, "b"), " hear one · ", h("kbd", {}, "x"), " the other, from the same place"),
    h("div", { class: "row wrap" }, ...verdicts),
    said,
  );

  function press(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || isWriting(event.target)) return;
    const key = event.key.toLowerCase();
    if (key === "a" || key === "b") hear("ab".indexOf(key));
    else if (key === "x") hear(playing() === 0 ? 1 : 0);
    else return;
    event.preventDefault();
  }

  const end = on("sample", draw);
  const closed = open({ title: `Compare takes of ${chunk.id}`, content: [content], resumes: () => !isChosen });
  begin(); // pictures have the colour of where they are
  buttons[0].focus();
  return closed.then(() => {
    end();
    document.body.classList.remove("blind");
    stop();
  });
}

const lower = (title) => title[0].toLowerCase() + title.slice(1);

/** A box that the browser remembers. */
function tick(words, name, otherwise, onChange = () => {}) {
  const input = h("input", {
    type: "checkbox",
    checked: preference(name, otherwise),
    onchange: () => {
      savePreference(name, input.checked);
      onChange();
    },
  });
  return { input, label: h("label", { class: "tick" }, input, h("span", {}, words)) };
}

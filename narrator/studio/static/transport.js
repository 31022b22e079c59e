// The buttons under the text: play, one on, one back, speed, loudness; and what it is that is heard.

import { attempt, review, step } from "./actions.js";
import { post } from "./api.js";
import { byId, fill, h, icon } from "./dom.js";
import { preference } from "./preferences.js";
import { loadBook, reloadChapter } from "./loading.js";
import { say } from "./messages.js";
import {
  changeRate,
  hasSound,
  isPlaying,
  length,
  place,
  rate,
  setRate,
  setVolume,
  toggle,
} from "./player.js";
import { chosenChunk, on, state } from "./store.js";
import { clock, stateWords } from "./words.js";

const playButton = byId("play");

function draw() {
  const isOn = isPlaying();
  fill(playButton, icon(isOn ? "pause" : "play"));
  playButton.setAttribute("aria-label", isOn ? "Pause" : "Play");
  playButton.disabled = !state.chapter; // it is asked for
  playButton.classList.toggle("off", !hasSound());
  byId("rate").textContent = `${rate()}×`;
}

function drawTime() {
  const whole = ofWhole();
  fill(byId("time"), `${clock(place())} / ${clock(length())}`, whole && h("span", { class: "more" }, whole));
}

/** How long the chapter will be, while some of it is not rendered. */
function ofWhole() {
  const whole = state.book?.chapters.find((one) => one.number === state.chapter?.number);
  return whole && whole.rendered < whole.chunks ? `, about ${clock(whole.length)} when all is rendered` : "";
}

/** Which voice and which sound: always said. */
function drawLabel() {
  const { book, chapter } = state;
  if (!book || !chapter) return;
  const [voice, ...rest] = chapter.sound.label.split(":");
  fill(byId("label"), rest.length ? h("b", {}, `${voice}:`) : voice, rest.join(":"));
}

/** On narrow screens the way to the panel says what is chosen. */
function drawChosen() {
  const chunk = chosenChunk();
  byId("to-side-words").textContent = chunk
    ? `${chunk.id} ${chunk.speakers[0]}${chunk.state === "good" ? "" : `, ${stateWords(chunk.state)}`}`
    : "";
  byId("to-review").disabled = !chunk;
  byId("to-review").setAttribute("aria-pressed", String(Boolean(chunk?.reviewed)));
}

playButton.addEventListener("click", toggle);
byId("before").addEventListener("click", () => step(-1));
byId("after").addEventListener("click", () => step(1));
byId("to-review").addEventListener("click", () => review(false).then(drawChosen));
byId("slower").addEventListener("click", () => changeRate(-1));
byId("faster").addEventListener("click", () => changeRate(1));
byId("rate").addEventListener("click", () => setRate(1));
const volume = byId("volume");
volume.value = preference("volume", 1);
volume.addEventListener("input", () => setVolume(Number(volume.value)));

for (const radio of document.querySelectorAll("#voice input")) {
  radio.addEventListener("change", () => useVoice(radio.value === "draft"));
}

async function useVoice(draft) {
  await attempt(async () => {
    const answer = await post("/api/draft", { draft });
    if (answer.draft !== draft) say(answer.why_not, "voice");
    else say(draft ? "The draft voice is shown" : "The model is shown", "voice");
  });
  await loadBook();
  reloadChapter();
}

function drawVoice() {
  const { draft, can } = state.book;
  for (const radio of document.querySelectorAll("#voice input")) {
    radio.checked = (radio.value === "draft") === draft;
    const isThere = radio.value === "draft" ? can.draft : can.model;
    radio.parentElement.title = isThere ? "" : (can.why_not ?? "");
    radio.parentElement.classList.toggle("absent", !isThere);
  }
}

on("player", draw);
on("player", drawTime);
on("time", drawTime);
on("sought", drawTime);
on("sound", () => {
  draw();
  drawTime();
  drawLabel();
});
on("chapter", drawLabel);
on("chapter", drawChosen);
on("chosen", drawChosen);
on("book", () => {
  drawVoice();
  drawTime();
  drawLabel();
});
draw();

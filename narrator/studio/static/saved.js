// The report as a file of its own: its numbers are in the page, and so is the sound of doubtful takes.

import { byId, fill, h } from "./dom.js";
import { report } from "./report.js";
import { clock } from "./words.js";

const data = JSON.parse(document.querySelector("script[type='application/json']").textContent);
const sample = h("audio", {});

/** Plays a player from a time on; all others stop. @param {HTMLAudioElement} player */
function play(player, seconds) {
  for (const other of [sample, ...document.querySelectorAll("audio")]) other.pause();
  const go = () => {
    player.currentTime = seconds;
    player.play();
  };
  if (player.readyState) go();
  else {
    player.addEventListener("loadedmetadata", go, { once: true });
    player.load();
  }
}

const playerOf = (chapter) => byId(`player-${chapter.number}`);

function hear(place, isEnd = false) {
  const chapter = data.chapters[place.chapter - 1];
  const time = isEnd ? place.stop - 1 : place.start - 0.2;
  const player = playerOf(chapter);
  const clip = data.clips[place.chunk];
  if (clip && !isEnd) {
    sample.src = clip;
    play(sample, 0);
  } else if (player && place.start !== null) {
    player.closest("article").scrollIntoView({ block: "center" });
    play(player, Math.max(0, chapter.from + time));
  }
}

const canHear = (place) => place.start !== null && data.chapters[place.chapter - 1].sound;

const hands = {
  press: hear,
  go(place, isEnd) {
    if (!canHear(place) && !(data.clips[place.chunk] && !isEnd)) return place.chunk;
    const when = place.start === null ? "" : ` at ${clock(place.start)}`;
    return h("button", { class: "link", title: `Hear it${when}`, onclick: () => hear(place, isEnd) }, place.chunk);
  },
  seek(chapter, seconds) {
    const player = playerOf(chapter);
    if (player) play(player, chapter.from + seconds);
  },
  sound({ number, sound, from }) {
    if (!sound) return null;
    const player = h("audio", {
      id: `player-${number}`,
      controls: true,
      preload: "none",
      src: `${sound}#t=${from.toFixed(2)}`,
      "aria-label": `Chapter ${number}`,
      onerror: () => player.replaceWith(h("p", { class: "note" }, `The sound is not here: ${decodeURIComponent(sound)} was not handed on with this page.`)),
    });
    return player;
  },
};

fill(byId("report"), ...report(data, hands));

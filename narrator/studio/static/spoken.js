// Marks the word that is being said, in the chunk that is heard. Nothing of the text is drawn anew:
// browsers paint a highlight over it, where they can.

import { get } from "./api.js";
import { byId } from "./dom.js";
import { isPlaying, place } from "./player.js";
import { on, state } from "./store.js";

const NAME = "spoken";
const highlights = globalThis.CSS?.highlights;

/** First and last letter, start and stop in seconds. @typedef {[number, number, number, number]} Word */
/** By chunk; empty while they are asked for. @type {Record<string, Word[]>} */
let words = {};
/** The chapter and the address of the sound that is loaded. */
let sound = { number: 0, url: "" };
/** The word that is marked. @type {Word | undefined} */
let marked;

/** The words of a chunk and of those after it, by the chapter's sound. @param {string} id */
async function ask(id) {
  const of = sound;
  words[id] = [];
  try {
    const from = `v=${of.url.split("/").pop()}&from=${encodeURIComponent(id)}`;
    const answer = await get(`/api/words/${of.number}?${from}`);
    if (sound === of) Object.assign(words, answer.words);
  } catch {
    // The chapter sounds otherwise now, and its new sound comes with new words.
  }
}

function unmark() {
  marked = undefined;
  highlights.delete(NAME);
}

function mark() {
  if (!isPlaying()) return;
  const chunk = state.chapter?.chunks[state.playing];
  if (!chunk || !sound.url) return;
  if (!words[chunk.id]) ask(chunk.id);
  const now = place() + 0.02;
  const word = words[chunk.id].findLast(([, , start]) => start <= now);
  if (!word || word[3] < now - 0.3) {
    if (marked) unmark();
    return;
  }
  if (word === marked) return;
  const range = rangeOf(chunk, word);
  if (!range) return;
  marked = word;
  highlights.set(NAME, new Highlight(range));
}

/** Where it is drawn: a search may have cut the text into pieces. */
function rangeOf({ id }, [first, last]) {
  const text = byId("prose").querySelector(`[data-chunk="${CSS.escape(id)}"] .words`);
  if (!text) return null;
  const range = new Range();
  const walker = document.createTreeWalker(text, NodeFilter.SHOW_TEXT);
  let from = 0;
  let isBegun = false;
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const to = from + node.data.length;
    if (!isBegun && first < to) {
      range.setStart(node, first - from);
      isBegun = true;
    }
    if (isBegun && last <= to) {
      range.setEnd(node, last - from);
      return range;
    }
    from = to;
  }
  return null;
}

if (highlights) {
  on("time", mark);
  on("sound", () => {
    sound = { number: state.chapter.number, url: state.chapter.sound.url ?? "" };
    words = {};
    unmark();
  });
  on("sought", unmark);
  on("opened", unmark);
  on("playing", unmark);
  on("player", () => isPlaying() || unmark());
}

// The page begins here: the book, the chapter where one was, and what belongs to no other module.

import { redo, undoState, undo } from "./actions.js";
import { listen } from "./api.js";
import "./banner.js";
import "./bookreport.js";
import "./cast.js";
import "./chapters.js";
import { byId } from "./dom.js";
import { loadDoubts } from "./doubts.js";
import "./find.js";
import "./heard.js";
import "./inspector.js";
import "./jobs.js";
import "./keys.js";
import { lastPlace } from "./preferences.js";
import "./presses.js";
import { loadBook, openChapter } from "./loading.js";
import "./look.js";
import "./lexicon.js";
import "./people.js";
import "./pickups.js";
import { playFrom } from "./player.js";
import { canEdit } from "./rights.js";
import { choose, on, state } from "./store.js";
import { focusProse, onActivate } from "./prose.js";
import { giveSpeaker } from "./speakers.js";
import { onGive } from "./stretch.js";
import "./spoken.js";
import "./render.js";
import "./transport.js";
import "./wave.js";

onGive(giveSpeaker);

onActivate((place) => {
  state.held = false;
  choose(place, { scroll: false });
  playFrom(place);
});

// -- which chapter ---------------------------------------------------------------------------------

/** #3 is a chapter, #3.12 a chunk. */
function fromAddress() {
  const [, number, chunk] = /^#(\d+)(\.\d+)?$/.exec(location.hash) ?? [];
  return number ? { number: Number(number), chunk: chunk ? number + chunk : undefined } : null;
}

addEventListener("hashchange", () => {
  const there = fromAddress();
  if (there && (there.chunk || there.number !== state.chapter?.number))
    openChapter(there.number, there);
});

on("opened", () => {
  if (fromAddress()?.number !== state.chapter.number)
    history.pushState(null, "", `#${state.chapter.number}`);
  title();
});

let isBegun = false;
on("book", () => {
  title();
  drawHistory();
  if (isBegun || !state.book.chapters.length) return;
  isBegun = true;
  const before = lastPlace(state.book);
  const numbers = state.book.chapters.map((one) => one.number);
  const there = fromAddress();
  const number = [there?.number, before.chapter, numbers[0]].find((one) => numbers.includes(one));
  const chunk = there?.chunk ?? (number === before.chapter ? before.chunk : undefined);
  history.replaceState(null, "", `#${number}`);
  const time = there?.chunk || number !== before.chapter ? undefined : before.time;
  openChapter(number, { chunk, time }).then(focusProse);
  if (canEdit) loadDoubts();
});

function title() {
  const { book, chapter } = state;
  if (!book) return;
  byId("title").textContent = book.title;
  byId("title").lang = byId("author").lang = book.script.lang;
  byId("author").textContent = book.author ?? "";
  document.title = chapter ? `${chapter.title} — ${book.title}` : book.title;
}

// -- undo ------------------------------------------------------------------------------------------

function drawHistory() {
  const { undo: last, redo: next } = undoState();
  for (const [id, what, word, key] of [
    ["undo", last, "Undo", "u"],
    ["redo", next, "Redo", "Shift-u"],
  ]) {
    const button = byId(id);
    button.disabled = !what;
    const words = what ? `${word}: ${what}` : `Nothing to ${word.toLowerCase()}`;
    button.title = `${words} (${key})`;
    button.setAttribute("aria-label", words);
  }
}
on("history", drawHistory);
byId("undo").addEventListener("click", undo);
byId("redo").addEventListener("click", redo);

listen();
loadBook();

// Every key of the page, in one table: what it does, and what the list that `?` opens says of it.

import {
  nextDoubtful,
  redo,
  review,
  reviewToHere,
  speakAgain,
  step,
  undo,
} from "./actions.js";
import { closeReport, isReportOpen, openReport } from "./bookreport.js";
import { isOpen, open, field } from "./dialogs.js";
import { openDesk } from "./desk.js";
import { pressDoubtKey, turnDoubt } from "./doubts.js";
import { byId, h, isWriting } from "./dom.js";
import { editWords, flag, sayItAs } from "./edits.js";
import { nextFound, openFind } from "./find.js";
import { openRender } from "./jobs.js";
import { preference } from "./preferences.js";
import { goTo, openChapter } from "./loading.js";
import { closeError } from "./messages.js";
import { closeOver, openSide, pane, showPane } from "./panes.js";
import { changeRate, place, playFrom, seek, setRate, toggle } from "./player.js";
import { focusProse } from "./prose.js";
import { canEdit } from "./rights.js";
import { giveSpeaker } from "./speakers.js";
import { state } from "./store.js";
import { clearStretch, extendStretch } from "./stretch.js";
import { compareTakes, hearKey, pinHeard, unpinHeard } from "./takes.js";
import { seconds } from "./words.js";
import { zoom } from "./wave.js";

/** The first keys of rows for people who listen and flag: they have no others. */
const LISTENING = new Set([
  ..."[zng/ofuil?.",
  ...["Space", "Enter", "ArrowLeft", "ArrowDown", "ArrowUp", "1…9", "Escape"],
]);

/** @type {[string, [string, string[], (event: KeyboardEvent) => unknown][]][]} */
const ALL_KEYS = [
  [
    "Listen",
    [
      ["Play, pause", ["Space"], () => toggle()],
      ["Play from the chosen line", ["Enter"], () => playFrom(state.chosen)],
      [
        "Five seconds back, forward",
        ["ArrowLeft", "ArrowRight"],
        (event) => seek(place() + (event.key === "ArrowLeft" ? -5 : 5)),
      ],
      [
        "Slower, faster; normal speed",
        ["[", "]", "-", "+", "="],
        (event) => (event.key === "=" ? setRate(1) : changeRate("[-".includes(event.key) ? -1 : 1)),
      ],
      ["Zoom in on the waveform", ["z"], () => zoom()],
    ],
  ],
  [
    "Go",
    [
      ["Next line", ["ArrowDown", "j"], (event) => (event.shiftKey ? extendStretch(1) : step(1))],
      ["Previous line", ["ArrowUp", "k"], (event) => (event.shiftKey ? extendStretch(-1) : step(-1))],
      [
        "Choose more: the next line too, or the previous one",
        ["J", "K"],
        (event) => extendStretch(event.key.toLowerCase() === "j" ? 1 : -1),
      ],
      [
        "Next doubtful or flagged, previous one",
        ["n", "N"],
        (event) => nextDoubtful(!event.shiftKey ? 1 : -1),
      ],
      [
        "Next chapter, previous chapter",
        [".", ","],
        (event) => turnChapter(event.key === "." ? 1 : -1),
      ],
      ["Go to a time or a line", ["g"], () => goToTime()],
      ["Find in the book", ["/"], () => openFind()],
      ["Next result, previous one", ["o", "O"], (event) => nextFound(!event.shiftKey ? 1 : -1)],
    ],
  ],
  [
    "Mend",
    [
      ["Hear a take by its number", ["1…9"], () => {}],
      [
        "Pin the take heard last, unpin",
        ["p", "P"],
        (event) => (!event.shiftKey ? pinHeard() : unpinHeard()),
      ],
      ["Speak again", ["s"], () => speakAgain(preference("count", 1))],
      ["Retake desk: other settings for the next takes", ["d"], () => openDesk()],
      ["Compare two takes", ["x"], () => compareTakes()],
      ["Flag with a note", ["f"], () => flag()],
      ["Reviewed, on to the next line", ["r"], () => review()],
      ["Reviewed up to here", ["h"], () => reviewToHere()],
      ["Edit words", ["e"], () => editWords()],
      ["Say it as", ["w"], () => sayItAs()],
      ["Speaker of all that is chosen", ["v"], () => giveSpeaker()],
      ["Undo, redo: edits, flags, reviewed, pins", ["u", "U"], (event) => (!event.shiftKey ? undo() : redo())],
    ],
  ],
  [
    "Show",
    [
      ["The chosen line", ["i"], () => showPane("chunk")],
      ["Render", ["R"], () => openRender()],
      ["Cast", ["c"], () => showPane("cast")],
      ["Who says it? Doubtful quotations; close them", ["q"], () => (pane() === "doubts" ? escape() : showPane("doubts"))],
      ["Lexicon: how names and words are said", ["m"], () => showPane("lexicon")],
      ["What was heard", ["t"], () => showPane("heard")],
      ["Pickups", ["l"], () => showPane("lists")],
      ["The book's report; close it", ["b"], () => (isReportOpen() ? closeReport() : openReport())],
      [
        "Next exchange, previous one",
        [">", "<"],
        (event) => pane() === "doubts" && turnDoubt(event.key === ">" ? 1 : -1),
      ],
      ["These keys", ["?"], () => showKeys()],
      ["Close, back to the text", ["Escape"], () => escape()],
    ],
  ],
];

const TABLE = ALL_KEYS.map(([title, rows]) => [
  title,
  rows.filter(([, keys]) => canEdit || LISTENING.has(keys[0])),
]);

/** Keys of the panel of doubtful quotations, while it is shown. @type {[string, string[]][]} */
const DOUBT_ROWS = [
  ["All turns of the exchange are as shown; on", ["Enter"]],
  ["Another says that turn: the next likely one", ["a…p"]],
  ["The chosen turn is as shown; on", ["Space"]],
  ["Who says the chosen turn; the narrator; somebody else", ["1…9", "0", "w"]],
  ["From the chosen turn on: swap two, they alternate, one says the rest", ["x", "t", "r"]],
  ["Skip, undo, close", ["s", "u", "q"]],
];

/** @type {Map<string, (event: KeyboardEvent) => unknown>} */
const actions = new Map(
  TABLE.flatMap(([, rows]) =>
    rows.flatMap(([, keys, run]) => keys.map((key) => [key === "Space" ? " " : key, run])),
  ),
);
for (let digit = 1; digit <= 9; digit++) {
  actions.set(String(digit), () => hearKey(digit));
}

// A button that was clicked keeps the focus: the space bar is to play then, not to press it again.
// One that was reached by Tab is to be pressed.
let isByMouse = false;
addEventListener("pointerdown", () => (isByMouse = true), true);
addEventListener(
  "keydown",
  (event) => {
    if (event.key === "Tab") isByMouse = false;
  },
  true,
);

function ownsKey(target, key) {
  if (!(target instanceof HTMLElement) || isWriting(target)) return true;
  if (key.startsWith("Arrow") || key === "Home" || key === "End") {
    return target.matches("[role=tab], [role=slider], input, summary");
  }
  if (key !== " " && key !== "Enter") return false;
  if (target.matches(".chunk")) return false;
  if (!target.matches("button, a, summary, input, label, [role=tab]")) return false;
  return key === "Enter" || !isByMouse;
}

/** Whether a control needs a key more than the panel of doubtful quotations. */
function ownsDoubtKey({ target, key }) {
  if (!(target instanceof HTMLElement) || isWriting(target)) return true;
  const isPressed = (key === " " || key === "Enter") && target.matches("button, a, summary");
  return isPressed && !isByMouse && !target.matches("[role=tab]");
}

/** The key's letter, whatever caps lock says; of other alphabets the Latin one of its place. */
function keyOf({ key, code, shiftKey }) {
  if (/^[A-Z]$/.test(key) && !shiftKey) return key.toLowerCase();
  if (key.length > 1 || /^[\x20-\x7e]$/.test(key)) return key;
  const [, letter] = /^Key([A-Z])$/.exec(code) ?? [];
  return letter ? (shiftKey ? letter : letter.toLowerCase()) : key;
}

addEventListener("keydown", (event) => {
  if (event.defaultPrevented || isOpen()) return;
  const isTravel =
    event.key.toLowerCase() === "z" && (event.ctrlKey || event.metaKey) && !event.altKey;
  if (isTravel && !isWriting(event.target)) {
    event.preventDefault();
    if (event.shiftKey) redo();
    else undo();
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (pane() === "doubts" && !event.repeat && !ownsDoubtKey(event) && pressDoubtKey(keyOf(event))) {
    event.preventDefault();
    return;
  }
  const action = actions.get(keyOf(event));
  if (!action || (ownsKey(event.target, event.key) && event.key !== "Escape")) return;
  if (event.repeat && !event.key.startsWith("Arrow") && !"jk".includes(event.key)) return;
  event.preventDefault();
  action(event);
});
// Chromium presses a button when the space bar comes up.
addEventListener("keyup", (event) => {
  if (event.key === " " && isByMouse && event.target instanceof HTMLButtonElement && !isOpen())
    event.preventDefault();
});

function escape() {
  if (closeError() || closeReport() || clearStretch()) return;
  closeOver();
  if (pane() !== "chunk") {
    showPane("chunk", { focus: false, reveal: false });
    openSide(false);
  }
  focusProse();
}

function turnChapter(by) {
  const chapters = state.book?.chapters ?? [];
  const at = chapters.findIndex((one) => one.number === state.chapter?.number);
  if (chapters[at + by]) openChapter(chapters[at + by].number).then(focusProse);
}

async function goToTime() {
  const input = h("input", {
    type: "text",
    autofocus: true,
    required: true,
    placeholder: "12:34 or 3.12",
    autocomplete: "off",
  });
  /** @type {(() => unknown) | null} */
  let go = null;
  await open({
    title: "Go to",
    content: [
      field(
        "A time of this chapter, the number of a line, or a chapter and a time",
        input,
        "12:34 · 3.12 · 3 12:34",
      ),
    ],
    done: "Go",
    resumes: () => true,
    onDone: () => {
      const [one, other] = input.value.trim().split(/\s+/);
      if (/^\d+\.\d+$/.test(one)) {
        go = () => goTo(one);
        return;
      }
      const time = seconds(other ?? one);
      if (time === null)
        throw new Error("That is no time and no number of a line. A time has minutes and seconds: 12:34. A line has a number like 3.12.");
      const number = other ? Number(one) : state.chapter.number;
      go = () => openChapter(number, { time });
    },
  });
  if (!go) return;
  await go();
  focusProse();
}

const shown = (key) =>
  ({ ArrowLeft: "←", ArrowRight: "→", ArrowUp: "↑", ArrowDown: "↓", Escape: "Esc" })[key] ?? key;

function showKeys() {
  const groups = [...TABLE, ...(canEdit ? [["Who says it", DOUBT_ROWS]] : [])].map(([title, rows]) =>
    h(
      "section",
      {},
      h("h3", {}, title),
      h(
        "dl",
        {},
        ...rows.flatMap(([words, keys]) => [
          h("dt", {}, ...keys.flatMap((key, i) => [i ? " " : "", h("kbd", {}, shown(key))])),
          h("dd", {}, words),
        ]),
      ),
    ),
  );
  return open({
    title: "Keys",
    wide: true,
    goOn: () => {},
    content: [h("div", { class: "keys" }, ...groups)],
  });
}

byId("to-keys").addEventListener("click", showKeys);

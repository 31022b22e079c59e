// The report of the book in the place of its text: asked for when it is opened, drawn anew when files
// have been measured. A chunk in it is chosen, shown at the side and played.

import { attempt } from "./actions.js";
import { addressOf } from "./address.js";
import { get, post } from "./api.js";
import { byId, fill, h } from "./dom.js";
import { goTo, openChapter } from "./loading.js";
import { complain } from "./messages.js";
import { play, playFrom, seek } from "./player.js";
import { focusProse } from "./prose.js";
import { report } from "./report.js";
import { on, state } from "./store.js";
import { counted } from "./words.js";

const box = byId("report");
const button = byId("to-report");
const ACTIVITIES = { "measure files": "Measuring the files", "read chapters": "Reading the chapters" };
const progress = h("progress", { max: 1, "aria-label": "Measured" });
const measuring = h("span", { class: "note", role: "status" });

export const isReportOpen = () => !box.hidden;

export async function openReport() {
  box.hidden = false;
  document.body.classList.add("reporting");
  button.setAttribute("aria-expanded", "true");
  fill(box, h("p", { class: "note", role: "status" }, "Reading the takes…"), h("progress", { "aria-label": "Reading the takes" }));
  box.focus();
  await load();
}

/** Closes the report; whether it was open. */
export function closeReport() {
  if (box.hidden) return false;
  box.hidden = true;
  document.body.classList.remove("reporting");
  button.setAttribute("aria-expanded", "false");
  fill(box);
  focusProse();
  return true;
}

async function load() {
  const data = await attempt(() => get("/api/report"));
  if (box.hidden) return;
  if (!data) {
    closeReport();
    return;
  }
  fill(box, top(data), ...report(data, hands));
}

function top(data) {
  const close = h("button", { onclick: closeReport }, "Back to the text");
  const isMissing = data.unmeasured && !data.measuring;
  const measure = h(
    "button",
    { title: `Of ${counted(data.unmeasured, "file")}`, onclick: () => attempt(() => post("/api/report/measure")) },
    "Measure loudness and pitch",
  );
  progress.hidden = !data.measuring;
  fill(measuring, data.measuring ? "Measuring the files" : "");
  return h(
    "div",
    { class: "report-top" },
    close,
    measuring,
    progress,
    isMissing ? measure : null,
    h("a", { class: "button", href: addressOf("/report.html"), download: true }, "Save as a page"),
  );
}

async function press(place) {
  await goTo(place.chunk);
  playFrom(state.chosen);
}

const hands = {
  press,
  go: (place, isEnd) =>
    h(
      "button",
      {
        class: "link",
        title: "Choose and play it",
        onclick: () => (isEnd && place.stop !== null ? hands.seek({ number: place.chapter }, place.stop - 1) : press(place)),
      },
      place.chunk,
    ),
  async seek({ number }, seconds) {
    await openChapter(number);
    seek(seconds);
    play();
  },
};

on("event:report", ({ activity, share, error }) => {
  if (box.hidden) return;
  if (activity) {
    progress.hidden = false;
    progress.value = share;
    fill(measuring, ACTIVITIES[activity] ?? activity);
    return;
  }
  if (error) complain(error);
  load();
});

// Where somebody opens a chapter by its list, they want its text.
byId("chapters").addEventListener("click", (event) => event.target.closest("a") && closeReport());
button.addEventListener("click", () => (isReportOpen() ? closeReport() : openReport()));

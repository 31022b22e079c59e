// The start page: the books of a folder, each with its cover and how far it is, and their studios.

import { addressOf } from "./address.js";
import { get } from "./api.js";
import "./banner.js";
import { byId, fill, h } from "./dom.js";
import { leaveBook, showBook } from "./firstrender.js";
import "./look.js";
import { complain } from "./messages.js";
import "./newbook.js";
import { openOnServer } from "./opening.js";
import "./presses.js";
import { on } from "./store.js";
import { counted, percent, since } from "./words.js";

const list = byId("projects");

// -- the list --------------------------------------------------------------------------------------

async function loadProjects() {
  const { folder, projects } = await get("/api/projects");
  byId("folder").textContent = folder;
  projects.sort((one, other) => (other.changed ?? 0) - (one.changed ?? 0));
  fill(list, ...projects.map(card));
  list.removeAttribute("aria-busy");
  byId("no-projects").hidden = projects.length > 0;
  for (const project of projects) if (project.is_begun) await showProgress(project.id);
}

function card(project) {
  const { id, title, author, trouble } = project;
  return h(
    "li",
    { class: "book", "data-id": id },
    cover(project),
    h("a", { class: "title", dir: "auto", href: `/book/${id}/`, onclick: openHere(id) }, title),
    author ? h("span", { class: "by", dir: "auto" }, author) : null,
    trouble
      ? h("span", { class: "trouble" }, trouble)
      : h("span", { class: "facts" }, counted(project.chapters, "chapter")),
    trouble ? null : h("span", { class: "facts progress" }, project.is_begun ? "Counting what is rendered …" : "Not rendered"),
    project.changed ? h("span", { class: "facts" }, `Changed ${since(project.changed)}`) : null,
    trouble
      ? null
      : h(
          "a",
          { class: "button small", href: `#book=${id}`, "aria-label": `Voice and files of ${title}` },
          "Voice and files",
        ),
  );
}

const cover = ({ id, title, has_cover }) =>
  has_cover
    ? h("img", { class: "cover", src: addressOf(`/api/projects/${id}/cover`), alt: "", loading: "lazy" })
    : h("span", { class: "cover", "aria-hidden": "true" }, [...title][0]);

/** How far a book is: the server counts it, which takes a moment. */
async function showProgress(id) {
  const place = list.querySelector(`[data-id="${id}"] .progress`);
  try {
    const { chunks, rendered } = await get(`/api/projects/${id}/progress`);
    if (!place || !chunks) return;
    const share = rendered / chunks;
    const bar = h("span", { class: "rendered" });
    bar.style.width = `${100 * share}%`;
    fill(place, share < 1 ? `${percent(share)} rendered` : "Rendered", h("span", { class: "bar" }, bar));
  } catch (error) {
    if (place) fill(place, error.message);
  }
}

// -- a book's studio -------------------------------------------------------------------------------

const openHere = (id) => (event) => {
  if (event.ctrlKey || event.metaKey || event.shiftKey) return; // a window of its own
  event.preventDefault();
  open(id);
};

async function open(id) {
  const place = list.querySelector(`[data-id="${id}"] .facts`);
  const words = place?.textContent;
  try {
    const { address } = await openOnServer(id, (now) => place && fill(place, now || words));
    location.assign(address);
  } catch (error) {
    complain(error);
  }
}

// -- a new book ------------------------------------------------------------------------------------

on("making", (isMaking) => {
  byId("making").hidden = !isMaking;
  byId("home").hidden = isMaking;
});
on("made", (id) => (location.hash = `#book=${id}`));

// -- which page -----------------------------------------------------------------------------------

/** #open=ID opens a book's studio, #book=ID shows what is left to do until it can be heard. */
async function goByAddress() {
  const [, way, id] = /^#(open|book)=([0-9a-f]+)$/.exec(location.hash) ?? [];
  leaveBook();
  if (way === "book") return showBook(id);
  byId("making").hidden = true;
  byId("home").hidden = false;
  try {
    await loadProjects();
  } catch (error) {
    complain(error);
  }
  if (way === "open") open(id);
}
addEventListener("hashchange", goByAddress);
addEventListener("pageshow", goByAddress);

// People who listen along: their names, their links, and what of the connection is not encrypted.

import { attempt } from "./actions.js";
import { get, post, remove } from "./api.js";
import { choice, field, open } from "./dialogs.js";
import { byId, fill, h, icon, refill } from "./dom.js";
import { savePreference, preference } from "./preferences.js";
import { complain } from "./messages.js";
import { on } from "./store.js";
import { counted, since } from "./words.js";

const RIGHTS = { listen: "Listen and flag", edit: "Edit this book" };

/** Of the open window: its guests, and the link that was made last. @type {HTMLElement | null} */
let list = null;
const shown = h("div", { class: "invitation", role: "status" });
const tell = (...parts) => fill(shown, ...parts).scrollIntoView({ block: "nearest" });
const show = (words, answer) => tell(...linkParts(words, answer));

/** Runs it, and says in the window what went wrong, for it lies over all messages. */
async function attemptHere(work) {
  try {
    return await work();
  } catch (error) {
    tell(h("p", { class: "trouble" }, error.message));
    return undefined;
  }
}

function confirmOn(button, words) {
  const before = button.textContent;
  fill(button, words);
  setTimeout(() => fill(button, before), 2000);
}

byId("to-people").addEventListener("click", openPeople);

async function openPeople() {
  const people = await attempt(() => get("/api/people"));
  if (!people) return;
  fill(shown);
  list = h("ul", { class: "guests" });
  drawGuests(people);
  await open({
    title: "People",
    content: [
      people.name ? null : ownPart(people),
      inviting(people),
      shown,
      h("section", {}, h("h3", {}, "Guests of this book"), list),
      people.name ? ownPart(people) : null,
      h("p", { class: "note" }, reach(people)),
    ],
  });
  list = null;
}

function reach({ restart, is_encrypted }) {
  if (restart)
    return `This studio can be reached from this machine alone. For other machines and phones in your network, close it and start it with: ${restart}`;
  return is_encrypted
    ? "The connection is encrypted. Browsers warn at the first visit, since narrator made the certificate itself; the terminal shows its fingerprint."
    : "The connection is not encrypted: others in this network could read links, text and flags, and hear the sound. Links work once, but a cookie that was read along works until you remove the guest.";
}

// -- invitations -----------------------------------------------------------------------------------

function inviting(people) {
  let rights = "listen";
  const name = h("input", { type: "text", autofocus: Boolean(people.name), autocomplete: "off", maxlength: 60 });
  const invite = async () => {
    const answer = await attemptHere(() => post("/api/people", { name: name.value, rights }));
    if (!answer) return;
    show(`A link for ${answer.guest.name}: it opens the book in one browser, once.`, answer);
    name.value = "";
  };
  onEnter(name, invite);
  return h(
    "section",
    { class: "inviting" },
    h("h3", {}, "Invite a guest"),
    field("Guest’s name", name, "It stands on their flags."),
    choice("Rights", "rights", Object.entries(RIGHTS), rights, (value) => (rights = value)),
    h("button", { type: "button", class: "main", onclick: invite }, "Make a link"),
  );
}

/** In a window Enter would close it. */
function onEnter(input, run) {
  input.addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return;
    event.preventDefault();
    run();
  });
}

function linkParts(words, { link, qr, restart, install }) {
  const address = h("input", { type: "text", readonly: true, value: link, "aria-label": "Link" });
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(link);
      confirmOn(copier, "Copied");
    } catch {
      address.select(); // browsers copy for encrypted and local pages alone
      confirmOn(copier, "Press Ctrl-C");
    }
  };
  const copier = h("button", { type: "button", onclick: copy }, "Copy");
  return [
    h("p", {}, words),
    h("div", { class: "row" }, address, copier),
    qr ? h("img", { class: "qr", src: qr, alt: "The link as a QR code for a phone's camera" }) : null,
    install ? h("p", { class: "note" }, "For QR codes: ", h("code", {}, install)) : null,
    restart
      ? h(
          "p",
          { class: "trouble" },
          "This link works on this machine alone. For other machines, close the studio, start it with ",
          h("code", {}, restart),
          ", and make a new link there.",
        )
      : null,
  ];
}

// -- guests ----------------------------------------------------------------------------------------

function drawGuests({ guests }) {
  refill(
    list,
    ...guests.map((guest) => row(guest)),
    guests.length ? null : h("li", { class: "empty" }, "Nobody is invited yet."),
  );
}

function row(guest) {
  const { id, name, rights, opened, browsers } = guest;
  const state = opened
    ? `opened ${since(opened)} in ${counted(browsers, "browser")}`
    : "not opened yet";
  const again = async () => {
    const answer = await attemptHere(() => post("/api/people", { name, rights }));
    if (answer) show(`Another link for ${name}, for one more browser, once.`, answer);
  };
  const dismiss = async () => {
    if ((await attemptHere(() => remove(`/api/people/${id}`))) === undefined) return;
    tell(h("p", {}, `${name} is removed: their links and browsers reach nothing any more.`));
  };
  return h(
    "li",
    {},
    h("div", {}, h("strong", {}, name), h("small", {}, `${RIGHTS[rights]}, ${state}`)),
    h(
      "button",
      { type: "button", class: "small", "data-keep": `again-${id}`, "aria-label": `New link for ${name}`, onclick: again },
      "New link",
    ),
    h(
      "button",
      { type: "button", class: "small", "data-keep": `remove-${id}`, "aria-label": `Remove ${name}`, onclick: dismiss },
      "Remove",
    ),
  );
}

on("event:people", async () => {
  const people = list && (await get("/api/people").catch(complain));
  if (people && list) drawGuests(people);
});

// -- oneself ---------------------------------------------------------------------------------------

function ownPart({ name }) {
  const input = h("input", { type: "text", value: name, autofocus: !name, autocomplete: "off", maxlength: 60 });
  const save = async () => {
    if (await attemptHere(() => post("/api/people/name", { name: input.value })))
      confirmOn(saver, "Saved");
  };
  const phone = async () => {
    const answer = await attemptHere(() => post("/api/people/phone"));
    if (answer) show("A link for your own phone, with all your rights: it opens once.", answer);
  };
  const saver = h("button", { type: "button", onclick: save }, "Save the name");
  onEnter(input, save);
  return h(
    "section",
    { class: "own" },
    field("Your name", input, "It stands on your flags and reviews."),
    saver,
    h("button", { type: "button", onclick: phone }, "Open on my phone"),
  );
}

// -- what is not encrypted -------------------------------------------------------------------------

const LOCAL_NAMES = ["localhost", "127.0.0.1", "[::1]"];
if (location.protocol === "http:" && !LOCAL_NAMES.includes(location.hostname) && !preference("knows-open", false)) {
  const line = byId("open-line");
  const close = () => {
    savePreference("knows-open", true);
    line.hidden = true;
  };
  fill(
    line,
    h("span", {}, "This connection is not encrypted: others in this network could read along."),
    h("button", { class: "plain", "aria-label": "Close", onclick: close }, icon("close")),
  );
  line.hidden = false;
}

// The banner of a lost connection, on the page of a book and on the start page.

import { byId, fill } from "./dom.js";
import { isOwner } from "./rights.js";
import { on } from "./store.js";

const WORDS = {
  gone: isOwner
    ? "The studio's server is gone. Start it again, with `narrator studio`, and open the link that it shows."
    : "The studio cannot be reached: it may be closed. The page goes on by itself once it is there.",
  locked: isOwner
    ? "The studio does not know this browser any more: open the link again that the terminal shows."
    : "The studio does not know this browser any more: ask who invited you for a new link.",
};

on("link", (link) => {
  const banner = byId("banner");
  banner.hidden = link === "there";
  fill(banner, WORDS[link] ?? "");
  document.body.classList.toggle("cut-off", link !== "there");
});

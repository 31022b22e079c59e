// A model whose voices are not here: fetched by a button, with progress, or what to install first.

import { get, post, remove } from "./api.js";
import { h, icon, refill } from "./dom.js";
import { complain } from "./messages.js";
import { percent, sizeWords } from "./words.js";

const POLL_MS = 500;

/** Words with what stands in backticks as code. @param {string} words */
export const withCode = (words) =>
  words.split("`").map((part, number) => (number % 2 ? h("code", {}, part) : part));

/** Words for an engine that lacks packages. */
export const toInstall = ({ title, install }) =>
  h(
    "div",
    { class: "fetch" },
    h("p", {}, h("b", {}, title), " needs more packages. Close the studio, run this in a terminal, and start it again:"),
    h("code", {}, install),
  );

/**
 * A button that fetches the model of an engine, and how far that is.
 * @param {{ engine: string, title: string, bytes: number }} absent
 * @param {() => unknown} onComplete
 */
export function toFetch({ engine, title, bytes }, onComplete) {
  const path = `/api/models/${engine}`;
  const box = h("div", { class: "fetch" });
  const bar = h("progress", { max: 1, value: 0, "aria-label": "Fetched" });
  const words = h("p", { class: "note" });
  const size = `${(bytes / 1e9).toFixed(1)} GB`;

  const button = (label, name, run) => h("button", { "data-keep": "fetch", onclick: run }, icon(name), label);
  const draw = ({ state, error, done, total }) => {
    bar.value = done / total;
    words.textContent = `${percent(done / total)}: ${sizeWords(done)} of ${sizeWords(total)}. You can go on meanwhile.`;
    if (state === "running") {
      if (!bar.isConnected) refill(box, h("p", {}, `Fetching ${title}’s voices`), bar, words, button("Stop", "stop", stop));
      return;
    }
    refill(
      box,
      h("p", {}, `${title}’s natural voices are not on this machine yet. They come from huggingface.co, once.`),
      state === "failed" ? failure(error) : null,
      button(done && state === "idle" ? `Go on fetching ${title}’s voices (${size})` : `Fetch ${title}’s voices (${size})`, "export", start),
    );
  };
  const start = () => follow(() => post(path));
  const stop = () => remove(path).then(draw).catch(complain);

  /** Asks until the download has ended, or the page shows something else. */
  async function follow(ask) {
    try {
      let now = await ask();
      draw(now);
      if (now.state !== "running") return;
      while (now.state === "running") {
        await new Promise((resolve) => setTimeout(resolve, POLL_MS));
        if (!box.isConnected) return;
        now = await get(path);
        draw(now);
      }
      if (now.state === "complete") await onComplete();
    } catch (error) {
      complain(error);
    }
  }
  follow(() => get(path));
  return box;
}

/** What went wrong: the first line in words, the rest is commands. @param {string} error */
function failure(error) {
  const [first, ...rest] = error.split("\n");
  return h(
    "div",
    { role: "alert" },
    h("p", { class: "trouble" }, "The voices could not be fetched. Is this machine connected to the internet? Then try again: what was fetched stays."),
    h("details", {}, h("summary", {}, "What went wrong"), h("p", {}, ...withCode(first)), rest.length ? h("pre", {}, rest.join("\n")) : null),
  );
}

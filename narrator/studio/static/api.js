// The server: asked and listened to. It alone knows about addresses, cookies and lost connections.

import { addressOf } from "./address.js";
import { emit } from "./store.js";

class Refused extends Error {
  /** @param {number} status @param {any} body */
  constructor(status, body) {
    super(body?.error ?? `The studio answered ${status}.`);
    this.name = "Refused";
    this.status = status;
    this.body = body;
  }
}

/** The server is gone, or does not know this browser: the page's banner says so. */
class Unreachable extends Error {
  name = "Unreachable";
}

/** "there", "gone" or "locked". */
let link = "there";

function setLink(now) {
  if (now === link) return;
  link = now;
  emit("link", now);
  if (now !== "there") setTimeout(probe, 1500);
}

async function probe() {
  if (link === "there") return;
  try {
    await ask("/static/icon.svg");
  } catch {
    setTimeout(probe, document.hidden ? 10000 : 2500);
    return;
  }
  listen();
}

/** @param {string} path @param {RequestInit} [options] @returns {Promise<Response>} */
async function ask(path, options) {
  let answer;
  try {
    answer = await fetch(addressOf(path), { credentials: "same-origin", ...options });
  } catch (error) {
    if (options?.signal?.aborted) throw error;
    setLink("gone");
    throw new Unreachable("the studio's server is gone");
  }
  if (answer.status === 401) {
    setLink("locked");
    throw new Unreachable("the studio does not know this browser");
  }
  setLink("there");
  if (answer.ok) return answer;
  const body = await answer.json().catch(() => null);
  throw new Refused(answer.status, body);
}

const withBody = (method, body, type = "application/json") => ({
  method,
  headers: { "Content-Type": type },
  body: type === "application/json" ? JSON.stringify(body) : body,
});

export const get = async (path) => (await ask(path)).json();
export const post = async (path, body = {}) => (await ask(path, withBody("POST", body))).json();
/** What the server says of a chunk. @param {string} id */
export const chunkDetail = (id) => get(`/api/chunks/${encodeURIComponent(id)}`);
export const bytes = async (path, signal) => (await ask(path, { signal })).arrayBuffer();

export const remove = async (path) => (await ask(path, { method: "DELETE" })).json();

/** @param {string} path @param {File} file */
export const sendCover = async (path, file) => (await ask(path, withBody("PUT", file, file.type))).json();

/**
 * A manuscript, which may be large: fetch does not say how much of it is sent.
 * @param {File} file @param {AbortSignal} signal @param {(share: number) => void} tell
 */
export const upload = (file, signal, tell) =>
  new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("POST", `/api/manuscripts?name=${encodeURIComponent(file.name)}`);
    request.responseType = "json";
    request.setRequestHeader("Content-Type", "application/octet-stream");
    request.upload.onprogress = (event) => tell(event.total ? event.loaded / event.total : 0);
    request.onload = () => {
      const { status, response } = request;
      if (status === 401) setLink("locked");
      if (status === 200) resolve(response);
      else reject(new Refused(status, response));
    };
    request.onerror = () => reject(new Error("The file did not arrive. Is the studio still there?"));
    request.onabort = () => reject(new Error("Stopped"));
    signal.addEventListener("abort", () => request.abort());
    request.send(file);
  });

/** A sound, or what the server says instead: {job}. */
export async function fetchSound(path, body) {
  const answer = await ask(path, withBody("POST", body));
  const isSound = answer.headers.get("Content-Type")?.startsWith("audio/");
  return isSound ? { sound: await answer.blob() } : answer.json();
}

/** @param {string} text of a list of pickups */
export const sendList = async (text) =>
  (await ask("/api/pickups", withBody("POST", text, "text/plain; charset=utf-8"))).json();

/** @param {File} file @param {string} words that it says, where they are known: it is judged with them */
export async function sendClip(file, words) {
  const name = file.name.replace(/[^\p{L}\p{N}._-]+/gu, "-");
  const answer = await ask(
    `/api/clips/${encodeURIComponent(name)}?transcript=${encodeURIComponent(words)}`,
    {
      ...withBody("PUT", file, file.type || "application/octet-stream"),
    },
  );
  return answer.json();
}

/** @type {EventSource | null} */
let source = null;

/** Hears what happens in the project until the page is closed. */
export function listen() {
  source?.close();
  source = new EventSource(addressOf("/api/events"));
  source.onopen = () => {
    setLink("there");
    emit("listening");
  };
  source.onmessage = (message) => {
    const event = JSON.parse(message.data);
    emit(`event:${event.type}`, event);
  };
  // While CONNECTING the browser tries again by itself; CLOSED, it was refused.
  source.onerror = () => {
    if (source?.readyState === EventSource.CLOSED) source = null;
    setLink("gone");
  };
}

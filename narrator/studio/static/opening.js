// Books that the start page's server opens.

import { post } from "./api.js";
import { stopwatch } from "./words.js";

/** Opens a book's studio on the server: its text is read, which may take a while. */
export async function openOnServer(id, tell) {
  tell("Opening …");
  const stopClock = stopwatch((time) => tell(`Reading the text … ${time}`));
  try {
    return await post(`/api/projects/${id}/open`);
  } finally {
    stopClock();
    tell("");
  }
}

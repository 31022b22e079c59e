// Books that the start page's server opens.

import { post } from "./api.js";
import { span } from "./words.js";

/** Opens a book's studio on the server: its text is read, which may take a while. */
export async function openOnServer(id, tell) {
  const begin = performance.now();
  const words = () => `Reading the text … ${span((performance.now() - begin) / 1000)}`;
  tell("Opening …");
  const clock = setInterval(() => tell(words()), 1000);
  try {
    return await post(`/api/projects/${id}/open`);
  } finally {
    clearInterval(clock);
    tell("");
  }
}

// Light, dark, or as the system has it.

import { savePreference, preference } from "./preferences.js";
import { emit } from "./store.js";

const radios = [...document.querySelectorAll("#theme input")];
for (const radio of radios) {
  radio.checked = radio.value === preference("theme", "auto");
  radio.addEventListener("change", () => {
    savePreference("theme", radio.value);
    if (radio.value === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = radio.value;
    emit("look");
  });
}

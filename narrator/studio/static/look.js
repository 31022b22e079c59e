// Light, dark, or as the system has it.

import { keep, kept } from "./kept.js";
import { emit } from "./store.js";

const radios = [...document.querySelectorAll("#theme input")];
for (const radio of radios) {
  radio.checked = radio.value === kept("theme", "auto");
  radio.addEventListener("change", () => {
    keep("theme", radio.value);
    if (radio.value === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = radio.value;
    emit("look");
  });
}

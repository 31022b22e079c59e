// A click counts even if what was pressed is redrawn before the release, when browsers drop it.

/** Elements that are found again after a redraw. */
const NAMED = "[id], [data-keep], [data-chunk]";
const PRESSED = "button, a, summary, label, .words";

/** @type {Element | null} */
let pressed = null;

/** The element that took the place of one that was removed. @param {Element} element */
function successor(element) {
  const named = element.closest(NAMED);
  if (!(named instanceof HTMLElement)) return null;
  const { id, dataset } = named;
  const selector = id
    ? `#${CSS.escape(id)}`
    : dataset.keep
      ? `[data-keep="${CSS.escape(dataset.keep)}"]`
      : `[data-chunk="${CSS.escape(String(dataset.chunk))}"]`;
  const current = document.querySelector(selector);
  if (!current || named === element) return current;
  const name = element.getAttribute("class");
  const alike = [...current.querySelectorAll(element.tagName)];
  return alike.find((other) => other.getAttribute("class") === name && other.textContent === element.textContent) ?? null;
}

document.addEventListener("pointerdown", ({ button, pointerType, target }) => {
  const isClick = button === 0 && pointerType === "mouse" && target instanceof Element;
  pressed = isClick ? target.closest(PRESSED) : null;
}, true);

document.addEventListener("pointerup", () => {
  if (pressed && !pressed.isConnected) {
    successor(pressed)?.dispatchEvent(new MouseEvent("click", { bubbles: true, cancelable: true }));
  }
  pressed = null;
}, true);

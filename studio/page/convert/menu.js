// A menu below its button: closed by Escape, a press elsewhere, and the focus going elsewhere.

import { make } from "./dom.js";

/** Return a menu (<details>) with this label; its content is what is appended to it. */
export function menu(kind, label) {
  const summary = make("summary", {}, label);
  const made = make("details", { class: kind }, summary);
  const close = () => (made.open = false);
  const pressed = ({ target }) => made.contains(target) || close();
  made.addEventListener("toggle", () => document[made.open ? "addEventListener" : "removeEventListener"]("pointerdown", pressed));
  made.addEventListener("focusout", ({ relatedTarget: next }) => next && !made.contains(next) && close());
  made.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !made.open) return;
    event.stopPropagation();
    close();
    summary.focus();
  });
  return made;
}

// What fields of the page should not do by themselves.

/** Let the wheel scroll the page also where a number has the focus: browsers would change the number. */
function leave(event) {
  const field = /** @type {HTMLElement} */ (document.activeElement);
  if (event.target === field && field.matches("input[type=number]")) field.blur();
}

/** Let Tab only leave a list of choices: Gradio 6.31 takes it for a letter, and opens the list once it was left. */
function pass(event) {
  if (event.key === "Tab" && event.target.matches?.("input[role=combobox]")) event.stopPropagation();
}

/** Let a double click on what begins something count once. */
function once(event) {
  if (event.detail > 1 && event.target.closest?.("button.primary")) event.stopImmediatePropagation();
}

document.addEventListener("click", once, { capture: true });
document.addEventListener("wheel", leave, { passive: true, capture: true });
document.addEventListener("keydown", pass, { capture: true });

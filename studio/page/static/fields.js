// What fields of the page should not do by themselves.

/** Let the wheel scroll the page also where a number has the focus: browsers would change the number. */
function leave(event) {
  const field = document.activeElement;
  if (event.target === field && field.matches("input[type=number]")) field.blur();
}

/** Close the list of choices that Gradio leaves open over what comes next. */
function close(event) {
  const field = event.target;
  if (event.key !== "Tab" || !field.matches?.("input[role=combobox][aria-expanded=true]")) return;
  field.dispatchEvent(new KeyboardEvent("keydown", { key: "Escape", bubbles: true, cancelable: true }));
}

document.addEventListener("wheel", leave, { passive: true, capture: true });
document.addEventListener("keydown", close, { capture: true });

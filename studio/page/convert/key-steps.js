// The key in the history of the page: Gradio's fields of the transposition, as edit-steps.js has steps.

import { did } from "./edit-steps.js";
import { tr } from "./texts.js";

const PLACE = "#convert-transpose";

/** What the fields are: {auto, key}. */
function read() {
  return { auto: document.querySelector(`${PLACE} input[type=checkbox]`)?.checked, key: document.querySelector(`${PLACE} input[type=number]`)?.value };
}

function put({ auto, key }) {
  const box = document.querySelector(`${PLACE} input[type=checkbox]`), field = document.querySelector(`${PLACE} input[type=number]`);
  if (box.checked !== auto) box.click();
  if (auto) return; // it finds the key
  field.value = key;
  for (const name of ["input", "change", "blur"]) field.dispatchEvent(new Event(name, { bubbles: name !== "blur" }));
}

let before = null, isPutting = false;

function begin({ target }) {
  if (target.closest?.(PLACE)) before = read();
}

function end({ target }) {
  if (isPutting || !before || !target.closest?.(PLACE)) return;
  const [was, is] = [before, read()];
  before = is;
  if (was.auto === is.auto && was.key === is.key) return;
  const to = (state) => () => {
    isPutting = true;
    put(state);
    isPutting = false;
    before = read();
  };
  did(tr("Key"), to(was), to(is));
}

for (const name of ["pointerdown", "focusin"]) document.addEventListener(name, begin, { capture: true });
document.addEventListener("change", end);

// Giving files to the fields of the page that take some.

import { isWaiting } from "./uploads.js";

const LOOK_MS = 30, PATIENCE_MS = 30_000;
const FREED_BY = { "#convert-drop": "#convert-change, #convert-give-up" }; // a place that has a recording already

/** Return what `found` returns, once that is something, or nothing. Throws where that takes too long. */
export async function untilThere(found, isThere = true) {
  for (let began = performance.now(); Boolean(found()) !== isThere; ) {
    if (isWaiting()) began = performance.now(); // nothing comes until the studio is back
    if (performance.now() - began > PATIENCE_MS) throw new Error(String(found));
    await new Promise((done) => setTimeout(done, LOOK_MS));
  }
  return found();
}

/** Return the field for files in a place, once it has one, or none. Throws where that takes too long. */
export function until(place, hasField) {
  return untilThere(() => document.querySelector(`${place} input[type=file]`), hasField);
}

/** Give files to a place that takes as many; what was there before is put away. */
export async function give(place, files) {
  if (FREED_BY[place] && !document.querySelector(`${place} input[type=file]`)) [...document.querySelectorAll(FREED_BY[place])].find((one) => one.checkVisibility())?.click();
  const input = await until(place, true), all = new DataTransfer();
  for (const file of files) all.items.add(file);
  input.files = all.files;
  input.dispatchEvent(new Event("change", { bubbles: true }));
}

/** Compare two files: the second is given once the first was taken. */
/** @param {File[]} files */
export async function compare([first, second]) {
  await give("#explore-first", [first]);
  await until("#explore-first", false);
  await until("#explore-first", true);
  give("#explore-second", [second]);
}

// Giving files to the fields of the page that take some.

/** Return the field for files in a place, once it has one, or none. */
export async function until(place, hasField) {
  const field = () => document.querySelector(`${place} input[type=file]`);
  while (Boolean(field()) !== hasField) await new Promise(requestAnimationFrame);
  return field();
}

/** Give files to a place that takes as many. */
export async function give(place, files) {
  const input = await until(place, true), all = new DataTransfer();
  for (const file of files) all.items.add(file);
  input.files = all.files;
  input.dispatchEvent(new Event("change", { bubbles: true }));
}

/** Compare two files: the second is given once the first was taken. */
export async function compare([first, second]) {
  await give("#explore-first", [first]);
  await until("#explore-first", false);
  await until("#explore-first", true);
  give("#explore-second", [second]);
}

// Gradio trusts the browser on which files are audio and silently drops the others: a WebM recording, which browsers call
// a video, or a file without an extension. Here all files are sent; the server reads them and reports bad ones.

const PLACES = "#convert-drop, #explore-first, #explore-second";
// as engine/audio/containers.py lists them
const ACCEPTED = "audio/*,video/*,.wav,.flac,.mp3,.ogg,.m4a,.aac,.aiff,.webm,.caf,.w64,.au,.wave,.bwf,.rf64,.mp2,.oga,.opus,"
  + ".mp4,.mov,.m4b,.3gp,.aif,.aifc,.mka,.mkv,.snd";
const AS_AUDIO = "audio/x-any";

const isIn = (target) => target instanceof Element && target.closest(PLACES) !== null;
const isInput = (target) => target instanceof HTMLInputElement && target.type === "file" && isIn(target);
const isAudio = (file) => file.type.startsWith("audio/");

// The same files, all declared as audio; null if they already are.
function asAudio(files) {
  if (!files || [...files].every(isAudio)) return null;
  const made = new DataTransfer();
  for (const file of files) made.items.add(isAudio(file) ? file : new File([file], file.name, { type: AS_AUDIO }));
  return made;
}

document.addEventListener("click", (event) => {
  if (isInput(event.target)) event.target.accept = ACCEPTED; // for the file dialog
}, true);

document.addEventListener("change", (event) => {
  const made = isInput(event.target) ? asAudio(event.target.files) : null;
  if (made) event.target.files = made.files;
}, true);

/** Resolve once a place has a field for files, or has none. */
async function until(place, hasField) {
  const field = () => document.querySelector(`${place} input[type=file]`);
  while (Boolean(field()) !== hasField) await new Promise(requestAnimationFrame);
  return field();
}

/** Give files to a place that takes as many. */
async function give(place, files) {
  const input = await until(place, true), all = new DataTransfer();
  for (const file of files) all.items.add(file);
  input.files = all.files;
  input.dispatchEvent(new Event("change", { bubbles: true }));
}

/** Compare two files: the second is given once the first was taken. */
async function compare([first, second]) {
  await give("#explore-first", [first]);
  await until("#explore-first", false);
  await until("#explore-first", true);
  give("#explore-second", [second]);
}

// Of several files a place for one would take the first and drop the others without a word.
document.addEventListener("drop", (event) => {
  const files = [...(event.dataTransfer?.files ?? [])], on = event.target instanceof Element ? event.target : null;
  if (files.length < 2 || !on?.closest(PLACES)) return;
  event.preventDefault();
  event.stopImmediatePropagation();
  if (!on.closest("#convert-drop")) return void compare(files);
  document.querySelector("#convert-input [data-tab-id=several]").click();
  give("#convert-files", files);
}, true);

document.addEventListener("drop", (event) => {
  const made = isIn(event.target) ? asAudio(event.dataTransfer?.files) : null;
  if (!made) return;
  event.preventDefault();
  event.stopPropagation();
  event.target.dispatchEvent(new DragEvent("drop", { bubbles: true, cancelable: true, dataTransfer: made }));
}, true);

// A voice package that is dropped anywhere on the library goes to its button, whose own element takes no drops.
const library = (event) => (event.target instanceof Element ? event.target.closest("#voices") : null);

document.addEventListener("dragover", (event) => {
  if (library(event)) event.preventDefault();
});

document.addEventListener("drop", (event) => {
  const input = library(event)?.querySelector("input[type=file]");
  if (!input || !event.dataTransfer?.files.length) return;
  event.preventDefault();
  input.files = event.dataTransfer.files;
  input.dispatchEvent(new Event("change", { bubbles: true }));
});

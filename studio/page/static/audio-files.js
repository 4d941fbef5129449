// Gradio trusts the browser on which files are audio and silently drops the others: a WebM recording, which browsers call
// a video, or a file without an extension. Here all files are sent; the server reads them and reports bad ones.

import { compare, give } from "./places.js";

const PLACES = "#convert-drop, #explore-first, #explore-second";
// as engine/audio/containers.py lists them
const ACCEPTED = "audio/*,video/*,.wav,.flac,.mp3,.ogg,.m4a,.aac,.aiff,.webm,.mts,.caf,.w64,.au,.wave,.bwf,.rf64,.mp2,.oga,.opus,"
  + ".mp4,.mov,.m4b,.3gp,.aif,.aifc,.mka,.mkv,.m2ts,.snd";
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

// <timbre-drop>: files that are dropped anywhere go where they belong: a vocal, a vocal with its backing, several
// recordings, a folder, a zip of recordings, a voice, a model of RVC. It asks only where several things can be done.
// A place that takes files itself keeps what is dropped on it. It tells of files that wait for the studio, and gives those
// back that waited before a reload.

import { Listener, make } from "./dom.js";
import { compare, give, untilThere } from "./places.js";
import { tr } from "./texts.js";
import { during, restore } from "./uploads.js";

const VOICE = /\.voice\.zip$|\.(pth|onnx|index)$/i, ZIP = /\.zip$/i;
// as engine/audio/containers.py lists them
const AUDIO = /\.(wav|wave|bwf|rf64|w64|flac|mp3|mp2|ogg|oga|opus|m4a|m4b|aac|mp4|mov|3gp|aif|aiff|aifc|webm|caf|au|snd|mka|mkv)$/i;
const BACKING = /backing|instrumental|karaoke|accompan|playback|no[ _-]?vocals?|(^|[^a-z])inst([^a-z]|$)/i;
const OWN = "[aria-dropeffect]"; // of gradio's places
const MOST_FILES = 1000; // of a folder
const STILL_MS = 200; // after the last movement over the page

const isAudio = ({ name, type }) => AUDIO.test(name) || type.startsWith("audio/");
const tabNow = () => location.hash.slice(1) || "convert";

/** What can be done with files, by name: what it is called, and how. */
const JOBS = {
  convert: [tr("Convert it"), ([file]) => convert(file)],
  batch: [tr("Convert all of them"), (files) => inside("several", () => give("#convert-files", files))],
  song: [tr("Make a song of them"), song],
  voice: [tr("Make a voice of them"), (files) => within("create", () => give("#create-files", files))],
  import: [tr("Import it"), (files) => within("voices", () => give("#voices", files))],
  explore: [tr("Analyse it"), (files) => within("explore", () => give(freePlace(), files))],
  compare: [tr("Compare them"), (files) => within("explore", () => compare(files))],
};

function within(tab, act) {
  if (tabNow() !== tab) location.hash = tab;
  return act();
}

function inside(choice, act) {
  return within("convert", () => {
    document.querySelector(`#convert-input [data-tab-id=${choice}]`)?.click();
    return act();
  });
}

function convert(file) {
  return inside("one", () => give("#convert-drop", [file]));
}

/** Give the parts of a song to their places: the vocal first, and the others once it has left what was there before. */
async function song(files) {
  const backing = files.find(({ name }) => BACKING.test(name)), [lead, second] = files.filter((file) => file !== backing);
  const instrument = await inside("one", () => untilThere(() => document.querySelector("timbre-instrument"))), before = instrument.dataset.song;
  if (lead) await convert(lead);
  await untilThere(() => instrument.dataset.song !== before);
  if (backing) await give("#song-backing", [backing]);
  if (second) await give("#song-stem", [second]);
}

function freePlace() {
  return ["#explore-first", "#explore-second"].find((place) => document.querySelector(`${place} input[type=file]`)) ?? "#explore-first";
}

/** Return what files are: {files, jobs: names of JOBS, the likeliest first}; no jobs where nothing can be done. */
export function known(given, tab) {
  const voices = given.filter(({ name }) => VOICE.test(name));
  if (voices.length) return { files: voices, jobs: ["import"] };
  const zips = given.filter(({ name }) => ZIP.test(name)), audio = given.filter(isAudio);
  if (zips.length) return { files: [...zips, ...audio], jobs: ["voice"] };
  if (!audio.length) return { files: [], jobs: [] };
  if (tab === "create") return { files: audio, jobs: ["voice"] };
  if (audio.length === 1) return { files: audio, jobs: [tab === "explore" ? "explore" : "convert"] };
  if (tab === "explore" && audio.length === 2) return { files: audio, jobs: ["compare"] };
  const backings = audio.filter(({ name }) => BACKING.test(name)).length;
  const isSong = audio.length <= 3 && backings === 1;
  return { files: audio, jobs: [...(isSong ? ["song"] : []), "batch", "voice", ...(audio.length === 2 ? ["compare"] : [])] };
}

/** Return the files that are dropped, those of folders too. */
async function filesOf({ items }) {
  const entries = [...items].map((item) => item.webkitGetAsEntry?.() ?? item.getAsFile()).filter(Boolean); // now: later it is empty
  const found = [];
  while (entries.length && found.length < MOST_FILES) {
    const entry = entries.shift();
    if (entry instanceof File) found.push(entry);
    else if (entry.isFile) found.push(await new Promise((take, fail) => entry.file(take, fail)));
    else {
      const reader = entry.createReader();
      for (let more = [null]; more.length; ) {
        more = await new Promise((take, fail) => reader.readEntries(take, fail));
        entries.push(...more);
      }
    }
  }
  return found.filter(({ name }) => !name.startsWith("."));
}

let isRestored = false;

class Drop extends Listener {
  #still = 0;

  connectedCallback() {
    super.connectedCallback();
    this.setAttribute("role", "status");
    if (!isRestored) restore(({ job, place, files }) => (job ? this.#do(job, files) : this.#give(place, files)));
    isRestored = true;
  }

  #over = (event) => {
    if (!event.dataTransfer?.types.includes("Files")) return;
    event.preventDefault();
    if (!this.dataset.state) this.#show("over", make("p", {}, make("b", {}, tr("Drop it anywhere.")), " " + tr("A vocal, a vocal and its backing, several recordings, a folder, a ZIP, a voice or an RVC model.")));
    clearTimeout(this.#still);
    this.#still = setTimeout(() => this.dataset.state === "over" && this.#close(), STILL_MS);
  };

  #drop = (event) => {
    if (event.defaultPrevented || !event.dataTransfer?.types.includes("Files")) return;
    if (event.target instanceof Element && event.target.closest(OWN)) return;
    event.preventDefault();
    filesOf(event.dataTransfer).then((files) => this.#take(files));
  };

  #key = (event) => event.key === "Escape" && this.dataset.state === "asks" && this.#close();

  #kept = ({ detail }) => {
    if (!detail) return this.dataset.state === "asks" && this.#close();
    const names = detail.names.join(", ");
    this.#ask([make("p", {}, tr("The studio cannot be reached: until it is back, this browser keeps {names} for it.", { names }))], detail.stop);
  };

  heard = [[document, "timbre-kept", this.#kept], [document, "dragover", this.#over], [document, "drop", this.#drop], [document, "keydown", this.#key]];

  #take(given) {
    const tab = tabNow(), { files, jobs } = known(given, tab);
    if (!jobs.length && tab === "voices" && given.length) return this.#do("import", given); // which says what it is
    if (!jobs.length) {
      return this.#ask([make("p", {}, tr("The studio opens recordings, a ZIP or a folder of them, voices (.voice.zip) and RVC models (.pth, .onnx)."))]);
    }
    if (jobs.length === 1) return this.#do(jobs[0], files);
    const count = files.length;
    const buttons = jobs.map((job, place) => make("button", { type: "button", class: place ? "job" : "job first", onclick: () => this.#do(job, files) }, JOBS[job][0]));
    this.#ask([make("p", {}, tr("{count} recordings: what would you like to do with them?", { count })), ...buttons]);
    buttons[0].focus();
  }

  #do(job, files) {
    this.#close();
    return during(job, files, () => JOBS[job][1](files)).catch(this.#missed);
  }

  #give(place, files) {
    return give(place, files).catch(this.#missed);
  }

  #missed = () => this.#ask([make("p", {}, tr("The page was not ready for that. Drop it again."))]);

  #ask(content, stop = () => {}) {
    this.#show("asks", ...content, make("button", { type: "button", class: "job", onclick: () => (stop(), this.#close()) }, tr("Cancel")));
  }

  #show(state, ...content) {
    this.dataset.state = state;
    this.replaceChildren(...content);
  }

  #close() {
    delete this.dataset.state;
    this.replaceChildren();
  }
}

customElements.define("timbre-drop", Drop);

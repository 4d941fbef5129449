// <timbre-voices>: voices as cards to search, filter, listen to and choose from.
//
// data: {voices: [{id, name, description, gender, age, genre, voice_type, base_language, traits, vocal_range: {min,
// max}, estimated, demo, avatar, uses: [words], preview_url, state}], chosen, suited, range: {low, high, label}}. Without `chosen` the
// choice is kept; `suited` is chosen where nobody has yet. range (MIDI numbers): that of a recording, drawn on every card
// for comparison. A `state` other than "completed" is shown on the card, which can still be chosen. Sends `chosen` {id}, and
// `again` {model} to convert what was converted with another one, and `auditioned` {start_s, stop_s} to hear a phrase of the
// recording in all voices: "timbre-auditions" on the document brings it; both null: it was heard.
// Keys: arrows, Home and End move between the cards, P plays the preview of one.

import { avatar } from "./avatar.js";
import { Listener, iconButton, make, row, tell } from "./dom.js";
import { Listening } from "./listening.js";
import { PLAY, PLUS, STOP } from "./shapes.js";
import { tr } from "./texts.js";

const FILTERS = { gender: tr("Gender"), genre: tr("Genre"), voice_type: tr("Voice type"), base_language: tr("Language") };
const LOWEST = 36, HIGHEST = 84; // MIDI numbers, the ends of the range bars: C2 to C6
const SEMITONES = { C: 0, D: 2, E: 4, F: 5, G: 7, A: 9, B: 11 };
const FEW = 6; // voices: no filters are needed
const SPEAKS = "speaks"; // which comes in the language of the page; as studio/actions/voices/cards.py has it
const MOST_USES = 4; // on a card
const ALL = tr("Hear all on my vocal"), STOPPED = tr("Stop");

export class Voices extends Listener {
  #data = null;
  #listening = new Listening(this, () => this.#mark(), () => this.#next());
  #turn = null; // the ids of those that were heard, while all voices are on a phrase
  #given = []; // what there is of that phrase: [{id, url, isDone}]
  heard = [...this.#listening.heard, [document, "timbre-auditions", ({ detail }) => this.#came(detail)], [document, "timbre-play", ({ detail }) => this.#turn && detail.player !== this && this.#end()], [document, "timbre-heard", (event) => this.#known.add(event.detail.voice)]];
  #known = new Set(); // ids of voices that somebody has heard: such a one is not replaced
  #search = null;
  #hasChosen = false; // whether somebody has, since the page chose
  #revealed = null; // the card that was scrolled to
  #selects = {};

  set data(given) {
    const before = this.#data;
    if (given?.chosen) this.#hasChosen = false;
    const suited = this.#hasChosen || this.#known.has(before?.chosen) ? null : given?.suited;
    this.#data = given && { ...given, chosen: given.chosen ?? suited ?? before?.chosen, range: given.range };
    const written = (one, as) => as([one.voices, one.range]);
    const isSame = (as) => before && given && written(before, as) === written(given, as);
    // a preview that is playing is not interrupted by new links to the same files
    if (isSame(JSON.stringify) || (this.#listening.playing && isSame(lasting))) this.#mark();
    else {
      this.#listening.quiet();
      if (given) this.#build();
      else this.replaceChildren();
    }
  }

  get data() {
    return this.#data;
  }

  disconnectedCallback() {
    super.disconnectedCallback();
    this.#listening.quiet();
  }

  choose(id, tells = true) {
    this.#data.chosen = id;
    this.#hasChosen = true;
    this.#mark();
    if (tells) tell(this, "chosen", { id });
  }

  #build() {
    const words = this.#search?.value ?? "";
    const narrowed = Object.fromEntries(Object.entries(this.#selects).map(([name, one]) => [name, one.value]));
    const { voices } = this.#data;
    const isMany = voices.length > FEW;
    this.replaceChildren();
    const bar = make("div", { class: "filters", role: "search", "aria-label": tr("Voices") });
    const asked = { type: "search", placeholder: tr("Search"), "aria-label": tr("Search voices"), hidden: voices.length < 2 };
    this.#search = make("input", { class: "search", ...asked, oninput: () => this.#narrow() });
    this.#search.value = words;
    bar.append(this.#search);
    this.#selects = {};
    for (const [name, title] of Object.entries(FILTERS)) {
      const known = [...new Set(voices.map((voice) => voice[name]).filter(Boolean))];
      if (known.length < 2 || !isMany) continue;
      const options = known.map((value) => new Option(said(name, value), value)).sort(byText);
      const select = make("select", { class: "filter", "aria-label": title, onchange: () => this.#narrow() });
      select.append(new Option(title, ""), ...options);
      select.value = known.includes(narrowed[name]) ? narrowed[name] : "";
      this.#selects[name] = select;
      bar.append(select);
    }
    const group = { class: "cards", role: "radiogroup", "aria-label": tr("Voice"), onkeydown: (event) => this.#key(event) };
    const cards = make("div", group, voices.map((voice) => this.#card(voice)));
    const all = make("button", { type: "button", class: "audition", title: tr("Play the marked seconds, or the loudest, in each voice in turn"), onclick: () => this.#audition() }, ALL);
    this.append(bar, cards, all, make("p", { class: "none", role: "status" }, tr("No matching voice.")));
    this.#narrow();
  }

  #card(voice) {
    const state = voice.state && voice.state !== "completed" ? make("em", { class: "state" }, voice.state) : null;
    const title = make("span", { class: "title" }, make("b", { class: "name", translate: "no" }, voice.name || voice.id), state);
    const type = (voice.uses ?? []).includes(tr(SPEAKS)) ? SPEAKS : voice.voice_type; // one that only speaks is of no choir
    const kind = [type, said("base_language", voice.base_language)]; // what one sees of it in Convert
    const reach = voice.vocal_range?.min ? `${voice.vocal_range.min}–${voice.vocal_range.max}` : null; // found, where nothing is said
    const more = [voice.gender, voice.age === "adult" ? "" : voice.age, voice.genre === "other" ? "" : voice.genre];
    const uses = (voice.uses ?? []).slice(0, MOST_USES).map((use) => make("span", { class: "use" }, tr(use)));
    const choose = make(
      "button",
      { type: "button", role: "radio", class: "choose", title: (voice.uses ?? []).map((one) => tr(one)).join(", ") || null, "aria-keyshortcuts": voice.preview_url ? "P" : null, onclick: () => this.choose(voice.id) },
      make("span", { class: "who" }, avatar(voice.avatar), title),
      make("span", { class: "kind" }, kind.some(Boolean) ? row(kind.map((one) => one && tr(one)), " · ") : reach ?? tr("Not analysed yet"), make("span", { class: "more" }, more.filter(Boolean).map((one) => ` · ${tr(one)}`))),
      voice.description ? make("span", { class: "description", translate: voice.demo ? null : "no" }, voice.demo ? tr(voice.description) : voice.description) : null,
      voice.vocal_range?.min ? this.#range(voice) : null,
      uses.length ? make("span", { class: "uses" }, uses) : null,
    );
    const card = make("div", { class: "card", style: voice.avatar ? `--of: ${voice.avatar.colour}` : null }, choose, voice.preview_url ? this.#preview(voice) : null, this.#again(voice));
    card.dataset.id = voice.id;
    return card;
  }

  #range(voice) {
    const { range } = this.#data, { min, max } = voice.vocal_range, estimate = estimateOf(voice);
    const bar = make("span", { class: "range-bar", "aria-hidden": "true" }, stretch(estimate ? "voice estimated" : "voice", midi(min), midi(max)));
    if (range) bar.append(stretch("recording", range.low, range.high));
    const notes = make("span", { class: "notes" }, `${estimate ? "≈ " : ""}${min}–${max}`);
    return make("span", { class: "range", title: [tr("Range: {min} to {max}", { min, max }), estimate].filter(Boolean).join(". ") }, bar, notes);
  }

  #preview(voice) {
    const toggle = () => {
      this.#known.add(voice.id);
      if (this.#turn) this.#end();
      this.#listening.toggle(voice.id, voice.preview_url);
    };
    return Object.assign(iconButton("preview", PLAY, tr("Play {name}", { name: voice.name }), toggle), { title: tr("Play (P)") });
  }

  // ---- all voices on the recording, one after the other

  #audition() {
    const phrase = document.querySelector("timbre-instrument")?.phrase, isOn = this.#turn !== null;
    this.#listening.quiet();
    if (isOn || !phrase) return this.#end();
    this.#turn = new Set();
    tell(this, "auditioned", phrase);
    this.#mark();
  }

  #came(given) {
    this.#given = given;
    if (!this.#turn) this.#end();
    else if (!this.#listening.playing) this.#next();
  }

  /** Play the next voice that is there; with the last one the turn is over. */
  #next() {
    const left = this.#turn ? this.#given.filter(({ id }) => !this.#turn.has(id)) : [], next = left.find(({ url }) => url);
    if (next) {
      this.#turn.add(next.id);
      this.#known.add(next.id);
      this.#listening.toggle(next.id, next.url);
    } else if (left.every(({ isDone }) => isDone)) this.#end();
  }

  /** What was made for it is taken away once all of it is there. */
  #end() {
    this.#turn = null;
    if (this.#given.length && this.#given.every(({ isDone }) => isDone)) {
      this.#given = [];
      tell(this, "auditioned", { start_s: null, stop_s: null });
    }
    this.#mark();
  }

  /** Shown beside what was converted: see columns.css. */
  #again({ id, name }) {
    const made = iconButton("again", PLUS, tr("Convert with {name}", { name }), () => (this.choose(id), tell(this, "again", { model: id })));
    made.tabIndex = -1; // Ctrl+Enter converts with the chosen one
    return made;
  }

  /** Mark the chosen card, the one that the Tab key reaches, and the one that is playing. */
  #mark() {
    if (!this.#data || !this.childElementCount) return;
    const cards = [...this.querySelectorAll(".card")];
    const shown = cards.filter((card) => !card.hidden);
    const reached = shown.find((card) => card.dataset.id === this.#data.chosen) ?? shown[0];
    for (const card of cards) {
      const isChosen = card.dataset.id === this.#data.chosen;
      const choose = card.querySelector(".choose");
      card.classList.toggle("chosen", isChosen);
      choose.setAttribute("aria-checked", isChosen);
      choose.tabIndex = card === reached ? 0 : -1;
      const preview = card.querySelector(".preview");
      if (!preview) continue;
      const plays = card.dataset.id === this.#listening.playing;
      preview.tabIndex = -1; // P does the same on the card
      const name = card.querySelector(".name").textContent;
      preview.ariaLabel = plays ? tr("Stop {name}", { name }) : tr("Play {name}", { name });
      preview.setAttribute("aria-pressed", plays);
      preview.querySelector("path").setAttribute("d", plays ? STOP : PLAY);
    }
    const all = this.querySelector(".audition");
    all.textContent = this.#turn ? STOPPED : ALL;
    all.ariaBusy = String(Boolean(this.#turn) && !this.#listening.playing);
    this.querySelector(".none").hidden = shown.length > 0;
    this.#reveal(cards.find((card) => card.dataset.id === this.#data.chosen));
  }

  /** Scroll the cards, not the page, to one that was chosen. */
  #reveal(card) {
    if (!card || card === this.#revealed) return;
    this.#revealed = card;
    const inner = card.getBoundingClientRect(), outer = card.parentElement.getBoundingClientRect();
    const by = (start, end) => Math.min(0, inner[start] - outer[start]) || Math.max(0, inner[end] - outer[end]);
    card.parentElement.scrollBy(by("left", "right"), by("top", "bottom"));
  }

  #narrow() {
    const words = folded(this.#search.value).split(/\s+/).filter(Boolean);
    this.#data.voices.forEach((voice, index) => {
      const ours = [voice.voice_type, voice.gender, voice.genre, ...(voice.traits ?? [])].filter(Boolean);
      const texts = [voice.name, voice.description, ...ours, ...ours.map((one) => tr(one)), said("base_language", voice.base_language)];
      const all = folded(texts.join("\n"));
      const fits = Object.entries(this.#selects).every(([name, one]) => !one.value || voice[name] === one.value);
      this.querySelectorAll(".card")[index].hidden = !fits || !words.every((word) => all.includes(word));
    });
    this.#mark();
  }

  #key(event) {
    if (event.target.role !== "radio") return;
    const shown = [...this.querySelectorAll(".card:not([hidden]) .choose")];
    const at = shown.indexOf(event.target);
    if (event.key.toLowerCase() === "p") return event.target.parentElement.querySelector(".preview")?.click();
    const steps = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };
    let to = null;
    if (event.key in steps) to = (at + steps[event.key] + shown.length) % shown.length;
    else if (event.key === "Home") to = 0;
    else if (event.key === "End") to = shown.length - 1;
    if (to === null) return;
    event.preventDefault();
    shown[to].click();
    shown[to].focus();
  }
}

/** C#4 -> 61 */
export function midi(note) {
  const [, letter, sharp, octave] = /^([A-G])(#?)(-?\d+)$/.exec(note) ?? [null, "C", "", "4"];
  return SEMITONES[letter] + (sharp ? 1 : 0) + 12 * (Number(octave) + 1);
}

/** The data as text, without the parts of a link that differ between links to the same file. */
function lasting(given) {
  return JSON.stringify(given).replace(/(expires|signature)=[^&"]*/g, "");
}

/** Return a sentence on a range that no recording of the voice shows; null where one does. */
export function estimateOf({ name, estimated }) {
  if (!estimated) return null;
  return estimated === "spoken" ? tr("Only singing of {name} was recorded: where {name} speaks is estimated.", { name }) : tr("Only speech of {name} was recorded: where {name} sings is estimated.", { name });
}

function stretch(name, low, high) {
  const share = (note) => (100 * (Math.max(LOWEST, Math.min(HIGHEST, note)) - LOWEST)) / (HIGHEST - LOWEST);
  const made = make("i", { class: name });
  made.style.left = `${share(low)}%`;
  made.style.width = `${Math.max(1, share(high) - share(low))}%`;
  return made;
}

/** The name of a value in the language of the page: "de" as a language is German. */
function said(name, value) {
  if (!value) return "";
  if (name !== "base_language") return tr(value);
  try {
    return new Intl.DisplayNames([navigator.language], { type: "language" }).of(value);
  } catch {
    return value;
  }
}

/** A text as it is searched: without accents, in small letters. */
function folded(text) {
  return text.normalize("NFD").replace(/\p{Mn}/gu, "").toLowerCase();
}

function byText(one, other) {
  return one.text.localeCompare(other.text, navigator.language);
}

customElements.define("timbre-voices", Voices);

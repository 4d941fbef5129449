// <timbre-voices>: voices to choose one of, as cards that can be searched, narrowed and listened to.
//
// data: {voices: [{id, name, description, gender, age, genre, voice_type, base_language, traits, vocal_range: {min,
// max}, demo, preview_url, state}], chosen, range: {low, high, label}}. Without `chosen` the choice stays as it is. range
// (MIDI numbers): a recording's own, drawn on every card to compare with. Tells `chosen` {id}. A voice whose `state` is there and not "completed" says so and
// can be chosen all the same.
// Keys: arrows, home and end within the cards; a card's preview is the button beside it.

import { make, tell } from "./dom.js";
import { openSound, rest } from "./sound.js";

const FILTERS = { gender: "Gender", genre: "Genre", voice_type: "Voice type", base_language: "Language" };
const LOWEST = 36, HIGHEST = 84; // MIDI numbers, the ends of the range bars: C2 to C6
const SEMITONES = { C: 0, D: 2, E: 4, F: 5, G: 7, A: 9, B: 11 };
const FEW = 5; // voices that need no search
const MOST_TRAITS = 4; // on a card
const PLAY = "M7 4.5v15l13-7.5z", STOP = "M6 6h12v12H6z";

export class Voices extends HTMLElement {
  #data = null;
  #playing = null; // the sound of a preview
  #ending = 0;
  #search = null;
  #selects = {};
  #heard = null; // the id of the voice whose preview plays

  set data(given) {
    const before = this.#data;
    this.#data = given && { ...given, chosen: given.chosen ?? before?.chosen, range: given.range };
    const told = (one, as) => as([one.voices, one.range]);
    const isSame = (as) => before && given && told(before, as) === told(given, as);
    // what is heard goes on where nothing is another
    if (isSame(JSON.stringify) || (this.#playing && isSame(lasting))) return this.#mark();
    this.#quiet();
    if (given) this.#build();
    else this.replaceChildren();
  }

  get data() {
    return this.#data;
  }

  connectedCallback() {
    document.addEventListener("timbre-play", this.#interrupted);
  }

  disconnectedCallback() {
    document.removeEventListener("timbre-play", this.#interrupted);
    this.#quiet();
  }

  choose(id, tells = true) {
    this.#data.chosen = id;
    this.#mark();
    if (tells) tell(this, "chosen", { id });
  }

  // ---- what one sees

  #build() {
    const words = this.#search?.value ?? "";
    const narrowed = Object.fromEntries(Object.entries(this.#selects).map(([name, one]) => [name, one.value]));
    const { voices } = this.#data;
    this.replaceChildren();
    const bar = make("div", { class: "filters", role: "search", "aria-label": "Voices" });
    const asked = { type: "search", placeholder: "Search", "aria-label": "Search voices" };
    this.#search = make("input", { class: "search", ...asked, oninput: () => this.#narrow() });
    this.#search.value = words;
    if (voices.length > FEW) bar.append(this.#search);
    this.#selects = {};
    for (const [name, title] of Object.entries(FILTERS)) {
      const known = [...new Set(voices.map((voice) => voice[name]).filter(Boolean))];
      if (known.length < 2) continue;
      const options = known.map((value) => new Option(said(name, value), value)).sort(byText);
      const select = make("select", { class: "filter", "aria-label": title, onchange: () => this.#narrow() });
      select.append(new Option(title, ""), ...options);
      select.value = known.includes(narrowed[name]) ? narrowed[name] : "";
      this.#selects[name] = select;
      bar.append(select);
    }
    const group = { class: "cards", role: "radiogroup", "aria-label": "Voice", onkeydown: (event) => this.#key(event) };
    const cards = make("div", group, voices.map((voice) => this.#card(voice)));
    this.append(bar, cards, make("p", { class: "none", role: "status" }, "No voice is like that."));
    this.#narrow();
  }

  #card(voice) {
    const state = voice.state && voice.state !== "completed" ? make("em", { class: "state" }, voice.state) : null;
    const title = make("span", { class: "title" }, make("b", { class: "name" }, voice.name || voice.id), state);
    const kind = [voice.voice_type, voice.gender, voice.age === "adult" ? "" : voice.age];
    const more = [voice.genre === "other" ? "" : voice.genre, said("base_language", voice.base_language)];
    const traits = (voice.traits ?? []).slice(0, MOST_TRAITS).map((trait) => make("span", { class: "trait" }, trait));
    const choose = make(
      "button",
      { type: "button", role: "radio", class: "choose", onclick: () => this.choose(voice.id) },
      title,
      make("span", { class: "kind" }, [...kind, ...more].filter(Boolean).join(" · ")),
      voice.description ? make("span", { class: "description" }, voice.description) : null,
      voice.vocal_range?.min ? this.#range(voice.vocal_range) : null,
      traits.length ? make("span", { class: "traits" }, traits) : null,
    );
    const card = make("div", { class: "card" }, choose, voice.preview_url ? this.#preview(voice) : null);
    card.dataset.id = voice.id;
    return card;
  }

  #range({ min, max }) {
    const { range } = this.#data;
    const bar = make("span", { class: "range-bar", "aria-hidden": "true" }, stretch("voice", midi(min), midi(max)));
    if (range) bar.append(stretch("recording", range.low, range.high));
    const notes = make("span", { class: "notes" }, `${min}–${max}`);
    return make("span", { class: "range", title: `Sings and speaks from ${min} to ${max}` }, bar, notes);
  }

  #preview(voice) {
    const drawn = make("svg", { viewBox: "0 0 24 24", "aria-hidden": "true" }, make("path"));
    return make("button", { type: "button", class: "preview", onclick: () => this.#listen(voice) }, drawn);
  }

  /** Which card is chosen, which can be reached by the tabulator, and which is heard. */
  #mark() {
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
      const plays = card.dataset.id === this.#heard;
      preview.setAttribute("aria-label", `${plays ? "Stop" : "Hear"} ${card.querySelector(".name").textContent}`);
      preview.setAttribute("aria-pressed", plays);
      preview.querySelector("path").setAttribute("d", plays ? STOP : PLAY);
    }
    this.querySelector(".none").hidden = shown.length > 0;
  }

  #narrow() {
    const words = this.#search.value.toLocaleLowerCase().split(/\s+/).filter(Boolean);
    this.#data.voices.forEach((voice, index) => {
      const texts = [voice.name, voice.description, voice.voice_type, voice.gender, voice.genre, ...(voice.traits ?? [])];
      const all = [...texts, said("base_language", voice.base_language)].join("\n").toLocaleLowerCase();
      const fits = Object.entries(this.#selects).every(([name, one]) => !one.value || voice[name] === one.value);
      this.querySelectorAll(".card")[index].hidden = !fits || !words.every((word) => all.includes(word));
    });
    this.#mark();
  }

  #key(event) {
    if (event.target.role !== "radio") return;
    const shown = [...this.querySelectorAll(".card:not([hidden]) .choose")];
    const at = shown.indexOf(event.target);
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

  // ---- previews

  async #listen(voice) {
    const stops = this.#heard === voice.id;
    this.#quiet();
    if (stops) return;
    document.dispatchEvent(new CustomEvent("timbre-play", { detail: { player: this } }));
    this.#heard = voice.id;
    this.#mark();
    try {
      const sound = await openSound(voice.preview_url);
      if (this.#heard !== voice.id) return;
      await sound.start(0);
      if (this.#heard !== voice.id) return sound.stop();
      this.#playing = sound;
      this.#ending = setTimeout(() => this.#quiet(), sound.duration * 1000 + 100);
    } catch {
      this.#quiet();
    }
  }

  #interrupted = (event) => {
    if (event.detail.player !== this) this.#quiet(false);
  };

  #quiet(rests = true) {
    clearTimeout(this.#ending);
    const sound = this.#playing;
    this.#playing = null;
    this.#heard = null;
    sound?.stop();
    if (sound && rests) setTimeout(() => this.#playing ?? rest(), 100); // after the fade
    if (this.#data && this.childElementCount) this.#mark();
  }
}

/** C#4 -> 61 */
export function midi(note) {
  const [, letter, sharp, octave] = /^([A-G])(#?)(-?\d+)$/.exec(note) ?? [null, "C", "", "4"];
  return SEMITONES[letter] + (sharp ? 1 : 0) + 12 * (Number(octave) + 1);
}

/** What is given, as text, without what is another in each link to the same file. */
function lasting(given) {
  return JSON.stringify(given).replace(/(expires|signature)=[^&"]*/g, "");
}

function stretch(name, low, high) {
  const share = (note) => (100 * (Math.max(LOWEST, Math.min(HIGHEST, note)) - LOWEST)) / (HIGHEST - LOWEST);
  const made = make("i", { class: name });
  made.style.left = `${share(low)}%`;
  made.style.width = `${Math.max(1, share(high) - share(low))}%`;
  return made;
}

/** A value as people say it: the language "de" is German. */
function said(name, value) {
  if (!value) return "";
  if (name !== "base_language") return value;
  try {
    return new Intl.DisplayNames(["en"], { type: "language" }).of(value);
  } catch {
    return value;
  }
}

function byText(one, other) {
  return one.text.localeCompare(other.text);
}

customElements.define("timbre-voices", Voices);

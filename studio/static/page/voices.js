// <timbre-voices>: voices to choose one of, as cards that can be searched, narrowed and listened to.
//
// data: {voices: [{id, name, description, gender, age, genre, voice_type, base_language, traits, vocal_range: {min,
// max}, demo, preview_url, state}], chosen, range: {low, high, label}}. range (MIDI numbers): a recording's own, drawn
// on every card to compare with. Tells `chosen` {id}. A voice whose `state` is there and not "completed" says so and
// can be chosen all the same.
// Keys: arrows, home and end within the cards; a card's preview is the button beside it.

import { openSound, rest } from "./sound.js";

const FILTERS = { gender: "Gender", genre: "Genre", voice_type: "Voice type", base_language: "Language" };
const LOWEST = 36, HIGHEST = 84; // MIDI numbers, the ends of the range bars: C2 to C6
const SEMITONES = { C: 0, D: 2, E: 4, F: 5, G: 7, A: 9, B: 11 };
const FEW = 5; // voices that need no search
const PLAY = "M7 4.5v15l13-7.5z", STOP = "M6 6h12v12H6z";
const SVG = "http://www.w3.org/2000/svg";

export class Voices extends HTMLElement {
  #data = null;
  #playing = null; // the sound of a preview
  #ending = 0;
  #search = null;
  #selects = {};
  #heard = null; // the id of the voice whose preview plays

  set data(given) {
    this.#quiet();
    const before = this.#data;
    this.#data = given;
    const same = before && given && JSON.stringify(before.voices) === JSON.stringify(given.voices);
    if (!given) this.replaceChildren();
    else if (same && JSON.stringify(before.range) === JSON.stringify(given.range)) this.#mark();
    else this.#build();
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

  choose(id, tell = true) {
    this.#data.chosen = id;
    this.#mark();
    if (tell) this.dispatchEvent(new CustomEvent("tell-chosen", { detail: { id } }));
  }

  // ---- what one sees

  #build() {
    const words = this.#search?.value ?? "";
    const narrowed = Object.fromEntries(Object.entries(this.#selects).map(([name, one]) => [name, one.value]));
    const { voices } = this.#data;
    this.replaceChildren();
    const bar = part("div", "filters", { role: "search", "aria-label": "Voices" });
    this.#search = part("input", "search", { type: "search", placeholder: "Search", "aria-label": "Search voices" });
    this.#search.value = words;
    this.#search.addEventListener("input", () => this.#narrow());
    if (voices.length > FEW) bar.append(this.#search);
    this.#selects = {};
    for (const [name, title] of Object.entries(FILTERS)) {
      const known = [...new Set(voices.map((voice) => voice[name]).filter(Boolean))];
      if (known.length < 2) continue;
      const select = part("select", "filter", { "aria-label": title });
      select.append(new Option(title, ""), ...known.map((value) => new Option(said(name, value), value)).sort(byText));
      select.value = known.includes(narrowed[name]) ? narrowed[name] : "";
      select.addEventListener("change", () => this.#narrow());
      this.#selects[name] = select;
      bar.append(select);
    }
    const cards = part("div", "cards", { role: "radiogroup", "aria-label": "Voice" });
    cards.append(...voices.map((voice) => this.#card(voice)));
    cards.addEventListener("keydown", (event) => this.#key(event));
    const none = text("p", "none", "No voice is like that.");
    none.setAttribute("role", "status");
    this.append(bar, cards, none);
    this.#narrow();
  }

  #card(voice) {
    const card = part("div", "card");
    card.dataset.id = voice.id;
    const choose = part("button", "choose", { type: "button", role: "radio" });
    const title = part("span", "title");
    title.append(text("b", "name", voice.name || voice.id));
    if (voice.state && voice.state !== "completed") title.append(text("em", "state", voice.state));
    choose.append(title);
    const kind = [voice.voice_type, voice.gender, voice.age === "adult" ? "" : voice.age].filter(Boolean);
    const more = [voice.genre === "other" ? "" : voice.genre, said("base_language", voice.base_language)];
    choose.append(text("span", "kind", [...kind, ...more].filter(Boolean).join(" · ")));
    if (voice.description) choose.append(text("span", "description", voice.description));
    if (voice.vocal_range?.min) choose.append(this.#range(voice.vocal_range));
    const traits = part("span", "traits");
    traits.append(...(voice.traits ?? []).slice(0, 4).map((trait) => text("span", "trait", trait)));
    if (traits.childElementCount) choose.append(traits);
    choose.addEventListener("click", () => this.choose(voice.id));
    card.append(choose);
    if (voice.preview_url) card.append(this.#preview(voice));
    return card;
  }

  #range({ min, max }) {
    const whole = part("span", "range", { title: `Sings and speaks from ${min} to ${max}` });
    const bar = part("span", "range-bar", { "aria-hidden": "true" });
    bar.append(stretch("voice", midi(min), midi(max)));
    const { range } = this.#data;
    if (range) bar.append(stretch("recording", range.low, range.high));
    whole.append(bar, text("span", "notes", `${min}–${max}`));
    return whole;
  }

  #preview(voice) {
    const made = part("button", "preview", { type: "button" });
    const drawn = document.createElementNS(SVG, "svg");
    drawn.setAttribute("viewBox", "0 0 24 24");
    drawn.setAttribute("aria-hidden", "true");
    drawn.append(document.createElementNS(SVG, "path"));
    made.append(drawn);
    made.addEventListener("click", () => this.#listen(voice));
    return made;
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

function stretch(name, low, high) {
  const share = (note) => (100 * (Math.max(LOWEST, Math.min(HIGHEST, note)) - LOWEST)) / (HIGHEST - LOWEST);
  const made = part("i", name);
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

function part(tag, name, attributes = {}) {
  const made = document.createElement(tag);
  made.className = name;
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}

function text(tag, name, content) {
  const made = part(tag, name);
  made.textContent = content;
  return made;
}

customElements.define("timbre-voices", Voices);

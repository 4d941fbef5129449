// <timbre-fit>: which notes of a recording are within a voice's range, live while the transpose slider moves, and the
// key in which most are.
//
// data: {voice: {name, low, high, estimated}, histogram: [{midi, seconds}], auto, best, transpose, isAnalysed, others}. isAnalysed:
// whether there is a recording; others: [{id, name}] that suit it where this voice does not; low, high: MIDI numbers or
// null; estimated: "spoken" or "sung" where no recording of the voice is what the recording is, else null; auto: the shift
// that auto would choose, or null; transpose: a number, or null for auto; best: {semitones, outside} or null. The slider
// dispatches "timbre-transpose" {semitones} on the
// document, null for auto. Tells `best` {semitones} when the best key is chosen.

import { Listener, make, tell } from "./dom.js";
import { noteName } from "./roll-drawing.js";
import { ntr, tr } from "./texts.js";
import { estimateOf } from "./voices.js";

const DRAWN_SHIFT = 12; // the picture has room for this much, and for the present one
const HEIGHT = 64, KEYS = 14; // of the picture, in its own units
const KEY = 8; // wide
const BLACK = [1, 3, 6, 8, 10];
const SHORTEST_S = 0.1; // of a note
const ALMOST = 5; // per cent that do not fit, at most

class Fit extends Listener {
  #data = null;
  #semitones = null;
  #owner = null; // the voice that the shift was set for by hand

  set data(given) {
    this.#data = given;
    this.#semitones = given?.transpose ?? null;
    this.#owner = this.#semitones === null ? null : (this.#owner ?? given.voice.name);
    this.#show();
  }

  get data() {
    return this.#data;
  }

  #moved = (event) => {
    const { semitones } = event.detail;
    if (semitones !== this.#semitones) this.#owner = semitones === null ? null : (this.#data?.voice.name ?? null);
    this.#semitones = semitones;
    this.#show();
  };

  heard = [[document, "timbre-transpose", this.#moved]];

  #show() {
    if (!this.#data) return this.replaceChildren();
    const { voice, histogram, auto } = this.#data;
    const shift = this.#semitones ?? auto ?? 0, estimate = estimateOf(voice);
    this.replaceChildren(this.#picture(shift), this.#sentence(shift, this.#semitones === null), ...(estimate ? [make("div", { class: "estimated" }, estimate)] : []), ...this.#offer(shift));
    this.dataset.outside = String(outside(histogram, voice, shift).length);
  }

  /** Return a button for the best key, with what it gains over the present one; none where it gains nothing. */
  #offer(shift) {
    const { voice, histogram, best, others } = this.#data;
    if (!best) return [];
    const [gained, now] = [best.outside, sum(outside(histogram, voice, shift)) / sum(histogram)].map((share) => Math.round(100 * share));
    if (gained >= now) return [];
    if (others?.length) return [make("p", { class: "unsuited" }, tr("Too far from your range. Try another voice:"), ...others.map(({ id, name }) => [" ", make("button", { type: "button", class: "best", translate: "no", onclick: () => take(id) }, name)]).flat())];
    const key = `${best.semitones > 0 ? "+" : best.semitones < 0 ? "\u2212" : ""}${Math.abs(best.semitones)}`; // as at the slider
    const act = () => tell(this, "best", { semitones: best.semitones });
    return [make("button", { type: "button", class: "best", onclick: act }, make("b", {}, tr("Best key {key}:", { key })), ` ${gain(gained)}`)];
  }

  #picture(shift) {
    const { voice, histogram } = this.#data;
    const sung = histogram.filter((one) => one.seconds >= SHORTEST_S).map((one) => one.midi);
    const known = [voice.low, voice.high].filter((note) => note !== null);
    const ends = [...known, ...sung.map((note) => note - DRAWN_SHIFT), ...sung.map((note) => note + DRAWN_SHIFT), ...sung.map((note) => note + shift)];
    const lowest = Math.max(21, Math.min(48, ...ends) - 1), highest = Math.min(108, Math.max(72, ...ends) + 1);
    const width = (highest - lowest + 1) * KEY, at = (note) => (note - lowest) * KEY;
    const size = { viewBox: `0 0 ${width} ${HEIGHT + KEYS}`, preserveAspectRatio: "none" };
    const drawn = make("svg", size), names = make("div", { class: "names" });
    if (known.length === 2) {
      const size = { x: at(voice.low), y: 0, width: at(voice.high + 1) - at(voice.low), height: HEIGHT + KEYS };
      drawn.append(make("rect", { class: "voice", ...size }));
    }
    for (let note = lowest; note <= highest; note++) {
      const kind = BLACK.includes(note % 12) ? "black" : "white";
      drawn.append(make("rect", { class: `key ${kind}`, x: at(note) + 0.5, y: HEIGHT, width: KEY - 1, height: KEYS }));
      if (note % 12 === 0) names.append(make("span", { style: `left: ${(100 * at(note)) / width}%` }, noteName(note)));
    }
    const most = Math.max(...histogram.map((one) => one.seconds), 0.01);
    const out = new Set(outside(histogram, voice, shift).map((one) => one.midi));
    for (const { midi, seconds } of histogram) {
      if (midi + shift < lowest || midi + shift > highest) continue;
      const high = Math.max(1.5, (seconds / most) * (HEIGHT - 4));
      const place = { x: at(midi + shift) + 1, y: HEIGHT - high, width: KEY - 2, height: high };
      const kind = seconds < SHORTEST_S ? "hardly" : out.has(midi) ? "out" : "in";
      drawn.append(make("rect", { class: `note ${kind}`, ...place }));
    }
    return make("div", { class: "picture", "aria-hidden": "true" }, drawn, names);
  }

  #sentence(shift, isAuto) {
    const { voice, histogram, auto } = this.#data;
    const said = make("p", { role: "status" });
    if (!histogram.length) {
      if (this.#data.isAnalysed) said.append(tr("No notes found in the recording.") + " ");
      said.append(voice.low === null ? tr("{name}'s range is unknown.", { name: voice.name }) : tr("{name}'s range: {low} to {high}.", { name: voice.name, low: noteName(voice.low), high: noteName(voice.high) }));
      return said;
    }
    said.append(make("b", {}, isAuto && auto !== null ? autoShift(shift) : ownShift(shift)), " ");
    if (this.#owner && this.#owner !== voice.name) said.append(tr("You set this for {owner}.", { owner: this.#owner }) + " ");
    if (voice.low === null) return said;
    const out = outside(histogram, voice, shift);
    const all = histogram.filter((one) => one.seconds >= SHORTEST_S);
    if (!all.length) {
      said.append(tr("No pitch is long enough to compare."));
      return said;
    }
    if (!out.length) {
      said.className = "good";
      said.append(tr("All your notes fit {name}.", { name: voice.name }));
      return said;
    }
    const told = { share: Math.max(1, Math.round((100 * sum(out)) / sum(histogram))), name: voice.name, low: noteName(voice.low), high: noteName(voice.high) };
    const isAbove = out.some((one) => one.midi + shift > voice.high), isBelow = out.some((one) => one.midi + shift < voice.low);
    said.className = "warn";
    said.append(isAbove && isBelow ? tr("{share} % of your notes are too high or too low for {name} (above {high}, below {low}).", told) : isAbove ? tr("{share} % of your notes are too high for {name} (above {high}).", told) : tr("{share} % of your notes are too low for {name} (below {low}).", told));
    return said;
  }
}

/** Choose another voice, as if its card were pressed. */
function take(id) {
  /** @type {import("./voices.js").Voices} */ (document.querySelector("#convert-voices timbre-voices")).choose(id);
}

function gain(gained) {
  if (!gained) return tr("all notes fit");
  return gained <= ALMOST ? tr("almost all notes fit") : tr("only {gained} % do not fit", { gained });
}

function autoShift(shift) {
  const semitones = Math.abs(shift);
  if (!shift) return tr("Auto: same key.");
  return shift > 0 ? ntr("Auto: up {semitones} semitone.", "Auto: up {semitones} semitones.", { semitones }) : ntr("Auto: down {semitones} semitone.", "Auto: down {semitones} semitones.", { semitones });
}

function ownShift(shift) {
  const semitones = Math.abs(shift);
  if (!shift) return tr("Same key.");
  return shift > 0 ? ntr("Up {semitones} semitone.", "Up {semitones} semitones.", { semitones }) : ntr("Down {semitones} semitone.", "Down {semitones} semitones.", { semitones });
}

/** Return the notes that are outside a voice's range when moved by `shift`. */
function outside(histogram, voice, shift) {
  if (voice.low === null) return [];
  const isOut = (note) => note < voice.low || note > voice.high;
  return histogram.filter((one) => one.seconds >= SHORTEST_S && isOut(one.midi + shift));
}

function sum(histogram) {
  return histogram.reduce((seconds, one) => seconds + one.seconds, 0);
}

customElements.define("timbre-fit", Fit);

// <timbre-histogram>: how long each semitone is sung, over a keyboard.
//   data: {parts: [{label, colour, histogram: [{midi, seconds}]}]}
// <timbre-notes>: the notes of a recording as a list; a click on a time plays from there.
//   data: {notes: [{start_s, end_s, midi, cents}], follows: the id of a player}

import { Listener, make } from "./dom.js";
import { clock, noteName, toHertz } from "./roll-drawing.js";
import { fixed, ntr, tr } from "./texts.js";

const BLACK = new Set([1, 3, 6, 8, 10]);
const AROUND = 2; // semitones beside the lowest and highest
const LEAST = 0.005; // share of the singing; rarer notes do not widen the picture
const MOST_ROWS = 400;

class Histogram extends HTMLElement {
  set data(given) {
    this.replaceChildren();
    const parts = given?.parts?.filter((one) => one.histogram.length) ?? [];
    if (given && !parts.length) this.append(make("p", { class: "none" }, tr("No pitch found.")));
    if (!parts.length) return;
    // shares of each recording, so that long and short ones can be compared
    const wholes = parts.map((one) => one.histogram.reduce((sum, { seconds }) => sum + seconds, 0));
    const bars = parts.flatMap((one, i) => one.histogram.filter((bar) => bar.seconds > LEAST * wholes[i]));
    const low = Math.min(...bars.map((one) => one.midi)) - AROUND;
    const high = Math.max(...bars.map((one) => one.midi)) + AROUND;
    const seconds = parts.map((one) => new Map(one.histogram.map((bar) => [bar.midi, bar.seconds])));
    const most = Math.max(...parts.flatMap((one, i) => one.histogram.map((bar) => bar.seconds / wholes[i])));
    const hasC = Math.floor(high / 12) * 12 >= low;
    const drawn = make("div", { class: "bars", role: "img", "aria-label": this.#described(parts, wholes) });
    for (let midi = low; midi <= high; midi++) {
      const column = make("div", { class: "column" });
      const heights = make("div", { class: "heights" });
      const told = [tr("{midi}, {midi2} Hz", { midi: noteName(midi), midi2: fixed(toHertz(midi), 0) })];
      parts.forEach((one, i) => {
        const sung = seconds[i].get(midi) ?? 0;
        const bar = make("i", { class: "bar" });
        bar.style.height = `${(100 * sung) / wholes[i] / most}%`;
        bar.style.background = one.colour;
        heights.append(bar);
        told.push(`${parts.length > 1 ? `${one.label}: ` : ""}${fixed(sung, 1)} s (${Math.round((100 * sung) / wholes[i])} %)`);
      });
      column.title = told.join("\n");
      const key = make("span", { class: `key${BLACK.has(midi % 12) ? " black" : ""}` });
      if (midi % 12 === 0 || (!hasC && (midi === low || midi === high))) key.append(make("b", {}, noteName(midi)));
      column.append(heights, key);
      drawn.append(column);
    }
    if (parts.length > 1) {
      const named = ({ label, colour }) => make("span", {}, make("i", { style: `background: ${colour}` }), make("span", { translate: "no" }, label));
      this.append(make("div", { class: "legend" }, parts.map(named)));
    }
    this.append(drawn);
  }

  #described(parts, wholes) {
    return parts
      .map((one, i) => {
        const longest = [...one.histogram].sort((a, b) => b.seconds - a.seconds).slice(0, 3);
        const named = longest.map(({ midi, seconds }) => `${noteName(midi)} ${Math.round((100 * seconds) / wholes[i])} %`);
        const name = one.label;
        return tr("{name}: from {midi} to {midi2}, mostly {join}.", { name, midi: noteName(one.histogram[0].midi), midi2: noteName(one.histogram.at(-1).midi), join: named.join(", ") });
      })
      .join(" ");
  }
}

class Notes extends Listener {
  #data = null;

  set data(given) {
    this.#data = given;
    this.replaceChildren();
    if (given && !given.notes.length) this.append(make("p", { class: "none" }, tr("No notes found.")));
    if (!given?.notes.length) return;
    const head = [tr("Time"), tr("Note"), tr("Tuning"), tr("Length")].map((name) => make("th", { scope: "col" }, name));
    const rows = given.notes.slice(0, MOST_ROWS).map((note, index) => this.#row(note, index));
    const table = make("table", {}, make("thead", {}, make("tr", {}, head)), make("tbody", {}, rows));
    this.append(make("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": tr("Notes") }, table));
    const left = given.notes.length - MOST_ROWS;
    if (left > 0) this.append(make("p", { class: "more" }, ntr("{left} more note is in the MIDI file.", "{left} more notes are in the MIDI file.", { left })));
  }

  #row(note, index) {
    const cents = Math.round(note.cents);
    const from = make("button", { class: "from", type: "button", "data-index": index, title: tr("Play from here") }, clock(note.start_s, 2));
    const told = [noteName(note.midi), tr("{cents}{cents2} ct", { cents: cents < 0 ? "−" : "+", cents2: Math.abs(cents) }), `${fixed(note.end_s - note.start_s, 2)} s`];
    return make("tr", {}, make("td", {}, from), told.map((one) => make("td", {}, one)));
  }

  #chosen = (event) => {
    const index = event.target.closest?.("[data-index]")?.dataset.index;
    const note = index && this.#data?.notes[Number(index)];
    if (note) document.dispatchEvent(new CustomEvent("timbre-seek", { detail: { id: this.#data.follows, seconds: note.start_s } }));
  };

  #timed = (event) => {
    if (!this.#data || event.detail.id !== this.#data.follows) return;
    const { seconds } = event.detail;
    const sung = this.#data.notes.findIndex((note) => note.start_s <= seconds && seconds < note.end_s);
    const before = this.querySelector("tr.sung");
    const now = this.querySelector(`[data-index="${sung}"]`)?.closest("tr") ?? null;
    if (before === now) return;
    before?.classList.remove("sung");
    now?.classList.add("sung");
  };

  heard = [[this, "click", this.#chosen], [document, "timbre-time", this.#timed]];
}

customElements.define("timbre-histogram", Histogram);
customElements.define("timbre-notes", Notes);

// What is seen of a performance in <timbre-live>: levels, both notes with cents, and both pitches as they go by.

import { make } from "./dom.js";
import { Plot, coloursOf, drawRange, line, nameRange, noteName, sized, toHertz, toMidi } from "./roll-drawing.js";
import { signed, tr } from "./texts.js";
import { estimateOf } from "./voices.js";

export const LOWEST_DB = -60; // of the level meters
const WARM_DB = -3;
const FALL_DB = 2, HOLD_MS = 1500; // of a level with each picture, and of its mark
const MARKS_DB = [-6, -12, -24, -36, -48];
const IN_TUNE = 10; // cents
const FRAME_S = 0.01, SHOWN_S = 8, EVERY = 2; // of a curve, and which of its frames are drawn
const LEAP = 3; // semitones; wider steps are not joined
const LEAST_SPAN = 19, ROOM = 2; // semitones of the axis
const EASE = 0.15; // of the way that the axis goes with each picture
const OUTLIERS = 0.03; // of the frames, at each end, that the axis need not show
const LINES = [0, 4, 9], C_ONLY = [0], LEAST_PX = 14; // notes of an octave that have a line, and room for their names
const COLOURS_MS = 1000; // that they are taken for the theme's
const LEFT_PX = 40, RIGHT_PX = 52; // beside the curves

/** Change a text or a property, and only where it differs: what the page does not style again, the conversion may use. */
export function write(node, text) {
  if (!node.firstChild) node.textContent = text;
  else if (node.firstChild.data !== text) node.firstChild.data = text;
}
const put = (node, name, value) => node.style.getPropertyValue(name) === value || node.style.setProperty(name, value);

/** A level meter: its node, and `show(peak, mean)` in dB. */
export function level(label) {
  const parts = ["peak", "mean", "mark"].map((name) => make("i", { class: name }));
  const marks = MARKS_DB.map((db) => make("i", { class: "tick", style: `--share: ${share(db)}` }, String(-db)));
  const said = make("span", { class: "db" }), tube = make("div", { class: "tube" }, parts, marks);
  let now = [LOWEST_DB, LOWEST_DB], held = LOWEST_DB, heldAt = 0;
  return {
    node: make("div", { class: "level" }, tube, make("span", {}, label), said),
    show(peak, mean) {
      now = [peak, mean].map((db, place) => Math.max(db, now[place] - FALL_DB, LOWEST_DB));
      if (peak > held || performance.now() - heldAt > HOLD_MS) [held, heldAt] = [Math.max(peak, LOWEST_DB), performance.now()];
      [...now, held].forEach((db, place) => put(parts[place], "--share", share(db)));
      tube.classList.toggle("hot", held > WARM_DB);
      write(said, held > LOWEST_DB ? tr("{held} dB", { held: Math.round(held) }) : "");
    },
  };
}

const share = (db) => `${Math.round(100 * Math.min(1, Math.max(0, 1 - db / LOWEST_DB)))}%`;

/** The note that is sung and the one that is heard, in large letters, and between them how far it is from a note. */
export class Notes {
  #names = [0, 1].map(() => make("b", { translate: "no", class: "gone" }, "–"));
  #needle = make("i", { class: "needle" });
  #cents = make("span", { class: "cents" });

  constructor() {
    const [sung, heard] = [tr("You sing"), tr("You hear")].map((said, place) => make("div", { class: "note" }, make("span", {}, said), this.#names[place]));
    this.node = make("div", { class: "notes idle" }, sung, make("div", { class: "tuner" }, make("div", { class: "scale" }, this.#needle), this.#cents), heard);
  }

  /** Show the curve's last frames: [hertz as sung, as heard], 0 where there is no note. */
  show(curve) {
    const voiced = curve.filter(([hertz]) => hertz > 0);
    for (const name of this.#names) name.classList.toggle("gone", !voiced.length);
    if (!voiced.length) return;
    this.node.classList.remove("idle");
    const [sung, heard] = [0, 1].map((place) => voiced.reduce((sum, both) => sum + toMidi(both[place]), 0) / voiced.length);
    [sung, heard].forEach((midi, place) => write(this.#names[place], noteName(midi)));
    const cents = Math.round(100 * (sung - Math.round(sung)));
    put(this.#needle, "left", `${50 + cents}%`);
    this.#needle.classList.toggle("good", Math.abs(cents) <= IN_TUNE);
    write(this.#cents, tr("{cents} cents", { cents: signed(cents) }));
  }

  clear() {
    this.node.classList.add("idle");
    for (const name of this.#names) name.textContent = "–";
    this.#needle.style.left = "50%";
    this.#cents.textContent = "";
  }
}

/** The pitch of the last seconds, over the range of the voice. */
export class PitchPicture {
  #canvas = make("canvas", { role: "img", "aria-label": tr("Pitch of the last seconds") });
  #hint = make("p", { class: "small" });
  #curve = []; // [hertz as sung, as heard] of each frame, 0 where there is no note
  #range = null; // of the voice: {low, high} as MIDI notes
  #axis = null; // [lowest, highest] MIDI note that is shown
  #isDue = false;
  #colours = null; // {at, of: coloursOf(...)}

  constructor() {
    this.node = make("div", { class: "pitch" }, this.#canvas, this.#hint);
    new ResizeObserver(() => this.draw()).observe(this.#canvas);
  }

  /** Show the range of a voice: {name, low, high, estimated} as those of <timbre-fit>. */
  show({ name, low, high, estimated }) {
    this.#range = low === null ? null : { low, high };
    this.#axis = this.#curve.length ? this.#axis : null;
    const range = this.#range && tr("{name}'s range: {low} to {high}.", { name, low: noteName(low), high: noteName(high) });
    this.#hint.replaceChildren(...[range, range && estimateOf({ name, estimated }), tr("While you sing, your pitch and the one you hear are drawn here.")].filter(Boolean).map((text) => make("span", {}, text, " ")));
    this.draw();
  }

  clear() {
    this.#curve = [];
  }

  add(curve) {
    this.#hint.hidden = true;
    this.#curve = [...this.#curve, ...curve].slice(-SHOWN_S / FRAME_S);
    if (this.#isDue) return; // a machine that is busy draws less often
    this.#isDue = true;
    requestAnimationFrame(() => {
      this.#isDue = false;
      this.draw();
    });
  }

  draw() {
    const canvas = this.#canvas, width = canvas.clientWidth, height = canvas.clientHeight;
    if (!width || !height || document.hidden) return;
    const context = sized(canvas, width, height), colours = this.#ofTheme(), plot = new Plot(SHOWN_S), [low, high] = this.#follow();
    plot.box = { x: LEFT_PX, y: 0, width: Math.max(1, width - LEFT_PX - RIGHT_PX), height };
    plot.usePicture({ scale: "note", lowest_hertz: toHertz(low), highest_hertz: toHertz(high) });
    this.#drawNotes(context, plot, colours);
    if (this.#range) drawRange(context, plot, this.#range, colours);
    const now = plot.x(SHOWN_S);
    [colours.wave, colours.accent].forEach((ink, place) => this.#drawCurve(context, plot, place, ink));
    if (this.#range) nameRange(context, plot, this.#range, colours);
    Object.assign(context, { strokeStyle: colours.accent, fillStyle: colours.pale, lineWidth: 1.5, font: `11px ${colours.font}` });
    line(context, now, 0, now, height);
    context.fillText(tr("now"), now + 6, 16);
  }

  #ofTheme() {
    const now = performance.now();
    if (!this.#colours || now - this.#colours.at > COLOURS_MS) this.#colours = { at: now, of: coloursOf(this.#canvas) };
    return this.#colours.of;
  }

  #drawNotes(context, plot, colours) {
    const { box, low, high } = plot, shown = 4 * box.height > LEAST_PX * (high - low) ? LINES : C_ONLY;
    Object.assign(context, { font: `11px ${colours.font}`, textAlign: "right", textBaseline: "middle", fillStyle: colours.pale, strokeStyle: colours.line, lineWidth: 1 });
    for (let midi = Math.ceil(low); midi <= high; midi += 1) {
      const height = Math.round(plot.y(toHertz(midi))) + 0.5;
      if (!shown.includes(midi % 12) || height < LEAST_PX / 2 || height > box.height - LEAST_PX / 2) continue;
      line(context, box.x, height, box.x + box.width, height);
      context.fillText(noteName(midi), box.x - 8, height);
    }
    context.textAlign = "left";
  }

  // One path and one stroke: what this costs, the conversion may lack.
  #drawCurve(context, plot, place, ink) {
    const first = SHOWN_S - this.#curve.length * FRAME_S;
    let before = 0;
    Object.assign(context, { strokeStyle: ink, lineWidth: 2.5, lineJoin: "round" });
    context.beginPath();
    for (let i = 0; i < this.#curve.length; i += EVERY) {
      const hertz = this.#curve[i][place], isOn = before > 0 && Math.abs(12 * Math.log2(hertz / before)) < LEAP;
      if (hertz > 0) context[isOn ? "lineTo" : "moveTo"](plot.x(first + i * FRAME_S), plot.y(hertz));
      before = hertz;
    }
    context.stroke();
  }

  /** Return the lowest and the highest note of the axis, which follows what is sung. */
  #follow() {
    const all = this.#curve.flat().filter((hertz) => hertz > 0).sort((a, b) => a - b).map(toMidi), cut = Math.floor(OUTLIERS * all.length);
    const ends = all.length ? [all[cut], all.at(-1 - cut)] : this.#range ? [] : [57];
    if (this.#range) ends.push(this.#range.low, this.#range.high);
    let [low, high] = [Math.min(...ends) - ROOM, Math.max(...ends) + ROOM];
    const missing = Math.max(0, LEAST_SPAN - (high - low)) / 2;
    [low, high] = [low - missing, high + missing];
    this.#axis = this.#axis ? [low, high].map((wanted, place) => this.#axis[place] + EASE * (wanted - this.#axis[place])) : [low, high];
    return this.#axis;
  }
}

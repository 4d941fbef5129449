// What a roll is drawn with: where times and frequencies lie, and pitch, notes, spectrograms and levels on a canvas.
// Plain functions over a 2d context; nothing here knows of the page but its language. Sizes are CSS pixels, times seconds.

import { fixed, tr } from "./texts.js";

const NAMES = ["C", "C#", "D", "D#", "E", "F", "F#", "G", "G#", "A", "A#", "B"];
const BLACK_KEYS = new Set([1, 3, 6, 8, 10]);
const C2 = 36, C8 = 108;
const SHORTEST_S = 0.05; // that can be looked at
const LOWEST_DB = -80;
const HALF_A_LINE = 5; // pixels of the name of a note
export const TRUSTED = 0.3; // below this confidence no pitch is drawn
const LEAP = 3; // semitones; wider steps between two points are not joined
const STEPS_S = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1200, 1800, 3600];

export const toMidi = (hertz) => 69 + 12 * Math.log2(hertz / 440);
export const toHertz = (midi) => 440 * 2 ** ((midi - 69) / 12);
export const noteName = (midi) => `${NAMES[((Math.round(midi) % 12) + 12) % 12]}${Math.floor(Math.round(midi) / 12) - 1}`;

/** 57.12 -> "A3 +12 ct" */
export function noteWithCents(midi) {
  const cents = Math.round(100 * (midi - Math.round(midi)));
  return tr("{midi} {cents}{cents2} ct", { midi: noteName(midi), cents: cents < 0 ? "−" : "+", cents2: Math.abs(cents) });
}

/** 75.345 -> "1:15.3", with as many digits as are asked for. */
export function clock(seconds, digits = 1) {
  const whole = Math.max(0, Number(seconds.toFixed(digits)));
  const minutes = Math.floor(whole / 60);
  return `${minutes}:${(whole - 60 * minutes).toFixed(digits).padStart(digits ? digits + 3 : 2, "0")}`;
}

// How frequencies lie on the height: a place rises evenly from the lowest to the highest row of a picture.
const SCALES = {
  note: { place: toMidi, hertz: toHertz },
  mel: { place: (hertz) => 2595 * Math.log10(1 + hertz / 700), hertz: (place) => 700 * (10 ** (place / 2595) - 1) },
  linear: { place: (hertz) => hertz, hertz: (place) => place },
};
const NO_PICTURE = { scale: "note", lowest_hertz: toHertz(C2), highest_hertz: toHertz(C8) };

/** What is looked at, and where it lies on the canvas: seconds `start`..`end` and places `low`..`high` in `box`. */
export class Plot {
  constructor(duration) {
    this.duration = Math.max(duration || 0, 0.01);
    this.box = { x: 0, y: 0, width: 1, height: 1 };
    this.start = 0;
    this.end = this.duration;
    this.usePicture(null);
  }

  usePicture(picture) {
    this.picture = picture ?? NO_PICTURE;
    this.scale = SCALES[this.picture.scale] ?? SCALES.note;
    this.bottom = this.scale.place(this.picture.lowest_hertz);
    this.top = this.scale.place(this.picture.highest_hertz);
    this.low = this.bottom;
    this.high = this.top;
  }

  get span() {
    return this.end - this.start;
  }

  get isWhole() {
    return this.span > this.duration - 1e-6;
  }

  get pixelsPerSecond() {
    return this.box.width / this.span;
  }

  x(seconds) {
    return this.box.x + ((seconds - this.start) / this.span) * this.box.width;
  }

  seconds(x) {
    return this.start + ((x - this.box.x) / this.box.width) * this.span;
  }

  y(hertz) {
    return this.#yOf(this.scale.place(hertz));
  }

  hertz(y) {
    return this.scale.hertz(this.high - ((y - this.box.y) / this.box.height) * (this.high - this.low));
  }

  #yOf(place) {
    return this.box.y + ((this.high - place) / (this.high - this.low)) * this.box.height;
  }

  /** Look at these seconds, or as near to them as the recording allows; gives whether that changed anything. */
  show(start, end) {
    const span = Math.min(Math.max(end - start, Math.min(SHORTEST_S, this.duration)), this.duration);
    const from = Math.min(Math.max(start, 0), this.duration - span);
    const changed = Math.abs(from - this.start) > 1e-9 || Math.abs(span - this.span) > 1e-9;
    this.start = from;
    this.end = from + span;
    return changed;
  }

  /** Look `factor` times as closely, while what is at `seconds` stays where it is. */
  zoom(factor, seconds = (this.start + this.end) / 2) {
    const span = Math.min(Math.max(this.span / factor, Math.min(SHORTEST_S, this.duration)), this.duration);
    const share = (seconds - this.start) / this.span;
    return this.show(seconds - share * span, seconds - share * span + span);
  }

  scroll(seconds) {
    return this.show(this.start + seconds, this.end + seconds);
  }

  /** Look at these frequencies only; without them at all of the picture. */
  showHeights(lowHertz = this.picture.lowest_hertz, highHertz = this.picture.highest_hertz) {
    const [low, high] = [lowHertz, highHertz].map((hertz) => this.scale.place(Math.max(hertz, 1e-3)));
    this.low = Math.max(this.bottom, Math.min(low, this.top - 1e-3));
    this.high = Math.min(this.top, Math.max(high, this.low + 1e-3));
  }
}

/** The theme's colours as they are now, for an element of the page. */
export function coloursOf(element) {
  const style = getComputedStyle(element);
  const named = (name, otherwise) => style.getPropertyValue(name).trim() || otherwise;
  const of = (colour) => (colour?.startsWith("var(") ? named(colour.slice(4, -1).trim(), "#888888") : colour) || "#888888";
  const ink = named("--body-text-color", "#1f2933");
  return {
    ink,
    pale: named("--body-text-color-subdued", "#6b7280"),
    ground: named("--background-fill-primary", "#ffffff"),
    line: named("--border-color-primary", "#e5e7eb"),
    wave: named("--wave", "#8a94a0"),
    accent: named("--accent", "#d6246e"),
    range: named("--range", "#1769aa"),
    good: named("--good", "#2f855a"),
    font: style.fontFamily || "sans-serif",
    of,
    shade: (colour) => `color-mix(in srgb, ${of(colour)} 55%, ${ink})`, // of a line on a surface of this colour
  };
}

// ---- pictures

/** A grey picture in the theme's colours: quiet as the ground, loud as pale ink, so that lines stand out on it. */
export function tinted(image, colours) {
  const canvas = new OffscreenCanvas(image.width, image.height);
  const context = canvas.getContext("2d", { willReadFrequently: true });
  context.drawImage(image, 0, 0);
  const pixels = context.getImageData(0, 0, image.width, image.height);
  const [from, to] = [parts(colours.ground), parts(colours.ink)];
  const shades = Array.from({ length: 256 }, (_, i) => from.map((one, c) => one + (to[c] - one) * 0.78 * (i / 255)));
  const { data } = pixels;
  for (let i = 0; i < data.length; i += 4) [data[i], data[i + 1], data[i + 2]] = shades[data[i]];
  context.putImageData(pixels, 0, 0);
  return canvas;
}

function parts(colour) {
  const context = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
  context.fillStyle = colour;
  context.fillRect(0, 0, 1, 1);
  return Array.from(context.getImageData(0, 0, 1, 1).data.slice(0, 3));
}

/** Draw the part of an image that is looked at; it holds start..end seconds, and all heights of the plot's picture. */
export function drawImage(context, plot, image, start, end) {
  const from = Math.max(start, plot.start), to = Math.min(end, plot.end);
  if (to <= from) return;
  const across = image.width / (end - start), down = image.height / (plot.top - plot.bottom);
  const { box } = plot;
  context.drawImage(
    image,
    (from - start) * across, (plot.top - plot.high) * down, (to - from) * across, (plot.high - plot.low) * down,
    plot.x(from), box.y, plot.x(to) - plot.x(from), box.height,
  );
}

// ---- one canvas for all

/** Draw within a box only, with a state of the context of its own. */
export function clipped(context, { x, y, width, height }, paint) {
  context.save();
  context.beginPath();
  context.rect(x, y, width, height);
  context.clip();
  paint();
  context.restore();
}

/** A straight line. */
export function line(context, x, y, toX, toY) {
  context.beginPath();
  context.moveTo(x, y);
  context.lineTo(toX, toY);
  context.stroke();
}

/** Text with an outline in the ground's colour. */
export function outlined(context, text, x, y, colour, colours) {
  context.lineWidth = 3;
  context.lineJoin = "round";
  context.strokeStyle = colours.ground;
  context.strokeText(text, x, y);
  context.fillStyle = colour;
  context.fillText(text, x, y);
}

/** Which values of a curve are looked at, and how many of them share so many pixels. */
function looked(plot, { step_s: step, offset_s: offset = 0 }, length, pixels) {
  const first = Math.max(0, Math.floor((plot.start - offset) / step) - 1);
  const last = Math.min(length, Math.ceil((plot.end - offset) / step) + 2);
  return { step, offset, first, last, every: Math.max(1, Math.floor(pixels / (step * plot.pixelsPerSecond))) };
}

// ---- axes

/** Names of notes, or frequencies, at the left, and lines across. */
export function drawHeights(context, plot, colours, narrow, isKeys = false) {
  const { box } = plot;
  const notes = plot.picture.scale === "note";
  const marks = notes ? noteMarks(plot) : hertzMarks(plot);
  context.save();
  context.font = `11px ${colours.font}`;
  context.textAlign = "right";
  context.textBaseline = "middle";
  context.lineWidth = 1;
  for (const { hertz, label, strong } of marks) {
    const y = Math.round(plot.y(hertz)) + 0.5;
    context.strokeStyle = colours.pale;
    context.globalAlpha = strong && !isKeys ? 0.35 : 0.14;
    if (!isKeys || strong) line(context, box.x, y, box.x + box.width, y);
    if (!label) continue;
    context.globalAlpha = 1;
    context.fillStyle = colours.pale;
    const more = notes && !narrow ? `  ${Math.round(hertz)}` : "";
    context.fillText(label + more, box.x - 6, Math.min(Math.max(y, box.y + 6), box.y + box.height - 6));
  }
  context.restore();
}

/** Rows of semitones as in a piano roll: those of black keys are darker. */
export function drawKeys(context, plot, colours) {
  const { box } = plot;
  context.save();
  context.fillStyle = colours.line;
  context.globalAlpha = 0.45;
  for (let midi = Math.floor(plot.low); midi <= Math.ceil(plot.high); midi++) {
    if (!BLACK_KEYS.has(((midi % 12) + 12) % 12)) continue;
    const top = plot.y(toHertz(midi + 0.5));
    context.fillRect(box.x, top, box.width, plot.y(toHertz(midi - 0.5)) - top);
  }
  context.restore();
}

function noteMarks(plot) {
  const first = Math.ceil(plot.low), last = Math.floor(plot.high);
  const room = plot.box.height / (plot.high - plot.low); // for a semitone
  const every = room > 12 ? 1 : room > 5 ? 3 : 12;
  const marks = [];
  for (let midi = first; midi <= last; midi++) {
    if (Math.min(midi - plot.low, plot.high - midi) * room < HALF_A_LINE) continue; // its name would lie on the next one's
    const strong = midi % 12 === 0;
    if (midi % 12 % every && room < 4) continue;
    const label = midi % 12 % every === 0 ? noteName(midi) : "";
    marks.push({ hertz: toHertz(midi), label, strong });
  }
  return marks;
}

function hertzMarks(plot) {
  const offered = plot.picture.scale === "mel"
    ? [0, 100, 200, 300, 500, 700, 1000, 1500, 2000, 3000, 4000, 6000, 8000, 12000, 16000, 20000]
    : Array.from({ length: 101 }, (_, i) => i * roundStep((plot.high - plot.low) / 8));
  const marks = [];
  let lastY = Infinity;
  for (const hertz of offered) {
    if (hertz < plot.hertz(plot.box.y + plot.box.height) - 1 || hertz > plot.hertz(plot.box.y) + 1) continue;
    const y = plot.y(hertz);
    if (lastY - y < 18) continue;
    lastY = y;
    marks.push({ hertz, label: hertz >= 1000 ? tr("{hertz} kHz", { hertz: fixed(+(hertz / 1000), 1) }) : tr("{hertz} Hz", { hertz }), strong: false });
  }
  return marks;
}

function roundStep(step) {
  const power = 10 ** Math.floor(Math.log10(step));
  return [1, 2, 5, 10].find((one) => one * power >= step) * power;
}

/** Times below `bottom`, and lines up to `top`. */
export function drawTimes(context, plot, colours, top, bottom) {
  const step = STEPS_S.find((one) => one * plot.pixelsPerSecond > 64) ?? 3600;
  const digits = step < 0.1 ? 2 : step < 1 ? 1 : 0;
  context.save();
  context.font = `11px ${colours.font}`;
  context.textBaseline = "top";
  context.textAlign = "center";
  context.lineWidth = 1;
  context.strokeStyle = context.fillStyle = colours.pale;
  for (let i = Math.ceil(plot.start / step - 1e-6); i * step <= plot.end + 1e-9; i++) {
    const x = Math.round(plot.x(i * step)) + 0.5;
    context.globalAlpha = 0.18;
    line(context, x, top, x, bottom);
    context.globalAlpha = 1;
    const label = clock(i * step, digits);
    const half = context.measureText(label).width / 2;
    context.fillText(label, Math.min(Math.max(x, plot.box.x + half), plot.box.x + plot.box.width - half), bottom + 4);
  }
  context.restore();
}

// ---- what lies over the picture

const rangeColour = ({ colour }, colours) => (colours.of(colour) === "#888888" ? colours.range : colours.of(colour));

/** The notes from `range.low` to `range.high` (MIDI) as a band. */
export function drawRange(context, plot, range, colours) {
  const { box } = plot;
  const top = plot.y(toHertz(range.high)), bottom = plot.y(toHertz(range.low));
  context.save();
  context.fillStyle = context.strokeStyle = rangeColour(range, colours);
  context.globalAlpha = 0.08;
  context.fillRect(box.x, top, box.width, bottom - top);
  context.globalAlpha = 0.9;
  context.setLineDash([6, 4]);
  for (const y of [top, bottom]) line(context, box.x, y, box.x + box.width, y);
  context.restore();
}

/** The names of a range's ends, to be read over whatever else is there. */
export function nameRange(context, plot, range, colours) {
  const { box } = plot;
  context.save();
  context.font = `600 11px ${colours.font}`;
  context.textAlign = "right";
  for (const [midi, side] of [[range.high, -4], [range.low, 12]]) {
    const text = `${range.label ? `${tr(range.label)} ` : ""}${noteName(midi)}`;
    outlined(context, text, box.x + box.width - 14, plot.y(toHertz(midi)) + side, rangeColour(range, colours), colours);
  }
  context.restore();
}

/** Notes as blobs around their pitch, named where there is room. */
export function drawNotes(context, plot, notes, colours, colour) {
  context.save();
  context.font = `10px ${colours.font}`;
  context.textBaseline = "middle";
  for (const note of notes) {
    if (note.end_s < plot.start || note.start_s > plot.end) continue;
    const left = plot.x(note.start_s), width = Math.max(plot.x(note.end_s) - left, 2);
    const sung = note.midi + (note.cents ?? 0) / 100;
    const height = Math.min(Math.max(plot.y(toHertz(sung - 0.5)) - plot.y(toHertz(sung + 0.5)), 6), 22), y = plot.y(toHertz(sung)) - height / 2;
    context.fillStyle = context.strokeStyle = colour;
    context.beginPath();
    context.roundRect(left, y, width, height, Math.min(height, width) / 2);
    context.globalAlpha = 0.55;
    context.fill();
    context.globalAlpha = 0.9;
    context.stroke();
    const name = noteName(note.midi);
    if (width > context.measureText(name).width + 10 && height > 15) {
      context.globalAlpha = 0.8;
      context.fillStyle = colours.ink;
      context.fillText(name, left + 6, y - 6);
    }
  }
  context.restore();
}

/** A curve of pitch: {step_s, hertz, confidence, offset_s, semitones}; the surer, the more solid; moved by both. */
export function drawCurve(context, plot, curve, colour, colours, width = 2.2) {
  const { hertz, confidence, semitones = 0 } = curve;
  const higher = 2 ** (semitones / 12);
  const { step, offset, first, last, every } = looked(plot, curve, hertz.length, 0.5);
  const lines = [new Path2D(), new Path2D(), new Path2D()];
  let before = null;
  for (let i = first; i < last; i += every) {
    const sure = confidence?.[i] ?? 1;
    const here = hertz[i] > 0 && sure > TRUSTED ? { x: plot.x(offset + i * step), y: plot.y(hertz[i] * higher), hertz: hertz[i], sure } : null;
    if (here && before && Math.abs(12 * Math.log2(here.hertz / before.hertz)) < LEAP) {
      const kind = Math.min(here.sure, before.sure);
      const line = lines[kind > 0.75 ? 2 : kind > 0.5 ? 1 : 0];
      line.moveTo(before.x, before.y);
      line.lineTo(here.x, here.y);
    }
    before = here;
  }
  context.save();
  context.lineCap = "round";
  context.strokeStyle = colours.ground;
  context.lineWidth = width + 2.2;
  context.globalAlpha = 0.75;
  context.stroke(lines[2]);
  context.strokeStyle = colour;
  context.lineWidth = width;
  [0.3, 0.6, 1].forEach((alpha, i) => {
    context.globalAlpha = alpha;
    context.stroke(lines[i]);
  });
  context.restore();
}

// ---- lanes: boxes of their own below, with the plot's times

/** A level in dB, -80 to 0, filled: {step_s, db, offset_s}. */
export function drawLoudness(context, plot, box, loudness, colours) {
  const level = (value) => box.y + (Math.min(Math.max(value, LOWEST_DB), 0) / LOWEST_DB) * box.height;
  drawLane(context, plot, box, loudness, loudness.db, level, colours.good);
}

/** A confidence, 0 to 1, filled. */
export function drawConfidence(context, plot, box, curve, colour) {
  const height = (value) => box.y + (1 - value) * box.height;
  drawLane(context, plot, box, curve, curve.confidence, height, colour);
}

function drawLane(context, plot, box, timed, values, height, colour) {
  const { step, offset, first, last, every } = looked(plot, timed, values.length, 1);
  if (last <= first) return;
  const curve = new Path2D(), area = new Path2D();
  const bottom = box.y + box.height;
  let x = plot.x(offset + first * step);
  area.moveTo(x, bottom);
  for (let i = first; i < last; i += every) {
    let value = values[i];
    for (let j = i + 1; j < Math.min(i + every, last); j++) value = Math.max(value, values[j]);
    x = plot.x(offset + i * step);
    for (const one of [curve, area]) one.lineTo(x, height(value));
  }
  area.lineTo(x, bottom);
  clipped(context, { ...box, y: box.y - 1, height: box.height + 2 }, () => {
    context.fillStyle = context.strokeStyle = colour;
    context.globalAlpha = 0.25;
    context.fill(area);
    context.globalAlpha = 1;
    context.lineWidth = 1;
    context.stroke(curve);
  });
}

/** The waveform, in 127ths of full scale: {step_s, low, high, offset_s, gain}. */
export function drawWaveform(context, plot, box, waveform, colour, alpha = 1) {
  const { low, high } = waveform;
  const { step, offset, first, last, every } = looked(plot, waveform, low.length, 1);
  const middle = box.y + box.height / 2, size = ((waveform.gain ?? 1) * box.height) / 2 / 127;
  const width = Math.max(1, every * step * plot.pixelsPerSecond);
  clipped(context, box, () => {
    context.fillStyle = colour;
    context.globalAlpha = alpha;
    for (let i = first; i < last; i += every) {
      const top = Math.max(...high.slice(i, Math.min(i + every, last)));
      const bottom = Math.min(...low.slice(i, Math.min(i + every, last)));
      context.fillRect(plot.x(offset + i * step), middle - top * size, width, Math.max((top - bottom) * size, 1));
    }
  });
}

/** The name of a lane, in its corner. */
export function drawLaneName(context, box, name, colours) {
  context.save();
  context.strokeStyle = colours.line;
  line(context, box.x, box.y - 3.5, box.x + box.width, box.y - 3.5);
  context.font = `10px ${colours.font}`;
  context.textBaseline = "top";
  outlined(context, name, box.x + 4, box.y, colours.pale, colours);
  context.restore();
}

/** What a lane's heights mean, from the top to the bottom, at its left. */
export function drawLaneScale(context, box, labels, colours) {
  context.save();
  context.font = `10px ${colours.font}`;
  context.textAlign = "right";
  context.fillStyle = colours.pale;
  labels.forEach((label, i) => {
    context.textBaseline = ["top", "middle", "bottom"][labels.length === 1 ? 0 : Math.round((2 * i) / (labels.length - 1))];
    context.fillText(label, box.x - 6, box.y + (box.height * i) / Math.max(labels.length - 1, 1));
  });
  context.restore();
}

/** Draw a picture over its seconds: the whole of it, or its tiles where they show more; `imageOf(url)` is null until it is there. */
export function drawPicture(context, plot, picture, imageOf) {
  if (!picture?.url) return;
  const whole = imageOf(picture.url);
  const [start, end] = [picture.start_s ?? 0, picture.end_s ?? plot.duration];
  context.imageSmoothingQuality = "high";
  if (whole) drawImage(context, plot, whole, start, end);
  const finest = whole ? whole.width / (end - start) : Infinity;
  if (plot.pixelsPerSecond * devicePixelRatio < 1.1 * finest) return;
  for (const tile of picture.tiles ?? []) {
    if (tile.end_s < plot.start || tile.start_s > plot.end) continue;
    const image = imageOf(tile.url);
    if (image) drawImage(context, plot, image, tile.start_s, tile.end_s);
  }
}

/** Draw a waveform as a lane that can be chosen. */
export function drawStrip(context, plot, box, { waveform, isChosen, label, colour }, colours) {
  context.fillStyle = isChosen ? colours.accent : colours.line;
  context.globalAlpha = isChosen ? 0.08 : 0.25;
  context.fillRect(box.x, box.y, box.width, box.height);
  context.globalAlpha = 1;
  if (waveform) drawWaveform(context, plot, box, waveform, colour ?? colours.wave, isChosen ? 1 : 0.55);
  context.globalAlpha = 1;
  if (label) drawLaneName(context, box, label, colours);
}

/** Draw the whole recording small, with the seconds that are looked at framed. */
export function drawMap(context, { duration, start, end }, { width, height }, { picture, whole, wave, head }, colours) {
  const box = { x: 0, y: 0, width, height };
  if (wave?.low) drawWaveform(context, Object.assign(new Plot(duration), { box }), box, wave, colours.wave);
  if (whole) context.drawImage(whole, 0, 0, width * ((picture.end_s ?? duration) / duration), height);
  context.fillStyle = colours.ground;
  context.globalAlpha = 0.65;
  context.fillRect(0, 0, (start / duration) * width, height);
  context.fillRect((end / duration) * width, 0, width, height);
  context.globalAlpha = 1;
  context.strokeStyle = colours.accent;
  context.lineWidth = 2;
  const left = (start / duration) * width;
  context.strokeRect(left + 1, 1, Math.max((end / duration) * width - left - 2, 4), height - 2);
  if (head !== null) {
    context.fillStyle = colours.accent;
    context.fillRect((head / duration) * width - 1, 0, 2, height);
  }
}

/** The canvas's context, for drawing in CSS pixels on as many real ones as there are; empty. */
export function sized(canvas, width, height) {
  const ratio = devicePixelRatio || 1;
  const [across, down] = [Math.round(width * ratio), Math.round(height * ratio)];
  if (canvas.width !== across) canvas.width = across;
  if (canvas.height !== down) canvas.height = down;
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  return context;
}

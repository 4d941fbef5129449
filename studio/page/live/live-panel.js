// What is seen of <timbre-live>: meters, notes with cents, the curve, voices to tap, latency, key and character.

import { avatar } from "./avatar.js";
import { make } from "./dom.js";
import { noteName } from "./roll-drawing.js";
import { tr } from "./texts.js";

const SHOWN = 240; // meters of the service that are drawn
const LOWEST_DB = -60, WARM_DB = -6; // of the level meters
const FALL_DB = 3; // of a level meter, with each picture
const HOLD_MS = 1500; // of its mark
const LEAST_SPAN = 19, ROOM = 2; // semitones of the curve's axis
const WORDS = { melodic: tr("Singing"), rhythmic: tr("Rap"), spoken: tr("Speech"), listener: tr("Accurate"), student: tr("Fast") }; // as everywhere on the page
const NAMES = {
  block_ms: tr("Buffer (ms)"), look_ahead_ms: tr("Look-ahead (ms)"), content: tr("Quality"), reserve_ms: tr("Safety margin (ms)"), accent: tr("Accent"),
  consonant_protection: tr("Consonant protection"), texture: tr("Texture"),
};
const PRESETS = {
  Fast: { block_ms: 40, look_ahead_ms: 40, reserve_ms: 20 },
  Balanced: { block_ms: 60, look_ahead_ms: 60, reserve_ms: 60 },
  Safe: { block_ms: 120, look_ahead_ms: 100, reserve_ms: 160 },
};
const PRESET_NAMES = { Fast: tr("Fast"), Balanced: tr("Balanced"), Safe: tr("Safe") };
const NEXT_TIME = tr("This counts from the next start.");

const midi = (hertz) => 69 + 12 * Math.log2(hertz / 440);

/** A level meter: its place, and `show(dB)`. */
function level(label) {
  const bar = make("i", { class: "bar" }), mark = make("i", { class: "mark" }), said = make("span", { class: "db" }, "");
  let now = LOWEST_DB, held = LOWEST_DB, heldAt = 0;
  const share = (db) => `${100 * Math.min(1, Math.max(0, 1 - db / LOWEST_DB))}%`;
  return {
    place: make("div", { class: "level" }, make("div", { class: "tube" }, bar, mark), make("span", {}, label), said),
    show(db) {
      now = Math.max(db, now - FALL_DB, LOWEST_DB);
      if (db > held || performance.now() - heldAt > HOLD_MS) [held, heldAt] = [db, performance.now()];
      bar.style.setProperty("--share", share(now));
      mark.style.setProperty("--share", share(held));
      bar.classList.toggle("hot", held > WARM_DB);
      said.textContent = held > LOWEST_DB ? tr("{held} dB", { held: Math.round(held) }).replace("-", "\u2212") : "";
    },
  };
}

/** A note in large letters: its place, and `show(hertz)`. */
function note(label) {
  const name = make("b", { translate: "no" }, "–");
  return { place: make("div", { class: "note" }, make("span", {}, label), name), show: (hertz) => {
    name.classList.toggle("gone", !(hertz > 0));
    if (hertz > 0) name.textContent = noteName(Math.round(midi(hertz)));
  } };
}

export class LivePanel {
  #told;
  #meters = [];
  #settings;
  #inputs = {};
  #in = level(tr("You"));
  #out = level(tr("Out"));
  #sung = note(tr("You sing"));
  #heard = note(tr("You hear"));
  #needle = make("i", { class: "needle" });
  #cents = make("span", { class: "cents" }, "");
  #canvas = make("canvas", { role: "img", "aria-label": tr("Pitch of the last seconds") });
  #voices = make("div", { class: "voices", role: "radiogroup", "aria-label": tr("Voice"), onkeydown: (event) => this.#key(event) });
  #light = make("i", { class: "light", "data-light": "off" });
  #delay = make("b", {}, "–");
  #delaySaid = make("span", {}, "");
  #presets = Object.keys(PRESETS).map((name) => make("button", { type: "button", class: "pill", onclick: () => this.#preset(name) }, PRESET_NAMES[name]));
  #presetSaid = make("p", { class: "small", role: "status" }, "");
  #hurt = 0; // when sound was last lost
  #lost = 0;

  /** told: {change(values), start(), measure()}. */
  constructor(settings, told) {
    this.#settings = settings;
    this.#told = told;
    for (const [name, one] of Object.entries(settings)) this.#inputs[name] = this.#input(name, one);
    this.record = make("input", { type: "checkbox" });
    this.bypass = make("input", { type: "checkbox", onchange: () => told.change({ bypass: this.bypass.checked }) });
    this.button = make("button", { type: "button", class: "start", onclick: () => told.start() }, tr("Start"));
    this.status = make("p", { class: "status", role: "status" }, tr("Use headphones to avoid feedback."));
    this.measure = make("button", { type: "button", class: "pill wide", onclick: () => told.measure() }, tr("Measure through the room"));
    this.measured = make("p", { class: "small", role: "status" }, "");
    this.figures = make("p", { class: "small figures" });
    this.nodes = [this.#stage(), this.#dock()];
    this.#markPreset();
  }

  #stage() {
    const labelled = (name) => make("label", { title: this.#settings[name].meaning }, make("span", {}, NAMES[name]), this.#inputs[name]);
    const tuner = make("div", { class: "tuner" }, make("div", { class: "scale" }, this.#needle), this.#cents);
    const middle = make("div", { class: "middle" }, make("div", { class: "notes" }, this.#sung.place, tuner, this.#heard.place), this.#canvas, this.#voices);
    const inspector = make("div", { class: "inspector" },
      make("h2", {}, tr("Delay")), make("p", { class: "delay" }, this.#light, this.#delay, " ", this.#delaySaid),
      make("div", { class: "pills", role: "group", "aria-label": tr("Delay") }, this.#presets), this.#presetSaid, this.measure, this.measured,
      make("h2", {}, tr("Key")), this.#steps("transpose", tr("Transpose")),
      make("h2", {}, tr("Character")), this.#slider("formant_shift_semitones", tr("Formant shift")), make("label", { class: "choice" }, make("span", {}, tr("Style")), this.#inputs.style),
      make("details", {}, make("summary", {}, tr("More settings")), make("div", { class: "more" }, Object.keys(NAMES).map(labelled)), this.figures));
    return make("div", { class: "live-stage" }, this.#in.place, middle, this.#out.place, inspector);
  }

  #dock() {
    return make("div", { class: "live-start" }, this.button,
      make("label", { class: "tick" }, this.record, make("span", {}, tr("Record"))), make("label", { class: "tick" }, this.bypass, make("span", {}, tr("Bypass"))), this.status,
      make("p", { class: "small hint" }, tr("Tap a voice, or press its number, while you sing.")));
  }

  #steps(name, label) {
    const input = this.#inputs[name], by = (step) => {
      input.value = Math.min(Number(input.max), Math.max(Number(input.min), Number(input.value) + step));
      input.dispatchEvent(new Event("change"));
    };
    input.setAttribute("aria-label", label);
    return make("div", { class: "steps" }, make("button", { type: "button", class: "pill", "aria-label": tr("Down a semitone"), onclick: () => by(-1) }, "\u2212"), input,
      make("button", { type: "button", class: "pill", "aria-label": tr("Up a semitone"), onclick: () => by(1) }, "+"));
  }

  #slider(name, label) {
    const { minimum, maximum, meaning } = this.#settings[name], input = this.#inputs[name];
    const shown = make("output", {}, input.value);
    Object.assign(input, { type: "range", min: minimum, max: maximum, step: 0.5, oninput: () => (shown.textContent = input.value) });
    return make("label", { class: "choice", title: meaning }, make("span", {}, label), input, shown);
  }

  #input(name, { value, minimum, maximum, step, words }) {
    const changed = () => {
      if (name in PRESETS.Fast) this.#markPreset();
      this.#told.change({ [name]: this.#value(name) });
    };
    if (words?.length) return make("select", { onchange: changed }, words.map((word) => make("option", { value: word, selected: word === value }, WORDS[word] ?? word)));
    return make("input", { type: "number", min: minimum, max: maximum, step: step ?? 0.05, value, onchange: changed });
  }

  #value(name) {
    const { value } = this.#inputs[name];
    return this.#settings[name].words?.length ? value : Number(value);
  }

  /** All settings. */
  get values() {
    return Object.fromEntries(Object.keys(this.#inputs).map((name) => [name, this.#value(name)]));
  }

  #preset(name) {
    for (const [setting, value] of Object.entries(PRESETS[name])) this.#inputs[setting].value = value;
    this.#markPreset();
    this.#presetSaid.textContent = this.#light.dataset.light === "off" ? "" : NEXT_TIME;
  }

  #markPreset() {
    const now = this.values;
    Object.values(PRESETS).forEach((preset, place) => {
      this.#presets[place].setAttribute("aria-pressed", Object.entries(preset).every(([name, value]) => now[name] === value));
    });
  }

  // ---- voices

  /** Show the voices: [{id, name, avatar}], the chosen one or the first chosen. */
  list(voices) {
    const before = this.voice ?? voices[0]?.id;
    this.#voices.replaceChildren(...voices.map((voice, place) => make("button",
      { type: "button", role: "radio", class: "voice", "data-id": voice.id, onclick: () => this.choose(voice.id) },
      avatar(voice.avatar), make("span", { translate: "no" }, voice.name), place < 9 ? make("kbd", { "aria-hidden": "true" }, String(place + 1)) : null)));
    this.#mark(voices.some(({ id }) => id === before) ? before : voices[0]?.id);
  }

  /** The id of the chosen voice. */
  get voice() {
    return this.#voices.querySelector("[aria-checked=true]")?.dataset.id;
  }

  choose(id) {
    this.#mark(id);
    this.#told.change({ voice: id });
  }

  /** Choose the voice of a number key; nothing where there is none. */
  chooseAt(place) {
    this.#voices.children[place]?.click();
  }

  #mark(id) {
    for (const one of this.#voices.children) {
      one.setAttribute("aria-checked", one.dataset.id === id);
      one.tabIndex = one.dataset.id === id ? 0 : -1;
    }
  }

  #key(event) {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key], all = [...this.#voices.children];
    if (!step) return;
    event.preventDefault();
    const next = all[(all.indexOf(event.target) + step + all.length) % all.length];
    next.click();
    next.focus();
  }

  // ---- while singing

  /** Forget what was drawn of an earlier session. */
  begin() {
    this.#meters = [];
    [this.#lost, this.#hurt] = [0, -Infinity];
  }

  say(text, wrong = false) {
    this.status.textContent = text;
    this.status.classList.toggle("wrong", wrong);
  }

  /** Show levels in dB, of the microphone and of what is heard. */
  levels(input, output) {
    this.#in.show(input);
    this.#out.show(output);
  }

  /** Show what the service measured, and the delay: {ms or null, algorithm, lost}. */
  metered(meter, { ms, algorithm, lost }) {
    this.#meters.push(meter);
    this.#meters.splice(0, this.#meters.length - SHOWN);
    if (lost > this.#lost) [this.#lost, this.#hurt] = [lost, performance.now()];
    const isHurt = performance.now() - this.#hurt < 10_000;
    this.#light.dataset.light = meter.work > 1 ? "bad" : isHurt ? "warn" : "good";
    this.#delay.textContent = ms ?? "–";
    this.#delaySaid.textContent = lost > 1 ? tr("ms, {lost} dropouts", { lost }) : lost ? tr("ms, one dropout") : tr("ms, no dropouts");
    this.figures.textContent = tr("Algorithm {algorithm} ms · CPU {work} %", { algorithm, work: Math.round(100 * meter.work) });
    this.#sung.show(meter.hertz);
    this.#heard.show(meter.rendered_hertz);
    if (meter.hertz > 0) this.#tune(midi(meter.hertz));
    if (!document.hidden) this.draw();
  }

  #tune(pitch) {
    const cents = Math.round(100 * (pitch - Math.round(pitch)));
    this.#needle.style.left = `${50 + cents}%`;
    this.#cents.textContent = tr("{cents}{cents2} cents", { cents: cents > 0 ? "+" : cents < 0 ? "\u2212" : "", cents2: Math.abs(cents) });
  }

  /** Nothing is sung any more. */
  end() {
    this.#light.dataset.light = "off";
    this.#presetSaid.textContent = "";
    this.levels(LOWEST_DB, LOWEST_DB);
  }

  draw() {
    const canvas = this.#canvas, ratio = devicePixelRatio, width = canvas.clientWidth, height = canvas.clientHeight, pen = canvas.getContext("2d");
    if (!width) return;
    Object.assign(canvas, { width: width * ratio, height: height * ratio });
    pen.scale(ratio, ratio);
    const style = getComputedStyle(canvas), colour = (name) => style.getPropertyValue(name);
    const sung = this.#meters.flatMap(({ hertz, rendered_hertz }) => [hertz, rendered_hertz]).filter((hertz) => hertz > 0).map(midi);
    let lowest = Math.min(...sung, 57) - ROOM, highest = Math.max(...sung, 57) + ROOM;
    const missing = Math.max(0, LEAST_SPAN - (highest - lowest)) / 2;
    [lowest, highest] = [lowest - missing, highest + missing];
    const left = 34, x = (i) => left + (i * (width - left)) / SHOWN, y = (pitch) => height * (1 - (pitch - lowest) / (highest - lowest));
    Object.assign(pen, { font: `11px ${style.fontFamily}`, textBaseline: "middle", lineCap: "round" });
    for (let one = Math.ceil(lowest); one <= highest; one += 1) {
      if (![0, 4, 9].includes(((one % 12) + 12) % 12)) continue;
      pen.fillStyle = colour("--border-color-primary");
      pen.fillRect(left, y(one), width, 1);
      pen.fillStyle = colour("--body-text-color-subdued");
      pen.fillText(noteName(one), 4, y(one));
    }
    for (const [name, ink] of [["hertz", "--body-text-color-subdued"], ["rendered_hertz", "--accent"]]) {
      Object.assign(pen, { strokeStyle: colour(ink), lineWidth: 3 });
      pen.beginPath();
      this.#meters.forEach((meter, i) => {
        if (!(meter[name] > 0)) return;
        const isOn = this.#meters[i - 1]?.[name] > 0 && Math.abs(midi(meter[name]) - midi(this.#meters[i - 1][name])) < 3;
        pen[isOn ? "lineTo" : "moveTo"](x(i), y(midi(meter[name])));
        if (!isOn) pen.lineTo(x(i) + 0.5, y(midi(meter[name])));
      });
      pen.stroke();
    }
  }
}

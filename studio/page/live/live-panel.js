// What is seen of <timbre-live>: levels, notes and their pitch (live-display.js), voices to tap, the inspector and the bar.

import { avatar } from "./avatar.js";
import { icon, make } from "./dom.js";
import { OutputChoice } from "./live-outputs.js";
import { MicrophoneChoice } from "./microphone-choice.js";
import { LOWEST_DB, Notes, PitchPicture, level, write } from "./live-display.js";
import { clock } from "./roll-drawing.js";
import { MINUS, PLUS } from "./shapes.js";
import { signed, tr } from "./texts.js";

const HURT_MS = 10_000; // that the light tells of lost sound
const FEW = 3; // dropouts within that time: more are no music any more
const WORDS = { melodic: tr("Singing"), spoken: tr("Speech"), listener: tr("Accurate"), student: tr("Fast") }; // as everywhere on the page
const SLIDERS = { texture: tr("Keep my breath"), consonant_protection: tr("Keep my consonants"), formant_shift_semitones: tr("Formants"), wet: tr("Dry/Wet") };
const MORE = {
  block_ms: tr("Buffer (ms)"), look_ahead_ms: tr("Look-ahead (ms)"), content: tr("Quality"), reserve_ms: tr("Safety margin (ms)"), accent: tr("Accent"),
};
const PRESETS = {
  Fast: { block_ms: 40, look_ahead_ms: 40, reserve_ms: 20 },
  Balanced: { block_ms: 60, look_ahead_ms: 60, reserve_ms: 60 },
  Safe: { block_ms: 120, look_ahead_ms: 100, reserve_ms: 160 },
};
const PRESET_NAMES = { Fast: tr("Fast"), Balanced: tr("Balanced"), Safe: tr("Safe") };
const GUIDE = "../learn/live.html#into-obs-discord-or-a-call";
const NEXT_TIME = tr("This takes effect at the next start.");

const button = (label, onclick, more = {}) => make("button", { type: "button", class: "pill", onclick, ...more }, label);
const press = (one, isPressed) => one.setAttribute("aria-pressed", isPressed);

export class LivePanel {
  #told;
  #settings;
  #inputs = {}; // what has a `value`, by setting
  #in = level(tr("You"));
  #out = level(tr("Out"));
  #notes = new Notes();
  #pitch = new PitchPicture();
  #voices = make("div", { class: "voices", role: "radiogroup", "aria-label": tr("Voice"), onkeydown: (event) => this.#key(event) });
  #known = []; // voices
  #light = make("i", { class: "light", "data-light": "off" });
  #delay = make("b", {}, "–");
  #delaySaid = make("span", {}, tr("ms"));
  #presets = Object.keys(PRESETS).map((name) => button(PRESET_NAMES[name], () => this.#preset(name)));
  #nextTime = make("p", { class: "small", role: "status" });
  #auto = button(tr("Auto"), () => press(this.#auto, !this.isAuto), { "aria-pressed": "true", title: tr("By octaves in singing, by semitones in speech, to where the voice sings or speaks.") });
  #adjust = button(tr("Adjust"), () => this.#showInspector(this.#adjust.ariaExpanded === "false"), { class: "pill adjust", "aria-expanded": "false" });
  #time = make("span", { class: "time" });
  #lost = 0;
  #losses = []; // when sound was lost of late

  /** told: {change(values), start(), again(), measure(), record(), hear(), tone(), input(), back(), output()}. */
  constructor(settings, told) {
    this.#settings = settings;
    this.#told = told;
    for (const [name, one] of Object.entries(settings)) this.#inputs[name] = this.#input(name, one);
    this.microphone = new MicrophoneChoice({ device: () => this.#counts(), input: () => told.input(), back: () => told.back() });
    this.outputs = new OutputChoice(() => told.output());
    this.hear = button(tr("Hear yourself"), () => told.hear(), { class: "pill wide", "aria-pressed": "false", title: tr("Your microphone as it is, without a voice and without delay.") });
    this.tone = button(tr("Test tone"), () => told.tone(), { class: "pill wide", title: tr("Plays two seconds on the output: you should see a level in the other program.") });
    this.warned = make("p", { class: "warned", role: "status" });
    this.button = make("button", { type: "button", class: "start", onclick: () => told.start() }, tr("Start"));
    this.record = button("", () => told.record(), { class: "pill record", "aria-pressed": "false" });
    this.record.append(make("i", { class: "lamp" }), tr("Record"), this.#time);
    this.bypass = button("", () => this.#passBy(), { "aria-pressed": "false", "aria-keyshortcuts": "B" });
    this.bypass.append(tr("Bypass"), make("kbd", { "aria-hidden": "true" }, "B"));
    this.status = make("p", { class: "status", role: "status" });
    this.measure = button(tr("Measure latency"), () => told.measure(), { class: "pill wide" });
    this.measured = make("p", { class: "small", role: "status" });
    this.switch = button(tr("Switch"), () => (this.#preset("Safe"), told.again()), { class: "pill switch", hidden: true });
    this.figures = make("p", { class: "small figures" });
    const stage = make("div", { class: "stage" }, this.#notes.node, this.#pitch.node, this.#voices);
    this.nodes = [this.#in.node, stage, this.#out.node, this.#inspector(), this.#dock()];
    this.#markPreset();
  }

  // ---- the inspector

  #inspector() {
    const labelled = (name) => make("label", { title: this.#settings[name].meaning }, make("span", {}, MORE[name]), this.#inputs[name]);
    const part = (title, ...children) => make("section", {}, make("h2", {}, title), ...children);
    return make("div", { class: "inspector" },
      part(tr("Delay"), make("p", { class: "delay" }, this.#light, this.#delay, " ", this.#delaySaid),
        make("div", { class: "pills", role: "group", "aria-label": tr("Delay") }, this.#presets), this.#nextTime, this.measure, this.measured),
      part(tr("Key"), this.#steps()),
      part(tr("Character"), this.#inputs.style.node, Object.entries(SLIDERS).map(([name, label]) => this.#slider(name, label))),
      part(tr("Devices"), make("div", { class: "device" }, this.microphone.nodes, this.outputs.nodes), make("div", { class: "pills" }, this.hear, this.tone),
        make("p", { class: "small" }, tr("Use headphones to avoid feedback."), " ", make("a", { href: new URL(GUIDE, import.meta.url).href, target: "timbre-lessons" }, tr("Into OBS, Discord or a call")))),
      make("details", {}, make("summary", {}, tr("More settings")), make("div", { class: "more" }, Object.keys(MORE).map(labelled)), this.figures));
  }

  #steps() {
    const input = this.#inputs.transpose, by = (step) => {
      input.value = Number(input.value) + step;
      input.dispatchEvent(new Event("change"));
    };
    Object.assign(input, { type: "text", inputMode: "numeric", ariaLabel: tr("Transpose") });
    for (const name of ["input", "change"]) input.addEventListener(name, () => press(this.#auto, false));
    return make("div", { class: "pills steps" }, button(icon(MINUS), () => by(-1), { "aria-label": tr("Down a semitone") }), input, button(icon(PLUS), () => by(1), { "aria-label": tr("Up a semitone") }), this.#auto);
  }

  #slider(name, label) {
    const { minimum, maximum, meaning, step } = this.#settings[name], input = this.#inputs[name], shown = make("output");
    const show = () => {
      shown.textContent = name === "wet" ? `${Math.round(100 * input.value)} %` : minimum < 0 ? signed(Number(input.value)) : String(Number(input.value));
      input.style.setProperty("--share", `${(100 * (input.value - minimum)) / (maximum - minimum)}%`);
    };
    Object.assign(input, { type: "range", step: step ?? (maximum > 1 ? 0.5 : 0.05) });
    input.addEventListener("input", show);
    show();
    return make("label", { class: "choice", title: meaning }, make("span", {}, label), input, shown);
  }

  #input(name, { default: value, minimum, maximum, step, words }) {
    const changed = () => {
      if (name in PRESETS.Fast) this.#markPreset();
      if (name === "style") this.#showRange();
      this.#told.change({ [name]: this.#value(name) });
    };
    if (name === "style") return this.#pills(words, value, changed);
    if (words?.length) return make("select", { onchange: changed }, words.map((word) => make("option", { value: word, selected: word === value }, WORDS[word])));
    const made = make("input", { type: "number", min: minimum, max: maximum, step: step ?? 0.05, value });
    const within = () => this.#set(name, Math.min(maximum, Math.max(minimum, Number(made.value) || 0)));
    for (const one of [within, changed]) made.addEventListener("change", one);
    return made;
  }

  #pills(words, value, changed) {
    const made = { value, node: make("div", { class: "pills", role: "group", "aria-label": tr("Style") }) };
    const choose = (word) => {
      made.value = word;
      [...made.node.children].forEach((one, place) => press(one, words[place] === word));
    };
    made.node.append(...words.map((word) => button(WORDS[word], () => (choose(word), changed()))));
    choose(value);
    return made;
  }

  #set(name, value) {
    this.#inputs[name].value = name === "transpose" && value > 0 ? `+${value}` : value;
  }

  #value(name) {
    const { value } = this.#inputs[name];
    return this.#settings[name].words?.length ? value : Number(value);
  }

  /** All settings. */
  get values() {
    return Object.fromEntries(Object.keys(this.#inputs).map((name) => [name, this.#value(name)]));
  }

  get isAuto() {
    return this.#auto.getAttribute("aria-pressed") === "true";
  }

  #preset(name) {
    for (const [setting, value] of Object.entries(PRESETS[name])) this.#inputs[setting].value = value;
    this.#markPreset();
    this.#counts();
  }

  #markPreset() {
    Object.keys(PRESETS).forEach((name, place) => press(this.#presets[place], this.#isChosen(name)));
  }

  #isChosen(preset) {
    const now = this.values;
    return Object.entries(PRESETS[preset]).every(([name, value]) => now[name] === value);
  }

  #counts() {
    this.#nextTime.textContent = this.#light.dataset.light === "off" ? "" : NEXT_TIME;
  }

  /** Offer devices, as the browser lists them; their names are known once it has given the microphone. */
  async listDevices() {
    await Promise.all([this.microphone.list(), this.outputs.list()]);
  }

  // ---- the bar

  #dock() {
    return make("div", { class: "dock" }, this.button, this.record, this.bypass, this.#adjust, this.status, this.switch, this.outputs.asked, this.microphone.asked, this.warned,
      make("p", { class: "small hint" }, tr("Tap a voice, or press its number, while you sing.")));
  }

  #passBy() {
    press(this.bypass, this.bypass.getAttribute("aria-pressed") === "false");
    this.#told.change({ bypass: this.isBypassed });
  }

  get isBypassed() {
    return this.bypass.getAttribute("aria-pressed") === "true";
  }

  get isRecording() {
    return this.record.getAttribute("aria-pressed") === "true";
  }

  #showInspector(isOpen) {
    this.#adjust.ariaExpanded = String(isOpen);
    this.#adjust.closest("timbre-live").toggleAttribute("data-adjusts", isOpen);
  }

  /** Close what is open; gives whether anything was. */
  close() {
    const wasOpen = this.#adjust.ariaExpanded === "true";
    if (wasOpen) this.#showInspector(false);
    return wasOpen;
  }

  // ---- voices

  /** Show the voices: [{id, name, ends: by style, avatar}], the chosen one or the first chosen. */
  list(voices) {
    const before = this.voice ?? voices.find((one) => !one.untrained)?.id;
    this.#known = voices;
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
      if (one.dataset.id === id) one.scrollIntoView({ block: "nearest", inline: "nearest" });
    }
    this.#showRange();
  }

  #showRange() {
    const voice = this.#known.find(({ id }) => id === this.voice);
    if (voice) this.#pitch.show(voice.ends[this.#value("style")]);
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
    this.#pitch.clear();
    [this.#lost, this.#losses] = [0, []];
    this.switch.hidden = true;
    this.button.textContent = tr("Stop");
    this.measure.disabled = this.record.disabled = this.hear.disabled = true;
  }

  say(text, wrong = false) {
    this.status.textContent = text;
    this.status.classList.toggle("wrong", wrong);
  }

  /** Say what is wrong with the microphone, while it is. */
  warn(text) {
    write(this.warned, text);
  }

  /** Show levels in dB, [peak, mean], of the microphone and of what is heard. */
  levels(input, output) {
    this.#in.show(...input);
    this.#out.show(...output);
  }

  /** Show that it records, and how many seconds it has done so; null for none. */
  recorded(seconds) {
    write(this.#time, seconds === null ? "" : clock(seconds, 0));
    if (this.record.disabled !== (seconds !== null)) this.record.disabled = seconds !== null;
  }

  /** Show what the service measured, and the delay: {ms or null, algorithm, lost}. */
  metered(meter, { ms, algorithm, lost }) {
    const now = performance.now();
    for (; this.#lost < lost; this.#lost += 1) this.#losses.push(now);
    this.#losses = this.#losses.filter((one) => now - one < HURT_MS);
    const light = meter.work > 1 || this.#losses.length > FEW ? "bad" : this.#losses.length ? "warn" : "good";
    if (light === "bad") this.#offerSafe();
    else if (light === "good" && !this.switch.hidden) {
      this.switch.hidden = true;
      this.say(tr("Listening: sing!"));
    }
    if (this.#light.dataset.light !== light) this.#light.dataset.light = light;
    write(this.#delay, String(ms ?? "–"));
    write(this.#delaySaid, lost > 1 ? tr("ms, {lost} dropouts", { lost }) : lost ? tr("ms, one dropout") : tr("ms, no dropouts"));
    write(this.figures, tr("Algorithm {algorithm} ms · CPU {work} %", { algorithm, work: Math.round(100 * meter.work) }));
    this.#notes.show(meter.curve);
    this.#pitch.add(meter.curve);
    if (this.isAuto && meter.fitting_transpose !== null && meter.fitting_transpose !== this.#value("transpose")) {
      this.#set("transpose", meter.fitting_transpose);
      this.#told.change({ transpose: meter.fitting_transpose });
    }
  }

  /** Offer the preset that loses least, where it is not the chosen one: a session has to begin again for it. */
  #offerSafe() {
    if (this.#isChosen("Safe")) return this.say(tr("This machine is too slow to sing through now. Close other programs."), true);
    this.say(tr("Dropouts: switch to Safe"), true);
    this.switch.hidden = false;
  }

  /** Nothing is sung any more. */
  end() {
    this.switch.hidden = true;
    this.#light.dataset.light = "off";
    this.#nextTime.textContent = "";
    this.#notes.clear();
    this.recorded(null);
    press(this.record, false);
    this.warn("");
    this.levels([LOWEST_DB, LOWEST_DB], [LOWEST_DB, LOWEST_DB]);
    this.button.textContent = tr("Start");
    this.measure.disabled = this.hear.disabled = false;
  }
}

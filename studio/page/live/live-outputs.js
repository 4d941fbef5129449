// Where <timbre-live> plays: the output, as a virtual cable, and a second one to hear oneself on.
//
// The browser remembers both. One that is chosen and not there is asked about: until it is back or another is chosen,
// nothing is played in its place, since the loudspeakers may be what must not be heard.

import { make } from "./dom.js";
import { absent, devicesOf, listed } from "./microphone-choice.js";
import { remember, remembered } from "./remembered.js";
import { tr } from "./texts.js";

const KEY = "timbre-live-outputs"; // {output, beside}, each {id, label}
const SILENCED = tr("The chosen output does not play. Choose another.");
const TONE_HZ = 440, TONE_LEVEL = 0.1, TONE_S = 2, FADE_S = 0.02;

/** Whether this browser lets a page choose (Chromium). */
export const canChoose = () => "setSinkId" in AudioContext.prototype;

/** The two fields. */
export class OutputChoice {
  #fields = {}; // of the output and of the second one
  #there = []; // devices
  #asked = make("p", { class: "asked", role: "alert", hidden: true });

  /** changed(): another is chosen, or one has come or gone. */
  constructor(changed) {
    this.changed = changed;
    const labels = { output: tr("Output"), beside: tr("Second output, to hear yourself") };
    for (const [name, label] of Object.entries(labels)) {
      this.#fields[name] = make("select", { "aria-label": label, title: label, onchange: () => this.#choose(name) });
    }
    this.#fill();
    this.nodes = canChoose() ? Object.values(this.#fields) : [];
    this.asked = this.#asked; // stands where it is seen while one sings
  }

  /** List the devices that there are; none are known before the browser has given a microphone. */
  async list() {
    this.#there = await devicesOf("audiooutput");
    this.#fill();
    await this.changed();
  }

  get areKnown() {
    return this.#there.length > 0;
  }

  /** Where to play: {id, isGone} of each; an id of "" is the system's output, and none beside it. */
  get chosen() {
    return Object.fromEntries(Object.entries(this.#fields).map(([name, { value }]) => [name, { id: value, isGone: this.#isGone(value) }]));
  }

  #isGone(id) {
    return id !== "" && this.areKnown && !this.#there.some(({ deviceId }) => deviceId === id);
  }

  #fill() {
    const kept = remembered(KEY), unchosen = { output: tr("Default output"), beside: tr("No second output") };
    for (const [name, field] of Object.entries(this.#fields)) {
      const { id, label } = kept[name] ?? { id: "", label: "" };
      listed(field, [...this.#there, ...absent(this.#there, id, label)], unchosen[name], id);
    }
    this.#ask(kept.output);
  }

  #ask(output) {
    this.#asked.hidden = !this.chosen.output.isGone;
    if (this.#asked.hidden) return this.#asked.replaceChildren();
    const instead = make("button", { type: "button", class: "pill", onclick: () => this.#takeDefault() }, tr("Play on the default output"));
    this.#asked.replaceChildren(make("span", {}, tr("{label} is not connected, so nothing is played. Connect it, or choose another output.", { label: output.label })), instead);
  }

  #takeDefault() {
    this.#fields.output.value = "";
    this.#choose("output");
  }

  #choose(name) {
    const { value } = this.#fields[name], device = this.#there.find(({ deviceId }) => deviceId === value);
    remember(KEY, { ...remembered(KEY), [name]: { id: value, label: device?.label ?? "" } });
    this.#fill();
    this.changed();
  }
}

/** The sound of a context, on both outputs. */
export class Played {
  #context;
  #choice;
  #out;
  #beside = null; // {id, context, from}
  #settled = Promise.resolve();

  constructor(context, choice) {
    this.#context = context;
    this.#choice = choice;
    this.#out = context.createGain();
  }

  /** Play a node. Throws an Error with a sentence where the chosen output cannot be played on. */
  async hear(node) {
    await this.settle(); // before anything could sound on another output
    node.connect(this.#out).connect(this.#context.destination);
  }

  /** Play where it is to be played now. */
  settle() {
    return (this.#settled = this.#settled.catch(() => {}).then(() => this.#settle()));
  }

  async #settle() {
    if (!canChoose() || this.#context.state === "closed") return;
    const { output, beside } = this.#choice.chosen;
    await playOn(this.#context, output);
    const wanted = beside.isGone ? "" : beside.id;
    if (wanted === (this.#beside?.id ?? "")) return;
    this.#endBeside();
    if (wanted) await this.#playBeside(wanted);
  }

  async #playBeside(id) {
    const from = this.#context.createMediaStreamDestination(), context = new AudioContext({ sampleRate: this.#context.sampleRate, latencyHint: "interactive" });
    this.#beside = { id, context, from };
    await playOn(context, { id, isGone: false });
    this.#out.connect(from);
    context.createMediaStreamSource(from.stream).connect(context.destination);
    await context.resume();
  }

  #endBeside() {
    if (!this.#beside) return;
    this.#out.disconnect(this.#beside.from);
    this.#beside.context.close();
    this.#beside = null;
  }

  close() {
    this.#endBeside();
    this.#context.close();
  }
}

// https://webaudio.github.io/web-audio-api/#dom-audiosinktype-none: the sound goes on, and nobody hears it
async function playOn(context, { id, isGone }) {
  if ((context.sinkId?.type ?? context.sinkId) === (isGone ? "none" : id)) return;
  await context.setSinkId(isGone ? { type: "none" } : id).catch(() => {
    throw new Error(SILENCED);
  });
}

/** Play a tone, by which one sees in another program whether the cable arrives there. */
export async function playTone(choice) {
  const context = new AudioContext(), tone = context.createOscillator(), gain = context.createGain(), played = new Played(context, choice);
  tone.frequency.value = TONE_HZ;
  const from = context.currentTime + FADE_S, to = from + TONE_S;
  gain.gain.setValueAtTime(0, from);
  gain.gain.linearRampToValueAtTime(TONE_LEVEL, from + FADE_S);
  gain.gain.setValueAtTime(TONE_LEVEL, to - FADE_S);
  gain.gain.linearRampToValueAtTime(0, to);
  tone.connect(gain);
  try {
    await context.resume();
    await played.hear(gain);
    tone.start(from);
    tone.stop(to);
    await new Promise((done) => tone.addEventListener("ended", done));
  } finally {
    played.close();
  }
}

// <timbre-mixer>: the lanes of a song, heard together, each with a fader, mute and solo.
//
// data: {id, lanes: [{name, label, url}], made: {url, name}}. made: a mix that was asked for, downloaded as soon as it is
// there. Tells `export` {faders: {name: {gain_db, mute, solo}}, format}.

import { make, tell } from "./dom.js";
import { clock } from "./roll-drawing.js";
import { tr } from "./texts.js";

const LOWEST_DB = -60, HIGHEST_DB = 12, APART_S = 0.04; // lanes further apart than this are set together again
const FORMATS = ["wav", "flac", "mp3", "m4a"];

class Mixer extends HTMLElement {
  #data = null;
  #lanes = []; // {name, sound: <audio>, gain: GainNode, fader, mute, solo}
  #context = null;
  #watch = 0;

  set data(given) {
    const isNew = given?.id !== this.#data?.id;
    this.#data = given?.lanes?.length ? given : null;
    if (!this.#data || isNew) this.#build();
    if (this.#data?.made) this.#fetch(this.#data.made);
  }

  get data() {
    return this.#data;
  }

  disconnectedCallback() {
    this.#stop();
  }

  #build() {
    this.#stop();
    this.#context?.close();
    this.#context = null;
    this.#lanes = [];
    this.replaceChildren();
    if (!this.#data) return;
    this.play = make("button", { type: "button", class: "play", "aria-pressed": "false", onclick: () => this.#toggle() }, tr("Play"));
    this.place = make("input", { type: "range", class: "place", min: 0, max: 1, step: 0.01, value: 0, "aria-label": tr("Position"), oninput: () => this.#seek(Number(this.place.value)) });
    this.time = make("output", { class: "time" }, clock(0));
    const rows = this.#data.lanes.map((lane) => this.#row(lane));
    this.format = make("select", { "aria-label": tr("Format of the mix") }, FORMATS.map((one) => make("option", { value: one }, one)));
    this.export = make("button", { type: "button", class: "export", onclick: () => this.#ask() }, tr("Export mix"));
    const stems = this.#data.lanes.map(({ label, url, name }) => make("a", { href: url, download: `${name}.wav` }, label, " (wav)"));
    this.append(make("div", { class: "transport" }, this.play, this.place, this.time), make("div", { class: "lanes" }, rows),
      make("div", { class: "exports" }, this.format, this.export, make("span", { class: "stems" }, "Stems: ", stems)));
  }

  #row({ name, label, url }) {
    const sound = make("audio", { src: url, preload: "auto" });
    const said = make("output", {}, "0 dB");
    const lane = { name, sound, gain: null };
    lane.fader = make("input", { type: "range", min: LOWEST_DB, max: HIGHEST_DB, step: 0.5, value: 0, "aria-label": tr("Level of {label}", { label }),
      oninput: () => { said.textContent = tr("{value} dB", { value: lane.fader.value }); this.#balance(); } });
    lane.fader.addEventListener("dblclick", () => { lane.fader.value = 0; lane.fader.dispatchEvent(new Event("input")); });
    const button = (text, title, whole) => {
      const made = make("button", { type: "button", "aria-pressed": "false", "aria-label": whole, title,
        onclick: () => { made.setAttribute("aria-pressed", made.getAttribute("aria-pressed") !== "true"); this.#balance(); } }, text);
      return made;
    };
    lane.mute = button("M", tr("Mute"), tr("Mute {label}", { label }));
    lane.solo = button("S", tr("Solo"), tr("Solo {label}", { label }));
    this.#lanes.push(lane);
    sound.addEventListener("loadedmetadata", () => { this.place.max = Math.max(Number(this.place.max), sound.duration); });
    sound.addEventListener("ended", () => { if (this.#lanes.every((one) => one.sound.ended || one.sound.paused)) this.#stop(); });
    return make("div", { class: "lane", "data-lane": name }, make("span", { class: "label" }, label), lane.mute, lane.solo, lane.fader, said, sound);
  }

  get faders() {
    const pressed = (button) => button.getAttribute("aria-pressed") === "true";
    return Object.fromEntries(this.#lanes.map(({ name, fader, mute, solo }) =>
      [name, { gain_db: Number(fader.value), mute: pressed(mute), solo: pressed(solo) }]));
  }

  // Levels above 0 dB need a gain node; media elements only go down.
  #connect() {
    if (this.#context) return;
    this.#context = new AudioContext();
    for (const lane of this.#lanes) {
      lane.gain = this.#context.createGain();
      this.#context.createMediaElementSource(lane.sound).connect(lane.gain).connect(this.#context.destination);
    }
    this.#balance();
  }

  #balance() {
    const faders = this.faders, soloed = Object.values(faders).some((one) => one.solo);
    for (const { name, gain } of this.#lanes) {
      const { gain_db: level, mute, solo } = faders[name];
      const silent = mute || (soloed && !solo) || level <= LOWEST_DB;
      if (gain) gain.gain.setTargetAtTime(silent ? 0 : 10 ** (level / 20), this.#context.currentTime, 0.01);
    }
  }

  async #toggle() {
    if (this.play.getAttribute("aria-pressed") === "true") return this.#stop();
    this.#connect();
    await this.#context.resume();
    this.#seek(Number(this.place.value));
    await Promise.all(this.#lanes.map(({ sound }) => sound.play()));
    this.play.setAttribute("aria-pressed", "true");
    this.play.textContent = tr("Pause");
    this.#watch = setInterval(() => this.#follow(), 200);
  }

  #follow() {
    const [first, ...others] = this.#lanes.map(({ sound }) => sound);
    for (const sound of others) {
      if (!sound.ended && Math.abs(sound.currentTime - first.currentTime) > APART_S) sound.currentTime = first.currentTime;
    }
    this.place.value = first.currentTime;
    this.time.textContent = clock(first.currentTime);
  }

  #seek(seconds) {
    for (const { sound } of this.#lanes) sound.currentTime = seconds;
    this.time.textContent = clock(seconds);
  }

  #stop() {
    clearInterval(this.#watch);
    for (const { sound } of this.#lanes) sound.pause();
    this.play?.setAttribute("aria-pressed", "false");
    if (this.play) this.play.textContent = tr("Play");
  }

  #ask() {
    this.export.disabled = true;
    this.export.textContent = "Mixing …";
    tell(this, "export", { faders: this.faders, format: this.format.value });
    setTimeout(() => this.#ready(), 60_000);
  }

  #ready() {
    this.export.disabled = false;
    this.export.textContent = tr("Export mix");
  }

  #fetch({ url, name }) {
    this.#ready();
    Object.assign(document.createElement("a"), { href: url, download: name }).click();
  }
}

customElements.define("timbre-mixer", Mixer);

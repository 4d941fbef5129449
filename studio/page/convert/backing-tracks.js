// What is heard beside the chosen lane of an instrument, as the backing of a vocal is: each has a channel with a fader,
// mute, solo and a meter, and so has the vocal.

import { avatar } from "./avatar.js";
import { make } from "./dom.js";
import { did } from "./edit-steps.js";
import { openSound } from "./sound.js";
import { tr } from "./texts.js";

const LOWEST_DB = -60, HIGHEST_DB = 12;
const METER_DB = 48; // from its lower to its upper end
export const VOCAL = "vocal";

export class BackingTracks {
  lanes = []; // [{name, label, title, url, begins, pan, gain_db, avatar}]; without a url until it is there
  #faders = new Map(); // by name: {gain_db, mute, solo, pan}
  #sounds = new Map(); // by url: promise of a sound
  #shows = new Map(); // by name: shows its fader and buttons as they are
  #playing = [];
  #main = null;
  #turn = 0;
  #changed;

  /** changed: called when a channel was. */
  constructor(changed) {
    this.#changed = changed;
  }

  /** begins: where each is on the timeline, in seconds. */
  set(lanes) {
    const urls = new Set(lanes.map(({ url }) => url));
    if (this.lanes.some(({ url, begins }) => !lanes.some((one) => one.url === url && one.begins === begins))) this.stop();
    for (const url of this.#sounds.keys()) if (!urls.has(url)) this.#sounds.delete(url);
    Object.assign(this, { lanes });
  }

  get faders() {
    return Object.fromEntries([VOCAL, ...this.lanes.map(({ name }) => name)].map((name) => [name, this.#of(name)]));
  }

  get isThere() {
    return this.lanes.length > 0;
  }

  sound(url) {
    if (!this.#sounds.has(url)) this.#sounds.set(url, openSound(url));
    return this.#sounds.get(url);
  }

  // ---- sound

  /** The chosen lane, which is about to be heard. */
  lead(sound) {
    this.#main = sound;
    sound.level = this.isThere ? this.#level(VOCAL) : 1;
  }

  /** Play what is beside a sound, which begins at `offset` on the timeline. */
  async start(main, offset) {
    this.stop();
    const turn = this.#turn;
    for (const { name, url, begins } of this.lanes.filter((lane) => lane.url)) {
      const sound = await this.sound(url).catch(() => null);
      if (!sound || turn !== this.#turn) continue;
      sound.level = this.#level(name);
      sound.pan = this.#of(name).pan;
      this.#playing.push({ name, sound });
      await sound.start(0, main, offset - begins);
      if (turn !== this.#turn) sound.stop();
    }
  }

  stop() {
    this.#turn++;
    for (const { sound } of this.#playing) sound.stop();
    this.#playing = [];
  }

  #of(name) {
    const { gain_db = 0, pan = 0 } = this.lanes.find((lane) => lane.name === name) ?? {};
    if (!this.#faders.has(name)) this.#faders.set(name, { gain_db, mute: false, solo: false, pan });
    return this.#faders.get(name);
  }

  #level(name) {
    const { gain_db: level, mute, solo } = this.#of(name), isSoloed = Object.values(this.faders).some((one) => one.solo);
    return mute || (isSoloed && !solo) || level <= LOWEST_DB ? 0 : 10 ** (level / 20);
  }

  #balance() {
    for (const { name, sound } of [{ name: VOCAL, sound: this.#main }, ...this.#playing]) {
      if (!sound) continue;
      sound.level = this.#level(name);
      if (this.#of(name).pan || sound.pan) sound.pan = this.#of(name).pan;
    }
    this.#changed();
  }

  /** Return what is called before a channel is changed, and after it: that is a step. */
  #step(name, label) {
    const now = this.#of(name);
    let before = null;
    const put = (values) => {
      Object.assign(now, values);
      this.#shows.get(name)?.();
      this.#balance();
    };
    return {
      begin: () => (before ??= { ...now }),
      end: () => {
        const [was, is] = [before, { ...now }];
        before = null;
        if (was && Object.keys(is).some((key) => was[key] !== is[key])) did(tr("Mix of {label}", { label: tr(label) }), () => put(was), () => put(is));
      },
    };
  }

  // ---- what is seen

  /** Return a channel: {name, label, title}; away: called to take it out, if it can be; hasLabel: whether it is named. */
  channel({ name, label, title, url, pan = undefined, avatar: face = undefined, grip = null }, away = null, hasLabel = true) {
    const now = this.#of(name), step = this.#step(name, label);
    const fader = make("input", { type: "range", class: "fader", min: LOWEST_DB, max: HIGHEST_DB, step: 0.5, "aria-label": tr("Level of {label}", { label }) });
    const say = () => {
      fader.value = String(now.gain_db);
      fader.title = fader.ariaValueText = tr("{gain_db} dB", { gain_db: now.gain_db });
    };
    const set = (level) => {
      step.begin();
      now.gain_db = Number(level);
      say();
      this.#balance();
    };
    fader.addEventListener("input", () => set(fader.value));
    fader.addEventListener("change", step.end);
    fader.addEventListener("dblclick", () => (set(0), step.end()));
    fader.addEventListener("keydown", (event) => event.key === " " || event.stopPropagation()); // arrows are its own
    const side = pan === undefined ? null : this.#panner(now, label, step);
    const toggle = (letter, what, whole) => {
      const made = make("button", { type: "button", class: what, "aria-label": whole, title: whole, "aria-pressed": now[what], onclick: () => {
        step.begin();
        now[what] = !now[what];
        made.setAttribute("aria-pressed", now[what]);
        this.#balance();
        step.end();
      } }, letter);
      return made;
    };
    const remove = away && make("button", { type: "button", class: "away", "aria-label": tr("Remove {label}", { label }), title: tr("Remove {label}", { label }), onclick: away }, "×");
    const heading = hasLabel ? make("span", { class: "label", title }, grip, avatar(face, "face"), label, url ? null : make("i", {}, " …")) : null;
    const buttons = [toggle("M", "mute", tr("Mute {label}", { label })), toggle("S", "solo", tr("Solo {label}", { label }))];
    this.#shows.set(name, () => {
      say();
      side?.show();
      for (const one of buttons) one.setAttribute("aria-pressed", now[one.className]);
    });
    say();
    return make("div", { class: "channel", role: "group", "aria-label": label, "data-lane": name }, heading, remove,
      make("div", { class: "mix" }, buttons, fader, side?.slider, make("i", { class: "meter", "aria-hidden": "true" })));
  }

  /** Return a slider for the place in the stereo field; a double click brings back the middle. */
  #panner(now, label, step) {
    const slider = make("input", { type: "range", class: "pan", min: -1, max: 1, step: 0.1, "aria-label": tr("Pan of {label}", { label }) });
    const set = (pan) => {
      now.pan = Number(pan);
      slider.value = pan;
      const percent = Math.round(100 * Math.abs(now.pan));
      slider.title = slider.ariaValueText = !percent ? tr("Middle") : now.pan < 0 ? tr("{percent} % left", { percent }) : tr("{percent} % right", { percent });
    };
    set(now.pan);
    slider.addEventListener("input", () => (step.begin(), set(slider.value), this.#balance()));
    slider.addEventListener("change", step.end);
    slider.addEventListener("dblclick", () => (step.begin(), set(0), this.#balance(), step.end()));
    slider.addEventListener("keydown", (event) => event.key === " " || event.stopPropagation()); // arrows are its own
    return { slider, show: () => set(now.pan) };
  }

  /** Show how loud each channel is now. */
  measure(place) {
    for (const { name, sound } of [{ name: VOCAL, sound: this.#main }, ...this.#playing]) {
      const meter = place.querySelector(`[data-lane="${name}"] .meter`), db = 20 * Math.log10(sound?.peak || 1e-6);
      meter?.style.setProperty("--level", Math.max(0, Math.min(1, 1 + db / METER_DB)).toFixed(2));
    }
  }
}

// The mixer of an instrument: each lane has a channel with fader, place, mute, solo and a meter, be it a take or what is
// heard beside them, as the backing of a vocal is.
//
// The chosen take is heard, and leads. The others are silent until their mute is released, or they are soloed; what is
// beside the takes is heard with whichever is chosen.

import { Channel } from "./channel.js";
import { did } from "./edit-steps.js";
import { Faders, LOWEST_DB, keptFaders } from "./faders.js";
import { openSound } from "./sound.js";

const METER_DB = 48; // from its lower to its upper end
export const VOCAL = "vocal"; // the chosen take, in a mix

export class Mixer {
  // of takes: {name, key, label, url, begins, isTake}, of the recording also `also`; beside them: {name, key, label, title, url, begins, usual, avatar,
  // isMixed, song, next}, without a url until it is there. begins: where it is on the timeline, in seconds; usual: its fader
  // until it is moved; isMixed: whether it is in what is exported; song: the task that it is of; next: its key in the
  // song that is converted next; also: keys by which a project that is exported knows it
  takes = [];
  lanes = [];
  isAlone = false; // only the chosen lane is heard
  #faders = new Faders();
  #channels = new Map(); // by name
  #sounds = new Map(); // of what is beside the takes, by url: promise of a sound
  #playing = []; // beside the chosen lane: {lane, sound}
  #main = null; // {sound, offset}; offset: where it begins on the timeline, null while it is not heard
  #instrument;
  #changed;

  /** instrument: has `chosen`, and `sound(lane)` of a take; changed(): called when a channel was. */
  constructor(instrument, changed) {
    this.#instrument = instrument;
    this.#changed = changed;
  }

  set(takes, lanes) {
    const urls = new Set(lanes.map(({ url }) => url));
    if (this.lanes.some(({ url, begins }) => !lanes.some((one) => one.url === url && one.begins === begins))) this.stop();
    for (const url of this.#sounds.keys()) if (!urls.has(url)) this.#sounds.delete(url);
    Object.assign(this, { takes, lanes });
    this.#channels.clear();
    const kept = keptFaders(); // as which a project is exported
    for (const { key, usual } of lanes) if (usual && !(key in kept)) this.#faders.keep(key, this.#faders.of(key, usual));
  }

  get isThere() {
    return this.#all.length > 0;
  }

  get #all() {
    return [...this.takes, ...this.lanes];
  }

  get #chosen() {
    return this.takes[this.#instrument.chosen];
  }

  /** What is to be mixed, by lane; null where the chosen take is heard alone, as it is. */
  get faders() {
    const chosen = this.#chosen;
    const sung = this.takes.filter((take) => take !== chosen && (!this.isMuted(take) || this.fader(take).solo));
    const beside = [...this.lanes.filter(({ url, isMixed }) => url && isMixed), ...sung];
    if (!beside.length && this.#level(chosen) === 1 && !this.fader(chosen).pan) return null;
    const told = (lane) => ({ ...this.fader(lane), mute: this.isMuted(lane) });
    const isOfAnother = ({ song }) => song && song !== chosen.task;
    return Object.fromEntries([[VOCAL, told(chosen)], ...beside.map((lane) => [isOfAnother(lane) ? `lane-${lane.key}` : lane.name, told(lane)])]);
  }

  fader({ key, usual }) {
    return this.#faders.of(key, usual);
  }

  isMuted(lane) {
    const { mute, solo } = this.fader(lane);
    return mute ?? Boolean(lane.isTake && !solo && lane.name !== this.#chosen?.name);
  }

  sound(url) {
    if (!this.#sounds.has(url)) this.#sounds.set(url, openSound(url));
    return this.#sounds.get(url);
  }

  // ---- sound

  /** The chosen lane, which is about to be heard. */
  lead(sound) {
    this.#main = { sound, offset: this.#main?.offset ?? null };
    this.#keepPlaying((one) => one.sound !== sound); // it is no longer beside it
    if (this.isThere) this.#heard.forEach((one) => this.#place(one));
    else Object.assign(sound, { level: 1 }, sound.pan ? { pan: 0 } : {});
  }

  /** Play what is beside the chosen lane, which begins at `offset` on the timeline, and nothing else any more. */
  async start(offset) {
    this.#main.offset = offset;
    const main = this.#main, wanted = this.isAlone ? [] : [...this.lanes, ...this.takes.filter((take) => take !== this.#chosen && this.#level(take))].filter(({ url }) => url);
    this.#keepPlaying(({ lane }) => wanted.some(({ name }) => name === lane.name));
    for (const lane of wanted) {
      if (this.#playing.some((one) => one.lane.name === lane.name)) continue;
      const sound = await (lane.isTake ? this.#instrument.sound(lane) : this.sound(lane.url)).catch(() => null);
      if (this.#main !== main || main.offset === null) return;
      if (!sound || this.#playing.some((one) => one.sound === sound)) continue;
      const begun = { lane, sound };
      this.#playing.push(begun);
      this.#place(begun);
      await sound.start(0, main.sound, offset - lane.begins);
      if (!this.#playing.includes(begun)) sound.stop();
    }
  }

  stop() {
    if (this.#main) this.#main = { sound: this.#main.sound, offset: null };
    this.#keepPlaying(() => false);
  }

  #keepPlaying(isKept) {
    const ended = this.#playing.filter((one) => !isKept(one));
    this.#playing = this.#playing.filter(isKept);
    for (const { sound } of ended) sound.stop();
  }

  #level(lane) {
    const { gain_db, solo } = this.fader(lane), gain = gain_db <= LOWEST_DB ? 0 : 10 ** (gain_db / 20);
    if (this.isAlone) return lane === this.#chosen ? gain : 0;
    return this.isMuted(lane) || (!solo && this.#all.some((one) => this.fader(one).solo)) ? 0 : gain;
  }

  #place({ lane, sound }) {
    const { pan } = this.fader(lane);
    sound.level = this.#level(lane);
    if (pan || sound.pan) sound.pan = pan;
  }

  #balance() {
    for (const one of this.#heard) this.#place(one);
    if (this.#main?.offset != null) this.start(this.#main.offset);
  }

  get #heard() {
    return [...(this.#main && this.#chosen ? [{ lane: this.#chosen, sound: this.#main.sound }] : []), ...this.#playing];
  }

  // ---- what is seen

  /** Return the channel of a lane; away: called to take it out, if it can be. */
  channel(lane, away = null) {
    const made = new Channel(lane, this, away);
    this.#channels.set(lane.name, made);
    return made.element;
  }

  /** Show all channels as they are: which are muted depends on the lane that is chosen. */
  show() {
    for (const channel of this.#channels.values()) channel.show();
  }

  /** Change a lane, which is heard at once. */
  change(lane, values) {
    for (const key of [lane.key, lane.next, ...(lane.also ?? [])]) if (key) this.#faders.put(key, values);
    this.show();
    this.#balance();
    this.#changed();
  }

  /** Keep how many seconds later than in the mix of a song all but this lane of it begins: a project is exported so. */
  keepShift(name, shift_s) {
    const lane = this.lanes.find((one) => one.name === name && one.song);
    if (lane && (this.fader(lane).shift_s ?? 0) !== shift_s) this.#faders.put(lane.key, { shift_s });
  }

  /** Press the button of a lane that mutes it, or releases it; what it is without being told is not told. */
  mute(lane) {
    const wanted = !this.isMuted(lane);
    this.change(lane, { mute: null });
    if (this.isMuted(lane) !== wanted) this.change(lane, { mute: wanted });
  }

  /** Return what is called before a lane is changed, and after it: that is a step. named(fader): what was done. */
  step(lane) {
    let before = null;
    return {
      begin: () => (before ??= { ...this.fader(lane) }),
      end: (named) => {
        const [was, is] = [before, { ...this.fader(lane) }];
        before = null;
        if (was && Object.keys(is).some((key) => was[key] !== is[key])) did(named(is), () => this.change(lane, was), () => this.change(lane, is));
      },
    };
  }

  /** Show how loud each channel is now. */
  measure() {
    for (const [name, { element }] of this.#channels) {
      const sound = this.#heard.find(({ lane }) => lane.name === name)?.sound, db = 20 * Math.log10(sound?.peak || 1e-6);
      element.querySelector(".meter").style.setProperty("--level", Math.max(0, Math.min(1, 1 + db / METER_DB)).toFixed(2));
    }
  }
}

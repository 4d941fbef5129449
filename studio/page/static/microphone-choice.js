// Two fields that choose a microphone and one of its inputs, as the browser remembers them.
//
// Where the chosen one is not there, it is said which is used in its place, until it is back or another is chosen.

import { make } from "./dom.js";
import { MIX } from "./inputs.js";
import { openMicrophone } from "./microphone.js";
import { remember, remembered } from "./remembered.js";
import { tr } from "./texts.js";

const KEY = "timbre-microphone"; // {device: its id, label, inputs: {id of a device: "mix", or the number of an input}}
const ALIASES = ["default", "communications"]; // of the system's choice, which is in the list by its own name, too

/** Return the devices of a kind that can be chosen; their names are known once the browser has given a microphone. */
export async function devicesOf(kind) {
  const all = (await navigator.mediaDevices?.enumerateDevices()) ?? [];
  return all.filter((one) => one.kind === kind && one.label && !ALIASES.includes(one.deviceId));
}

/** Fill a field with devices; what was chosen stays so. */
export function listed(select, devices, unchosen, before = select.value) {
  select.replaceChildren(make("option", { value: "" }, unchosen), ...devices.map(({ deviceId, label }) => make("option", { value: deviceId, translate: "no" }, label)));
  if (devices.some(({ deviceId }) => deviceId === before)) select.value = before;
}

/** Return a device that is chosen and not there, as an option of its field. */
export function absent(devices, id, label) {
  if (!id || devices.some(({ deviceId }) => deviceId === id)) return [];
  return [{ deviceId: id, label: devices.length ? tr("{label} (not connected)", { label }) : label }]; // else none is known yet
}

export class MicrophoneChoice {
  #known = []; // devices
  #inputs = 1;
  #instead = null; // {id, label} of the microphone in the place of the chosen one
  #told;

  /** told: {device(), input()}, when another is chosen; back(), when the chosen one is there again. */
  constructor(told) {
    const chosen = (what) => {
      this.#remember();
      told[what]();
    };
    this.#told = told;
    this.device = make("select", { "aria-label": tr("Microphone"), onchange: () => (this.#offer(this.#most), this.#use(null), chosen("device")) });
    this.field = make("select", { "aria-label": tr("Input"), hidden: true, onchange: () => chosen("input") });
    this.asked = make("p", { class: "asked", role: "alert", hidden: true });
    this.nodes = [this.device, this.field];
    this.list();
  }

  /** "mix", or the number of an input, from 1. */
  get input() {
    return this.#inputs === 1 || this.field.value === MIX ? MIX : Number(this.field.value);
  }

  /** Open the chosen microphone, or another where it is not there, which is said. Throws an Error with a sentence. */
  async open() {
    const { device } = remembered(KEY), stream = await openMicrophone(device);
    const [track] = stream.getAudioTracks(), { deviceId } = track.getSettings();
    await this.list();
    this.#use(device && deviceId !== device ? { id: deviceId, label: track.label } : null);
    return stream;
  }

  /** List the devices that there are. */
  async list() {
    const wasThere = this.#isThere, before = this.device.value;
    this.#known = await devicesOf("audioinput");
    const { device = "", label = "" } = remembered(KEY);
    listed(this.device, [...this.#known, ...absent(this.#known, device, label)], tr("Default microphone"), device);
    if (this.device.value !== before) this.#offer(this.#most);
    if (!this.#instead || wasThere || !this.#isThere) return;
    this.#use(null);
    this.#told.back();
  }

  get #isThere() {
    return this.#known.some(({ deviceId }) => deviceId === remembered(KEY).device);
  }

  #use(instead) {
    this.#instead = instead;
    this.asked.hidden = !instead;
    if (!instead) return this.asked.replaceChildren();
    const label = remembered(KEY).label || tr("The chosen microphone"), other = instead.label || tr("another microphone");
    const keep = make("button", { type: "button", class: "pill", onclick: () => this.#keep(instead.id) }, tr("Keep {other}", { other }));
    this.asked.replaceChildren(make("span", {}, tr("{label} is not available, so {other} is used until it is back.", { label, other })), keep);
  }

  #keep(id) {
    this.device.value = id;
    if (this.device.value !== id) this.device.value = ""; // the system's choice, by its alias
    this.#use(null);
    this.#remember();
  }

  /** Offer so many inputs, as come from the microphone: none where there is one. */
  offer(count) {
    if (count !== this.#inputs) this.#offer(count);
  }

  /** How many inputs the chosen device has, where the browser says so. */
  get #most() {
    const device = this.#known.find(({ deviceId }) => deviceId === this.device.value);
    return device?.getCapabilities?.().channelCount?.max ?? 1;
  }

  #offer(count) {
    this.#inputs = count;
    const numbers = Array.from({ length: count }, (_, place) => String(place + 1)), before = String(remembered(KEY).inputs?.[this.device.value]);
    this.field.replaceChildren(...numbers.map((number) => make("option", { value: number }, tr("Input {number}", { number }))), make("option", { value: MIX }, tr("Mix of all inputs")));
    this.field.value = numbers.includes(before) ? before : MIX;
    this.field.hidden = count === 1;
  }

  #remember() {
    const { inputs = {} } = remembered(KEY), device = this.device.value, label = this.#known.find(({ deviceId }) => deviceId === device)?.label;
    remember(KEY, { device, label, inputs: this.field.hidden ? inputs : { ...inputs, [device]: this.field.value } });
  }
}

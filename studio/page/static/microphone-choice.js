// Two fields that choose a microphone and one of its inputs, as the browser remembers them.

import { make } from "./dom.js";
import { MIX } from "./inputs.js";
import { remember, remembered } from "./microphone.js";
import { tr } from "./texts.js";

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

export class MicrophoneChoice {
  #known = []; // devices
  #inputs = 1;

  /** told: {device(), input()}, when another is chosen. */
  constructor(told) {
    const chosen = (what) => {
      this.#remember();
      told[what]();
    };
    this.device = make("select", { "aria-label": tr("Microphone"), onchange: () => (this.#offer(this.#most), chosen("device")) });
    this.field = make("select", { "aria-label": tr("Input"), hidden: true, onchange: () => chosen("input") });
    this.nodes = [this.device, this.field];
    this.list();
  }

  /** "mix", or the number of an input, from 1. */
  get input() {
    return this.#inputs === 1 || this.field.value === MIX ? MIX : Number(this.field.value);
  }

  /** List the devices that there are. */
  async list() {
    this.#known = await devicesOf("audioinput");
    const before = this.device.value;
    listed(this.device, this.#known, tr("Default microphone"), before || remembered().device);
    if (this.device.value !== before) this.#offer(this.#most);
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
    const numbers = Array.from({ length: count }, (_, place) => String(place + 1)), before = String(remembered().inputs[this.device.value]);
    this.field.replaceChildren(...numbers.map((number) => make("option", { value: number }, tr("Input {number}", { number }))), make("option", { value: MIX }, tr("Mix of all inputs")));
    this.field.value = numbers.includes(before) ? before : MIX;
    this.field.hidden = count === 1;
  }

  #remember() {
    const { inputs } = remembered(), device = this.device.value;
    remember({ device, inputs: this.field.hidden ? inputs : { ...inputs, [device]: this.field.value } });
  }
}

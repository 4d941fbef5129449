// Play short sounds one at a time; the owner is notified of changes, and a sound stops when another part plays.

import { openSound, rest } from "./sound.js";

const FADED_MS = 100;

export class Listening {
  #owner;
  #changed;
  #ended;
  #sound = null;
  #heard = null;
  #ending = 0;

  /** owner: the element with the sounds; changed: called whenever a sound starts or stops; ended: when one was heard to its end. */
  constructor(owner, changed, ended = () => {}) {
    this.#owner = owner;
    this.#changed = changed;
    this.#ended = ended;
  }

  /** The name of the current sound, or null. */
  get playing() {
    return this.#heard;
  }

  /** Play the sound at this address, or stop it if it is playing. */
  async toggle(name, url) {
    const stops = this.#heard === name;
    this.quiet();
    if (stops) return;
    document.dispatchEvent(new CustomEvent("timbre-play", { detail: { player: this.#owner } }));
    this.#heard = name;
    this.#changed();
    try {
      const sound = await openSound(url);
      if (this.#heard !== name) return;
      await sound.start(0);
      if (this.#heard !== name) return sound.stop();
      this.#sound = sound;
      this.#ending = setTimeout(() => (this.quiet(), this.#ended()), sound.duration * 1000 + FADED_MS);
    } catch {
      this.quiet();
      this.#ended();
    }
  }

  quiet(rests = true) {
    clearTimeout(this.#ending);
    const sound = this.#sound;
    this.#sound = this.#heard = null;
    sound?.stop();
    if (sound && rests) setTimeout(() => this.#sound ?? rest(), FADED_MS);
    this.#changed();
  }

  #interrupted = (event) => {
    if (event.detail.player !== this.#owner) this.quiet(false);
  };

  /** What the owner must listen to. */
  heard = [[document, "timbre-play", this.#interrupted]];
}

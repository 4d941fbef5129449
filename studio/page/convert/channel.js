// A channel of the mixer: the controls of a lane, and how loud it is.

import { avatar } from "./avatar.js";
import { iconButton, make } from "./dom.js";
import { HIGHEST_DB, LOWEST_DB } from "./faders.js";
import { CROSS } from "./shapes.js";
import { tr } from "./texts.js";

export class Channel {
  element;
  #lane;
  #mixer;
  #step;
  #fader;
  #pan;
  #mute;
  #solo;
  #said = make("span", { class: "value", "aria-hidden": "true" }); // where nothing can be pointed at

  /** away: called to take it out, if it can be. */
  constructor(lane, mixer, away) {
    this.#lane = lane;
    this.#mixer = mixer;
    this.#step = mixer.step(lane);
    const { name, label, title, url, avatar: face, grip, isTake } = lane, changed = (values) => mixer.change(lane, values);
    this.#fader = this.#slider("fader", { min: LOWEST_DB, max: HIGHEST_DB, step: 0.5, "aria-label": tr("Level of {label}", { label }) }, (gain_db) => changed({ gain_db }));
    this.#pan = this.#slider("pan", { min: -1, max: 1, step: 0.1, "aria-label": tr("Pan of {label}", { label }) }, (pan) => changed({ pan }));
    this.#mute = this.#toggle("M", "mute", tr("Mute {label}", { label }), () => mixer.mute(lane), () => (mixer.isMuted(lane) ? tr("Mute {label}", { label }) : tr("Unmute {label}", { label })));
    this.#solo = this.#toggle("S", "solo", tr("Solo {label}", { label }), () => changed({ solo: !mixer.fader(lane).solo }), ({ solo }) => (solo ? tr("Solo {label}", { label }) : tr("Solo off: {label}", { label })));
    const heading = make("span", { class: "label", title }, grip, avatar(face, "face"), label, url ? null : make("i", {}, " …"));
    const remove = away && iconButton("away", CROSS, tr("Remove {label}", { label }), away);
    this.element = make("div", { class: "channel", role: "group", "aria-label": label, "data-lane": name, "data-take": Boolean(isTake) }, heading, this.#said, remove,
      make("div", { class: "mix" }, this.#mute, this.#solo, this.#fader, this.#pan, make("i", { class: "meter", "aria-hidden": "true" })));
    this.show();
  }

  /** Show the lane as the mixer has it. */
  show() {
    const { gain_db, pan, mute, solo } = this.#mixer.fader(this.#lane);
    put(this.#fader, gain_db, levelOf(gain_db));
    put(this.#pan, pan, placeOf(pan));
    this.#said.textContent = `${levelOf(gain_db)} · ${placeOf(pan)}`;
    this.#mute.setAttribute("aria-pressed", this.#mixer.isMuted(this.#lane));
    this.#mute.toggleAttribute("data-said", mute !== null);
    this.#solo.setAttribute("aria-pressed", solo);
  }

  /** A slider that a double click puts to 0. */
  #slider(name, attributes, set) {
    const said = (fader) => tr("{label}: {value}", { label: this.#lane.label, value: name === "pan" ? placeOf(fader.pan) : levelOf(fader.gain_db) });
    const made = make("input", { type: "range", class: name, ...attributes });
    made.addEventListener("input", () => (this.#step.begin(), set(Number(made.value))));
    made.addEventListener("change", () => this.#step.end(said));
    made.addEventListener("dblclick", () => (this.#step.begin(), set(0), this.#step.end(said)));
    made.addEventListener("keydown", (event) => /^(Arrow|Page|Home|End)/.test(event.key) && event.stopPropagation()); // these are its own
    return made;
  }

  #toggle(letter, kind, label, press, said) {
    return make("button", { type: "button", class: kind, "aria-label": label, title: label, onclick: () => {
      this.#step.begin();
      press();
      this.#step.end(said);
    } }, letter);
  }
}

function put(slider, value, said) {
  slider.value = String(value);
  slider.title = slider.ariaValueText = said;
}

function levelOf(gain_db) {
  return tr("{gain_db} dB", { gain_db });
}

function placeOf(pan) {
  const percent = Math.round(100 * Math.abs(pan));
  return !percent ? tr("Middle") : pan < 0 ? tr("{percent} % left", { percent }) : tr("{percent} % right", { percent });
}

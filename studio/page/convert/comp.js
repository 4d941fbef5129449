// <timbre-comp>: the takes of a recording below each other, its phrases as cells; one take of each phrase is chosen.
//
// data: {task, starts_s, takes: [{task, take, title, created_at, name, starred}], choice: [{task, take}] or null, follows, offset_s}.
// choice: that of a comp; created_at: in s; follows: the player that goes to a phrase when its cell is chosen; offset_s:
// where the takes begin on its timeline. Tells `ordered` {choice} for the
// take to be made, and `labelled` {task, take, name, starred} when a take is named or starred.

import { make, tell } from "./dom.js";
import { fixed, tr } from "./texts.js";

const LONGEST_NAME = 60;
const NARROWEST = 0.5; // of the usual phrase

// On the document: dispatches "timbre-comping" {comp} whenever the choice changes, with this element, or null without takes,
// so that phrases can be chosen in the lanes of the instrument as well.

class Comp extends HTMLElement {
  #data = null;
  #choice = []; // of each phrase the index of its take

  set data(given) {
    const isSame = given && this.#data && given.task === this.#data.task && given.takes.length === this.#data.takes.length;
    this.#data = given;
    if (!isSame && given) this.#choice = this.#chosen(given);
    if (given) this.#build();
    else {
      this.replaceChildren();
      this.#announce();
    }
  }

  disconnectedCallback() {
    this.#data = null;
    this.#announce();
  }

  /** Whether there are takes and phrases to choose among. */
  get canComp() {
    return Boolean(this.#data) && this.#data.takes.length > 1 && this.#data.starts_s.length > 1;
  }

  get canBuild() {
    return this.canComp && new Set(this.#choice).size > 1 && !this.#isMade();
  }

  /** The phrases: [{start, end, task, take}], with the take that each is of. */
  get phrases() {
    const { starts_s: starts, takes } = this.#data;
    return starts.map((start, phrase) => ({ start, end: starts[phrase + 1] ?? Infinity, task: takes[this.#choice[phrase]].task, take: takes[this.#choice[phrase]].take }));
  }

  /** Choose a take for a phrase, and return what was chosen in words; null for a take that is not offered. */
  pick(phrase, { task, take }) {
    const index = this.#data.takes.findIndex((one) => one.task === task && one.take === take);
    if (index < 0) return null;
    this.#choice[phrase] = index;
    this.#mark();
    return tr("Phrase {phrase} from {label}, at {start} s", { phrase: phrase + 1, label: this.#labelOf(this.#data.takes[index]), start: fixed(this.#data.starts_s[phrase], 1) });
  }

  /** Have the comp made. */
  order() {
    const { takes } = this.#data;
    tell(this, "ordered", { choice: this.#choice.map((index) => ({ task: takes[index].task, take: takes[index].take })) });
  }

  #announce() {
    document.dispatchEvent(new CustomEvent("timbre-comping", { detail: { comp: this.#data ? this : null } }));
  }

  get data() {
    return this.#data;
  }

  /** Return the first choice: that of a comp, else the first take of the conversion that is shown. */
  #chosen({ task: shown, takes, starts_s: starts, choice }) {
    const index = ({ task, take }) => Math.max(0, takes.findIndex((one) => one.task === task && one.take === take));
    const first = index({ task: shown, take: 1 });
    return starts.map((_, phrase) => (choice?.[phrase] ? index(choice[phrase]) : first));
  }

  #build() {
    const { takes } = this.#data;
    const { canComp } = this, lanes = takes.map((one, index) => this.#lane(one, index, canComp));
    const made = make("button", { type: "button", class: "order", onclick: () => this.order() }, tr("Build comp"));
    const why = takes.length > 1 ? tr("This recording is one phrase, so there is nothing to comp: star the take you like best.") : tr("Make another take to comp, phrase by phrase.");
    const hint = canComp ? tr("Choose the best take of each phrase.") : why;
    this.replaceChildren(make("p", { class: "hint" }, hint), ...lanes, ...(canComp ? [made] : []));
    this.#mark();
  }

  #titleOf(one) {
    const time = new Date(1000 * one.created_at).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
    return one.task === this.#data.task ? one.title : `${one.title}, ${time}`; // of another conversion
  }

  #labelOf(one) {
    return one.name ? `${this.#titleOf(one)}, ${one.name}` : this.#titleOf(one);
  }

  #lane(one, index, canComp) {
    const title = this.#titleOf(one), label = this.#labelOf(one);
    const star = make("button", { type: "button", class: "star", "aria-pressed": String(one.starred), "aria-label": tr("Star {label}", { label }), title: tr("Star"), onclick: () => this.#label(one, { starred: !one.starred }) }, "\u2605");
    const name = make("input", { type: "text", class: "name", value: one.name, maxlength: LONGEST_NAME, placeholder: tr("Name"), "aria-label": tr("Name of {title}", { title }), onchange: (event) => this.#label(one, { name: event.target.value }) });
    const cells = canComp ? this.#data.starts_s.map((start, phrase) => this.#cell(label, index, phrase, start)) : [];
    return make("div", { class: "lane" }, star, make("span", { class: "title" }, title), name, make("div", { class: "cells" }, cells));
  }

  #cell(label, index, phrase, start) {
    const lengths = this.#data.starts_s.map((one, place, all) => (all[place + 1] ?? one) - one);
    const usual = lengths.reduce((sum, one) => sum + one, 0) / Math.max(1, lengths.length - 1);
    const wide = Math.max(NARROWEST, (lengths[phrase] || usual) / (usual || 1));
    const act = () => {
      this.pick(phrase, this.#data.takes[index]);
      document.dispatchEvent(new CustomEvent("timbre-seek", { detail: { id: this.#data.follows, seconds: start + this.#data.offset_s } }));
    };
    const said = tr("Phrase {phrase} from {label}, at {start} s", { phrase: phrase + 1, label, start: fixed(start, 1) });
    return make("button", { type: "button", class: "cell", style: `flex-grow: ${wide.toFixed(2)}`, "aria-label": said, title: said, onclick: act }, String(phrase + 1));
  }

  #label(one, change) {
    Object.assign(one, change);
    tell(this, "labelled", { task: one.task, take: one.take, name: one.name, starred: one.starred });
    if ("starred" in change) this.#build();
  }

  #mark() {
    this.querySelectorAll(".lane").forEach((lane, index) =>
      lane.querySelectorAll(".cell").forEach((cell, phrase) => cell.setAttribute("aria-pressed", String(this.#choice[phrase] === index))),
    );
    const order = this.querySelector(".order");
    if (order) order.disabled = !this.canBuild;
    this.#announce();
  }

  /** Whether this is the comp that is shown. */
  #isMade() {
    const { takes, choice } = this.#data;
    return Boolean(choice) && this.#choice.every((index, phrase) => takes[index].task === choice[phrase].task && takes[index].take === choice[phrase].take);
  }
}

customElements.define("timbre-comp", Comp);

// <timbre-comp>: the takes of a recording below each other, its phrases as cells; one take of each phrase is chosen.
//
// data: {task, starts_s, takes: [{task, take, title, created_at, name, starred}], choice: [{task, take}] or null, follows, offset_s}.
// choice: that of a comp; created_at: in s; follows: the player that goes to a phrase when its cell is chosen; offset_s:
// where the takes begin on its timeline. Tells `ordered` {choice} for the
// take to be made, and `labelled` {task, take, name, starred} when a take is named or starred.

import { Choice } from "./comping.js";
import { Listener, icon, make, tell } from "./dom.js";
import { fixed, tr } from "./texts.js";

const LONGEST_NAME = 60;
const NARROWEST = 0.5; // of the usual phrase

class Comp extends Listener {
  #data = null;
  #choice = null;

  set data(given) {
    if (given && this.#choice) this.#choice.data = given;
    else this.#choice = given && new Choice(given);
    this.#data = given;
    if (given) this.#build();
    else this.replaceChildren();
  }

  get data() {
    return this.#data;
  }

  #picked = ({ detail }) => {
    this.#choice?.follow(detail);
    this.#mark();
  };

  heard = [[document, "timbre-picked", this.#picked]];

  #build() {
    const { takes } = this.#data, { canComp } = this.#choice;
    const lanes = takes.map((one) => this.#lane(one, canComp));
    const made = make("button", { type: "button", class: "order", onclick: () => tell(this, "ordered", this.#choice.ordered) }, tr("Build comp"));
    const why = takes.length > 1 ? tr("This recording is one phrase, so there is nothing to comp: star the take you like best.") : tr("Make another take to comp, phrase by phrase.");
    const hint = canComp ? tr("Choose the best take of each phrase.") : why;
    this.replaceChildren(make("p", { class: "hint" }, hint), ...lanes, ...(canComp ? [made] : []));
    this.#mark();
  }

  #lane(one, canComp) {
    const title = this.#choice.titleOf(one), label = this.#choice.labelOf(one);
    const star = make("button", { type: "button", class: "star", "aria-pressed": String(one.starred), "aria-label": tr("Star {label}", { label }), title: tr("Star"), onclick: () => this.#label(one, { starred: !one.starred }) }, icon("M12 2l3 6.600 7 .8-5.200 4.800 1.500 7L12 17.600 5.700 21.200 7.200 14.200 2 9.400 9 8.600z"));
    const name = make("input", { type: "text", class: "name", value: one.name, maxlength: LONGEST_NAME, placeholder: tr("Name"), "aria-label": tr("Name of {title}", { title }), onchange: (event) => this.#label(one, { name: event.target.value }) });
    const cells = canComp ? this.#data.starts_s.map((start, phrase) => this.#cell(one, label, phrase, start)) : [];
    return make("div", { class: "lane" }, star, make("span", { class: "title" }, title), name, make("div", { class: "cells" }, cells));
  }

  #cell(one, label, phrase, start) {
    const lengths = this.#data.starts_s.map((one, place, all) => (all[place + 1] ?? one) - one);
    const usual = lengths.reduce((sum, one) => sum + one, 0) / Math.max(1, lengths.length - 1);
    const wide = Math.max(NARROWEST, (lengths[phrase] || usual) / (usual || 1));
    const act = () => {
      this.#choice.pick(phrase, one);
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
      lane.querySelectorAll(".cell").forEach((cell, phrase) => cell.setAttribute("aria-pressed", String(this.#choice.has(phrase, this.#data.takes[index])))),
    );
    const order = this.querySelector(".order");
    if (order) order.disabled = !this.#choice.canBuild;
  }
}

customElements.define("timbre-comp", Comp);

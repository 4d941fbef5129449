// Which take each phrase of a recording is of. It is chosen in the lanes of the instrument and in the list of takes, each
// of which has a choice of its own that follows the other: on the document, "timbre-picked" {task, choice} tells of it.

import { did } from "./edit-steps.js";
import { fixed, tr } from "./texts.js";

export class Choice {
  #data; // as of <timbre-comp>
  #choice; // of each phrase the index of its take

  constructor(data) {
    this.#data = data;
    this.#choice = this.#first();
  }

  /** The first choice: that of a comp, else the first take of the conversion that is shown. */
  #first() {
    const { task: shown, takes, starts_s: starts, choice } = this.#data;
    const index = ({ task, take }) => Math.max(0, takes.findIndex((one) => one.task === task && one.take === take));
    const first = index({ task: shown, take: 1 });
    return starts.map((_, phrase) => (choice?.[phrase] ? index(choice[phrase]) : first));
  }

  /** Take other data; what is chosen stays while these are takes of the same result. */
  set data(data) {
    const isSame = data.task === this.#data.task && data.takes.length === this.#data.takes.length;
    this.#data = data;
    if (!isSame) this.#choice = this.#first();
  }

  /** Whether there are takes and phrases to choose among. */
  get canComp() {
    return this.#data.takes.length > 1 && this.#data.starts_s.length > 1;
  }

  /** Whether the choice is of several takes, and not the comp that is shown. */
  get canBuild() {
    const { takes, choice } = this.#data, isMade = choice && this.#choice.every((index, phrase) => takes[index].task === choice[phrase].task && takes[index].take === choice[phrase].take);
    return this.canComp && new Set(this.#choice).size > 1 && !isMade;
  }

  /** The phrases: [{start, end, task, take}], with the take that each is of. */
  get phrases() {
    const { starts_s: starts, takes } = this.#data;
    return starts.map((start, phrase) => ({ start, end: starts[phrase + 1] ?? Infinity, task: takes[this.#choice[phrase]].task, take: takes[this.#choice[phrase]].take }));
  }

  /** What the page is told to have it made. */
  get ordered() {
    return { choice: this.phrases.map(({ task, take }) => ({ task, take })) };
  }

  has(phrase, { task, take }) {
    const chosen = this.phrases[phrase];
    return chosen.task === task && chosen.take === take;
  }

  /** Choose a take for a phrase; return that in words, or null for a take that is not offered. */
  pick(phrase, { task, take }) {
    const { takes, starts_s: starts } = this.#data, index = takes.findIndex((one) => one.task === task && one.take === take);
    if (index < 0) return null;
    const before = this.#choice.slice(), after = before.with(phrase, index);
    if (before[phrase] !== index) did(tr("Phrase {phrase} of the comp", { phrase: phrase + 1 }), () => this.#tell(before), () => this.#tell(after));
    this.#choice = after;
    this.#tell(after);
    return tr("Phrase {phrase} from {label}, at {start} s", { phrase: phrase + 1, label: this.labelOf(takes[index]), start: fixed(starts[phrase], 1) });
  }

  #tell(choice) {
    document.dispatchEvent(new CustomEvent("timbre-picked", { detail: { task: this.#data.task, choice } }));
  }

  /** Choose what was chosen elsewhere. */
  follow({ task, choice }) {
    if (task === this.#data.task && choice.length === this.#choice.length) this.#choice = choice.slice();
  }

  titleOf(one) {
    const time = new Date(1000 * one.created_at).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
    return one.task === this.#data.task ? one.title : `${one.title}, ${time}`; // of another conversion
  }

  labelOf(one) {
    return one.name ? `${this.titleOf(one)}, ${one.name}` : this.titleOf(one);
  }
}

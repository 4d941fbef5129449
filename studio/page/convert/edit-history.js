// The edits of a take, with undo and redo, kept in the browser until they are rendered.
//
// Lists of edits are immutable: each step has its own, counted from the take as it was converted.

const KEY = "timbre-pitch-edits";
const MOST_KEPT = 20; // takes
const MOST_STEPS = 200;

export class EditHistory {
  #id = null;
  #past = [];
  #future = [];
  now = [];
  rendered = []; // those that the take has

  /** Begin with a take that has these edits, and restore those that were not rendered when this browser left. */
  open(id, rendered) {
    const isSame = id === this.#id && same(rendered, this.now);
    this.#id = id;
    this.rendered = rendered;
    if (!isSame) {
      const left = kept()[id];
      this.#past = this.#future = [];
      this.now = rendered;
      if (left && same(left.rendered, rendered) && !same(left.now, rendered)) this.push(left.now);
    }
    this.#keep();
  }

  push(edits) {
    this.#past = [...this.#past, this.now].slice(-MOST_STEPS);
    this.#future = [];
    this.now = edits;
    this.#keep();
  }

  undo() {
    if (!this.canUndo) return;
    this.#future = [this.now, ...this.#future];
    this.now = this.#past.at(-1);
    this.#past = this.#past.slice(0, -1);
    this.#keep();
  }

  redo() {
    if (!this.canRedo) return;
    this.#past = [...this.#past, this.now];
    [this.now, ...this.#future] = this.#future;
    this.#keep();
  }

  /** Undo a step that was refused. */
  refuse() {
    this.undo();
    this.#future = this.#future.slice(1);
  }

  get canUndo() {
    return this.#past.length > 0;
  }

  get canRedo() {
    return this.#future.length > 0;
  }

  get isRendered() {
    return same(this.now, this.rendered);
  }

  #keep() {
    const others = Object.entries(kept()).filter(([id]) => id !== this.#id);
    const mine = this.isRendered ? [] : [[this.#id, { rendered: this.rendered, now: this.now }]];
    try {
      localStorage.setItem(KEY, JSON.stringify(Object.fromEntries([...others, ...mine].slice(-MOST_KEPT))));
    } catch {
      // no room, or not allowed: they last as long as the page
    }
  }
}

function kept() {
  try {
    return JSON.parse(localStorage.getItem(KEY)) ?? {};
  } catch {
    return {};
  }
}

function same(some, others) {
  return JSON.stringify(some) === JSON.stringify(others);
}

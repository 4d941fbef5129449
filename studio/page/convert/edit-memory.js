// The edits of a take, kept in the browser until they are rendered.
//
// Lists of edits are immutable: each step has its own, counted from the take as it was converted.

const KEY = "timbre-pitch-edits";
const MOST_KEPT = 20; // takes
const AS_IT_IS = { vibrato: 1, drift: 1, centre: 0, slope: 0, formant_shift_semitones: 0, level_db: 0 };

export class EditMemory {
  #id = null;
  #now = [];
  #ordered = null; // that are being rendered
  rendered = []; // those that the take has

  /** Begin with a take that has these edits, and restore those that were not rendered when this browser left. */
  open(id, rendered) {
    const isOrdered = id === this.#id && this.#ordered?.length === rendered.length;
    this.rendered = isOrdered ? this.#ordered : rendered;
    if (id !== this.#id || !(isOrdered || same(rendered, this.#now))) {
      const left = kept()[id];
      this.#now = left && same(left.rendered, rendered) ? left.now : rendered;
    }
    this.#id = id;
    this.#ordered = null;
    this.#keep();
  }

  get now() {
    return this.#now;
  }

  set now(edits) {
    this.#now = edits;
    this.#keep();
  }

  /** Return the edits to be rendered; null for those that the take has, or that are being rendered. */
  order() {
    if (this.isRendered || this.#ordered === this.#now) return null;
    return (this.#ordered = this.#now);
  }

  /** Whether the take sounds like this. */
  get isRendered() {
    return same(this.#now.filter(isHeard), this.rendered.filter(isHeard));
  }

  /** Of these edits those that the take has not, and those that it has but should not. */
  pending(edits = this.#now) {
    const [now, then] = [edits, this.rendered].map((some) => new Map(some.filter(isHeard).map((one) => [JSON.stringify(one), one])));
    const without = (some, others) => [...some].filter(([key]) => !others.has(key)).map(([, one]) => one);
    return [...without(now, then), ...without(then, now)];
  }

  #keep() {
    const others = Object.entries(kept()).filter(([id]) => id !== this.#id);
    const mine = same(this.#now, this.rendered) ? [] : [[this.#id, { rendered: this.rendered, now: this.#now }]];
    try {
      localStorage.setItem(KEY, JSON.stringify(Object.fromEntries([...others, ...mine].slice(-MOST_KEPT))));
    } catch {
      // no room, or not allowed: they last as long as the page
    }
  }
}

/** Whether an edit changes anything: one that only says where a note is does not. */
function isHeard(edit) {
  return edit.tool !== "note" || Object.entries(AS_IT_IS).some(([name, usual]) => (edit[name] ?? usual) !== usual);
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

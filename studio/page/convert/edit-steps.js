// What was done on the page, as one history: notes, voices of parts, comps, faders, the key.
//
// Whoever does something tells it by `did`; the instrument has the `Steps`, the keys and the buttons.

const MOST = 200;

/** Tell what was done. undo, redo: do so; they return false where what it was done to is not there. */
export function did(name, undo, redo) {
  document.dispatchEvent(new CustomEvent("timbre-did", { detail: { name, undo, redo } }));
}

/** Tell that what was done last was refused: it is undone, and not to be done again. */
export function refused() {
  document.dispatchEvent(new CustomEvent("timbre-refused"));
}

export class Steps {
  #past = [];
  #future = [];
  #isMoving = false; // what is done by undoing is no step
  #changed;
  #away;

  /** changed(): there are other steps; away(again): brings what a step was done to, and calls again(). */
  constructor(changed, away) {
    this.#changed = changed;
    this.#away = away;
  }

  heard = [[document, "timbre-did", ({ detail }) => this.#add(detail)], [document, "timbre-refused", () => this.#refuse()]];

  /** What undo and redo would do, in words; undefined for nothing. */
  get names() {
    return { undo: this.#past.at(-1)?.name, redo: this.#future.at(-1)?.name };
  }

  undo() {
    this.#move(this.#past, this.#future, "undo");
  }

  redo() {
    this.#move(this.#future, this.#past, "redo");
  }

  forget() {
    this.#past = [];
    this.#future = [];
    this.#changed();
  }

  #add(step) {
    if (this.#isMoving) return;
    this.#past = [...this.#past, step].slice(-MOST);
    this.#future = [];
    this.#changed();
  }

  #refuse() {
    this.undo();
    this.#future.pop();
    this.#changed();
  }

  #move(from, to, how) {
    const step = from.at(-1);
    if (!step) return;
    this.#isMoving = true;
    const isThere = step[how]() !== false;
    this.#isMoving = false;
    if (!isThere) return this.#away(() => this.#move(from, to, how));
    to.push(from.pop());
    this.#changed();
  }
}

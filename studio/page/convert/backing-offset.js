// How many seconds later than its backing a recording begins: the backing's lane is dragged against it, or moved by keys,
// and snaps to where it was found.

import { icon, make } from "./dom.js";
import { fixed, tr } from "./texts.js";

export const BACKING = "backing";
const SNAP = 9; // pixels around what was found
const STEP_S = 0.1, FINE_STEP_S = 0.01;

export class BackingOffset {
  chosen = null; // by the visitor; null for what is found
  found = null; // null until that is known
  pulled = 0; // seconds by which the backing is dragged
  #roll;
  #strip;
  #dragged;
  #moved;

  /** strip(): the index of the backing's strip, or -1; dragged(): the lane has to be drawn anew; moved(offset): called at the end. */
  constructor(roll, strip, dragged, moved) {
    this.#roll = roll;
    this.#strip = strip;
    this.#dragged = dragged;
    this.#moved = moved;
  }

  get now() {
    return this.chosen ?? this.found ?? 0;
  }

  /** How many seconds later than in its mix a song's vocal is to begin. */
  get shift() {
    return this.found === null || this.chosen === null ? 0 : this.chosen - this.found;
  }

  begin(place, event) {
    const strip = this.#strip();
    if (strip < 0 || this.#roll.stripAt(place) !== strip || event.pointerType === "touch") return false;
    const { pixelsPerSecond } = this.#roll.plot;
    const to = (seconds) => {
      const pulled = seconds - place.seconds, isNear = this.found !== null && Math.abs(this.now - pulled - this.found) * pixelsPerSecond < SNAP;
      this.pulled = isNear ? this.now - this.found : pulled;
      this.#dragged();
    };
    const drop = () => {
      const offset = this.now - this.pulled, isMoved = this.pulled !== 0;
      this.pulled = 0;
      if (isMoved) this.#move(offset);
      else this.#roll.seek(place.seconds);
    };
    this.#roll.follow(event, to, drop);
    return true;
  }

  /** A handle for the keyboard: arrows move the backing, Home puts it where it was found. */
  grip({ label }) {
    const handle = make("i", { class: "grip", role: "slider", tabindex: 0, "aria-label": tr("Offset of {label}", { label }), "aria-valuenow": this.now.toFixed(2), title: tr("Drag the lane, or use the arrow keys here; Home for where it was found"),
      onkeydown: (event) => {
        const step = event.shiftKey ? STEP_S : FINE_STEP_S, by = { ArrowLeft: step, ArrowDown: step, ArrowRight: -step, ArrowUp: -step }[event.key];
        if (!by && event.key !== "Home") return;
        event.preventDefault();
        event.stopPropagation();
        this.#move(by ? this.now + by : null);
      } }, icon("M7 4h3v3H7zM14 4h3v3h-3zM7 10.500h3v3H7zM14 10.500h3v3h-3zM7 17h3v3H7zM14 17h3v3h-3z"));
    const seconds = fixed(this.now, 2);
    handle.ariaValueText = this.chosen === null ? tr("Auto, {seconds} s", { seconds }) : tr("{seconds} s", { seconds });
    return handle;
  }

  #move(offset) {
    const exact = offset === null ? null : Math.round(1000 * offset) / 1000;
    const isFound = exact === null || (this.found !== null && Math.abs(exact - this.found) < 0.0005);
    this.#moved(isFound ? null : exact);
  }
}

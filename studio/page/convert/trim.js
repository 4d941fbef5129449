// What of a recording is converted: two handles on the picture, and what lies beyond them dimmed.

import { drag, make } from "./dom.js";
import { fixed, ntr, tr } from "./texts.js";

const SHORTEST_S = 0.5; // that is left
const STEP_S = 0.1, FINE_STEP_S = 0.01;
const PATIENCE_MS = 400; // after the last key

export class Trim {
  #kept = null; // {start, stop} in seconds; null for the whole
  #waits = 0;
  #roll;
  #duration;
  #moved;
  #told;
  handles = ["start", "stop"].map((end) => this.#handle(end));

  /** duration(): of the recording; moved(end): called while one moves, or with null for both; told({start_s, stop_s}): at the end, both null for the whole. */
  constructor(roll, duration, moved, told) {
    this.#roll = roll;
    this.#duration = duration;
    this.#moved = moved;
    this.#told = told;
  }

  set kept(trim) {
    this.#kept = trim;
  }

  get kept() {
    return this.#kept;
  }

  get ends() {
    const duration = this.#duration();
    return { start: this.#kept?.start ?? 0, stop: Math.min(this.#kept?.stop ?? Infinity, duration) };
  }

  /** What is kept, in words. */
  get said() {
    const { start, stop } = this.ends;
    return this.#kept ? tr("Only {start} s to {stop} s will be converted ({start2} s).", { start: fixed(start, 1), stop: fixed(stop, 1), start2: fixed(stop - start, 1) }) : "";
  }

  useWhole() {
    this.#keep(null);
    this.#tell();
  }

  paint(context, plot, colours) {
    if (!this.#kept) return;
    const { box } = plot, { start, stop } = this.ends, right = box.x + box.width;
    const [left, end] = [start, stop].map((seconds) => Math.min(Math.max(plot.x(seconds), box.x), right));
    context.fillStyle = colours.ground;
    context.globalAlpha = 0.7;
    context.fillRect(box.x, box.y, left - box.x, box.height);
    context.fillRect(end, box.y, right - end, box.height);
    context.globalAlpha = 1;
  }

  /** Put the handles where they belong. */
  place(isThere) {
    const { plot, offsetTop } = this.#roll, { ends, handles } = this, { box } = plot, duration = this.#duration();
    ["start", "stop"].forEach((end, index) => {
      const handle = handles[index], seconds = ends[end];
      handle.hidden = !isThere || !duration || seconds < plot.start - 1e-6 || seconds > plot.end + 1e-6;
      Object.assign(handle.style, { left: `${plot.x(seconds)}px`, top: `${offsetTop + box.y}px`, height: `${box.height}px` });
      handle.setAttribute("aria-valuemax", duration.toFixed(2));
      handle.setAttribute("aria-valuenow", seconds.toFixed(2));
      handle.setAttribute("aria-valuetext", ntr("{seconds} second", "{seconds} seconds", { seconds: fixed(seconds, 2) }));
    });
  }

  #handle(end) {
    return make("i", {
      class: `handle ${end}`, role: "slider", tabindex: 0, "aria-label": end === "start" ? tr("Start") : tr("End"), "aria-valuemin": 0,
      onkeydown: (event) => this.#nudge(event, end),
      onblur: () => this.#waits && this.#tell(),
      onpointerdown: (event) => this.#drag(event, end),
    });
  }

  #drag(event, end) {
    event.stopPropagation();
    event.target.focus();
    const { left } = this.#roll.getBoundingClientRect();
    drag(event, event.target, (moved) => this.#move(end, this.#roll.plot.seconds(moved.clientX - left)), () => this.#tell());
  }

  #nudge(event, end) {
    const step = event.shiftKey ? FINE_STEP_S : STEP_S, now = this.ends[end];
    const places = { ArrowLeft: now - step, ArrowDown: now - step, ArrowRight: now + step, ArrowUp: now + step, Home: 0, End: this.#duration() };
    if (!(event.key in places)) return;
    event.preventDefault();
    event.stopPropagation();
    this.#move(end, places[event.key]);
    clearTimeout(this.#waits);
    this.#waits = setTimeout(() => this.#tell(), PATIENCE_MS);
  }

  #move(end, seconds) {
    const { start, stop } = this.ends, duration = this.#duration(), shortest = Math.min(SHORTEST_S, duration);
    if (end === "start") this.#keep({ start: Math.max(0, Math.min(seconds, stop - shortest)), stop }, end);
    else this.#keep({ start, stop: Math.min(duration, Math.max(seconds, start + shortest)) }, end);
  }

  #keep(trim, end = null) {
    const isWhole = trim && trim.start < FINE_STEP_S && trim.stop > this.#duration() - FINE_STEP_S;
    this.#kept = isWhole ? null : trim;
    this.#moved(end);
  }

  #tell() {
    clearTimeout(this.#waits);
    this.#waits = 0;
    const [start_s, stop_s] = [this.#kept?.start, this.#kept?.stop].map((seconds) => (seconds === undefined ? null : Math.round(seconds * 1000) / 1000));
    this.#told({ start_s, stop_s });
  }
}

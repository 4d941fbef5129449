// <timbre-recording>: a player that also trims its recording.
//
// data: that of <timbre-player> with one track, and `trim`: {start_s, stop_s}, or null for the whole. The two handles
// are dragged, or moved with the arrow keys (with shift: finer). Tells `trimmed` {start_s, stop_s}, both null for
// the whole.

import { drag, make, tell } from "./dom.js";
import { Player } from "./player.js";

const SHORTEST_S = 0.5; // that is left when trimming
const STEP_S = 0.1, FINE_STEP_S = 0.01;
const PATIENCE_MS = 400; // after the last key

export class Recording extends Player {
  #trim = null;
  #waits = 0;

  set data(given) {
    this.#trim = given?.trim ? { start: given.trim.start_s, stop: given.trim.stop_s } : null;
    super.data = given;
  }

  get data() {
    return super.data;
  }

  get stretch() {
    const stop = Math.min(this.#trim?.stop ?? Infinity, this.duration || Infinity);
    return { start: this.#trim?.start ?? 0, stop: stop === Infinity ? 0 : stop };
  }

  drawn(wave) {
    const outside = ["before", "after"].map((side) => make("i", { class: `outside ${side}` }));
    const lane = make("div", { class: "lane" });
    wave.replaceWith(lane);
    wave.append(...outside);
    lane.append(wave, this.#handle(wave, "start", "Start"), this.#handle(wave, "stop", "End")); // a slider holds no others
    const whole = make("button", { type: "button", class: "download", onclick: () => this.#take(null, true) }, "Use the whole recording");
    lane.parentElement.after(make("div", { class: "trim" }, make("span", { class: "kept", role: "status" }), whole));
    this.#show();
  }

  opened() {
    this.#show();
    if (!this.isPlaying && this.seconds < this.stretch.start) this.seek(this.stretch.start);
  }

  #handle(wave, end, label) {
    const handle = make("i", {
      class: `handle ${end}`, role: "slider", tabindex: 0, "aria-label": label, "aria-valuemin": 0,
      onkeydown: (event) => this.#key(event, end),
      onblur: () => this.#settle(),
      onpointerdown: (event) => this.#drag(event, wave, handle, end),
    });
    return handle;
  }

  #drag(event, wave, handle, end) {
    event.stopPropagation();
    handle.focus();
    const to = (moved) => {
      const { left, width } = wave.getBoundingClientRect();
      this.#move(end, (this.duration * (moved.clientX - left)) / width);
    };
    drag(event, handle, to, () => this.#tell());
  }

  #key(event, end) {
    const step = event.shiftKey ? FINE_STEP_S : STEP_S;
    const places = {
      ArrowLeft: this.stretch[end] - step, ArrowDown: this.stretch[end] - step,
      ArrowRight: this.stretch[end] + step, ArrowUp: this.stretch[end] + step,
      Home: 0, End: this.duration,
    };
    if (!(event.key in places)) return;
    event.preventDefault();
    event.stopPropagation();
    this.#move(end, places[event.key]);
    clearTimeout(this.#waits);
    this.#waits = setTimeout(() => this.#settle(), PATIENCE_MS);
  }

  /** Tell what the keys did. */
  #settle() {
    if (this.#waits) this.#tell();
  }

  #move(end, seconds) {
    const { start, stop } = this.stretch;
    const shortest = Math.min(SHORTEST_S, this.duration);
    if (end === "start") {
      this.#take({ start: Math.max(0, Math.min(seconds, stop - shortest)), stop });
      this.seek(this.stretch.start);
    } else this.#take({ start, stop: Math.min(this.duration, Math.max(seconds, start + shortest)) });
  }

  #take(trim, tells = false) {
    const isWhole = trim && trim.start < FINE_STEP_S && trim.stop > this.duration - FINE_STEP_S;
    this.#trim = isWhole ? null : trim;
    this.#show();
    if (tells) this.#tell();
  }

  #tell() {
    clearTimeout(this.#waits);
    this.#waits = 0;
    const round = (seconds) => Math.round(seconds * 1000) / 1000;
    tell(this, "trimmed", {
      start_s: this.#trim && round(this.#trim.start),
      stop_s: this.#trim && round(this.#trim.stop),
    });
  }

  #show() {
    const lane = this.querySelector(".lane");
    if (!lane) return;
    const { start, stop } = this.stretch;
    const share = (seconds) => (this.duration ? seconds / this.duration : 0);
    lane.style.setProperty("--start", share(start));
    lane.style.setProperty("--stop", this.duration ? share(stop) : 1);
    lane.querySelectorAll(".handle").forEach((handle) => {
      const seconds = handle.classList.contains("start") ? start : stop;
      handle.setAttribute("aria-valuemax", this.duration.toFixed(2));
      handle.setAttribute("aria-valuenow", seconds.toFixed(2));
      handle.setAttribute("aria-valuetext", `${seconds.toFixed(2)} seconds`);
    });
    this.querySelector(".trim").hidden = !this.#trim;
    this.querySelector(".kept").textContent = this.#trim
      ? `Only ${start.toFixed(1)} s to ${stop.toFixed(1)} s will be converted (${(stop - start).toFixed(1)} s).`
      : "";
  }
}

customElements.define("timbre-recording", Recording);

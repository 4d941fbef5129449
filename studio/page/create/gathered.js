// <timbre-gathered>: recordings for a new voice. data: {recordings: [{id, name, duration_s, url}]}. Tells `removed` {id},
// and `cleared` {} to remove all.

import { Listener, iconButton, make, tell } from "./dom.js";
import { Listening } from "./listening.js";
import { length } from "./report.js";
import { CROSS, PLAY, STOP } from "./shapes.js";
import { ntr, tr } from "./texts.js";

const ADVICE = [[60, tr("more will sound much better: aim for three minutes")], [180, tr("aim for at least three minutes")],
  [600, tr("a good start; ten minutes or more is better")], [Infinity, tr("plenty")]];
const EMPTY = tr("No recordings yet. Three minutes of clean, dry voice is a good start; ten or more is better.");

class Gathered extends Listener {
  #recordings = [];
  #listening = new Listening(this, () => this.#mark());
  heard = this.#listening.heard;

  /** @param {import("./types").GatheredData | null} given */
  set data(given) {
    this.#listening.quiet();
    const focused = [...this.querySelectorAll("button")].indexOf(document.activeElement);
    this.#recordings = given?.recordings ?? [];
    const shown = this.#recordings.length ? [this.#total(), this.#list()] : [make("p", { class: "empty" }, EMPTY)];
    this.replaceChildren(...shown);
    if (focused >= 0) this.querySelectorAll("button")[focused]?.focus();
  }

  disconnectedCallback() {
    super.disconnectedCallback();
    this.#listening.quiet();
  }

  #total() {
    const seconds = this.#recordings.reduce((sum, one) => sum + one.duration_s, 0);
    const count = this.#recordings.length;
    const advice = ADVICE.find(([most]) => seconds < most)[1];
    const clear = make("button", { type: "button", class: "clear", onclick: () => tell(this, "cleared", {}) }, tr("Remove all"));
    return make("div", { class: "total", role: "status" },
      make("strong", {}, ntr("{count} recording, {seconds}", "{count} recordings, {seconds}", { count, seconds: length(seconds) })), make("span", {}, advice), count > 1 ? clear : null);
  }

  #list() {
    return make("ul", { class: "list", "aria-label": tr("Recordings") }, this.#recordings.map((one) => make("li", { class: "row", "data-id": one.id },
      iconButton("play", PLAY, tr("Play {name}", { name: one.name }), () => this.#listening.toggle(one.id, one.url)),
      make("span", { class: "name", translate: "no" }, one.name),
      make("span", { class: "length" }, length(one.duration_s)),
      iconButton("remove", CROSS, tr("Remove {name}", { name: one.name }), () => tell(this, "removed", { id: one.id })))));
  }

  #mark() {
    for (const row of this.querySelectorAll(".row")) {
      const plays = row.dataset.id === this.#listening.playing;
      row.querySelector(".play").setAttribute("aria-pressed", plays);
      row.querySelector(".play path").setAttribute("d", plays ? STOP : PLAY);
    }
  }
}

customElements.define("timbre-gathered", Gathered);

// <timbre-part-list>: where the voice of a recording changes, and to which: what is drawn on its lane, for keys and for
// exact times. data: {parts}, as regions.js writes them. Sends `voiced`, which the instrument knows before.

import { Listener, iconButton, make, tell } from "./dom.js";
import { CHOSEN, KEEP, VOICED, read, voices, write } from "./regions.js";
import { clock } from "./roll-drawing.js";
import { CROSS } from "./shapes.js";
import { tr } from "./texts.js";

class PartList extends Listener {
  #parts = [];

  heard = [[document, VOICED, ({ detail }) => (this.data = detail)]];

  set data(given) {
    const parts = read(given?.parts ?? "");
    if (this.childElementCount && write(parts) === write(this.#parts)) return; // what is told comes back
    this.#parts = parts;
    this.#show();
  }

  #show() {
    const add = make("button", { type: "button", class: "add", onclick: () => this.#add() }, tr("Change the voice at the playhead"));
    this.replaceChildren(make("p", { class: "title" }, tr("Voice changes")), make("ul", {}, this.#parts.map((part, place) => this.#row(part, place))), add);
  }

  #row({ start, voice }, place) {
    const time = clock(start, 1), said = { "aria-label": tr("Voice from {time}", { time }) };
    const chosen = ({ target }) => this.#tell(this.#parts.with(place, { start, voice: target.value }), place);
    const others = [new Option(tr("The chosen voice"), CHOSEN), new Option(tr("Original voice"), KEEP)];
    const choice = make("select", { ...said, onchange: chosen }, others, voices().map(({ id, name }) => new Option(name, id)));
    choice.value = voice;
    return make("li", {}, make("span", { class: "time" }, time), choice, iconButton("remove", CROSS, tr("Remove"), () => this.#tell(this.#parts.toSpliced(place, 1), place)));
  }

  #add() {
    const start = Math.round(10 * (document.querySelector("timbre-instrument").seconds ?? 0)) / 10;
    const parts = [...this.#parts.filter((one) => one.start !== start), { start, voice: KEEP }].sort((one, other) => one.start - other.start);
    this.#tell(parts, parts.findIndex((one) => one.start === start));
  }

  /** The row that was changed, or the button where there is none, keeps the focus. */
  #tell(parts, place) {
    this.#parts = parts;
    this.#show();
    (this.querySelectorAll("select")[place] ?? this.querySelector(".add")).focus();
    document.dispatchEvent(new CustomEvent(VOICED, { detail: { parts: write(parts) } }));
    tell(this, "voiced");
  }
}

customElements.define("timbre-part-list", PartList);

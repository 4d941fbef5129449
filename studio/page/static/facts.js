// <timbre-facts>: what is known, line by line. data: {rows: [{label, value, note, state: "good" | "warn" | "bad"}],
// otherwise: what is said where there are none}.

import { make } from "./dom.js";

class Facts extends HTMLElement {
  set data(given) {
    const rows = (given?.rows ?? []).map(({ label, value, note, state }) => make("div", { class: "fact", "data-state": state },
      make("dt", {}, label), make("dd", {}, make("span", { class: "value" }, value), note ? make("span", { class: "note" }, note) : null)));
    this.replaceChildren(rows.length ? make("dl", {}, rows) : make("p", {}, given?.otherwise ?? ""));
  }
}

customElements.define("timbre-facts", Facts);

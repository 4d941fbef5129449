// <timbre-facts>: labelled values. data: {rows: [{label, value, note, state: "good" | "warn" | "bad", is_name, is_command:
// whether the value, or the note, is not ours to translate}], otherwise: text shown without rows}.

import { make } from "./dom.js";

class Facts extends HTMLElement {
  /** @param {import("./types").FactsData | null} given */
  set data(given) {
    const rows = (given?.rows ?? []).map(({ label, value, note, state, is_name: isName, is_command: isCommand }) => make("div", { class: "fact", "data-state": state },
      make("dt", {}, label), make("dd", {}, make("span", { class: "value", translate: isName ? "no" : null }, value), note ? make(isCommand ? "code" : "span", { class: "note", translate: isCommand ? "no" : null }, note) : null)));
    this.replaceChildren(rows.length ? make("dl", {}, rows) : make("p", {}, given?.otherwise ?? ""));
  }
}

customElements.define("timbre-facts", Facts);

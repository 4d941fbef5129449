// <timbre-help>: the one "?" of the page. Help texts under the controls (gradio's .info-text, our .help-text) are hidden
// until it is pressed, and with them the way to the lessons. The key ? does the same.

import { Listener, make } from "./dom.js";
import { tr } from "./texts.js";

class Help extends Listener {
  #button = make("button", { type: "button", "aria-expanded": "false", "aria-label": tr("Help"), title: tr("Explain the controls (?)"), onclick: () => this.#toggle() }, "?");

  connectedCallback() {
    super.connectedCallback();
    this.replaceChildren(this.#button, make("a", { class: "lessons", href: "learn/", target: "timbre-lessons" }, tr("Lessons")));
  }

  #toggle() {
    this.#button.setAttribute("aria-expanded", document.body.classList.toggle("help"));
  }

  #key = (event) => {
    if (event.key !== "?" || event.target.matches?.("input, textarea, select, [contenteditable]")) return;
    event.preventDefault();
    this.#toggle();
  };

  heard = [[document, "keydown", this.#key]];
}

customElements.define("timbre-help", Help);

// <timbre-sheet>: opens and closes the inspector of the Convert tab where there is no room for it beside the timeline.

import { Listener, make } from "./dom.js";
import { tr } from "./texts.js";

class Sheet extends Listener {
  #button = make("button", { type: "button", "aria-expanded": "false", "aria-controls": "convert-inspector", onclick: () => this.#show(this.#button.ariaExpanded === "false") }, tr("Adjust"));

  connectedCallback() {
    super.connectedCallback();
    this.replaceChildren(this.#button);
  }

  set data(given) {} // it needs none

  #show(isOpen) {
    this.#button.ariaExpanded = String(isOpen);
    document.querySelector("#convert").toggleAttribute("data-adjusts", isOpen);
  }

  #key = (event) => event.key === "Escape" && this.#button.ariaExpanded === "true" && this.#show(false);

  heard = [[document, "keydown", this.#key]];
}

customElements.define("timbre-sheet", Sheet);

// <timbre-command>: lines for a terminal, to be copied. data: {what, command, otherwise}; "{origin}" in the command is
// where this page was loaded from. Without a command `otherwise` is said.

import { copyButton } from "./copying.js";
import { make } from "./dom.js";

class Command extends HTMLElement {
  set data(given) {
    const command = given?.command?.replaceAll("{origin}", location.origin);
    if (!command) return this.replaceChildren(make("p", {}, given?.otherwise ?? ""));
    this.replaceChildren(make("p", {}, given.what), make("pre", { tabindex: "0", "aria-label": "Lines for a terminal" }, make("code", {}, command)), copyButton(command));
  }
}

customElements.define("timbre-command", Command);

// <timbre-command>: terminal commands to copy. data: {what, command, otherwise}; "{origin}" in the command stands for
// the address of this page. Without a command, `otherwise` is shown.

import { copyButton } from "./copying.js";
import { make } from "./dom.js";
import { tr } from "./texts.js";

class Command extends HTMLElement {
  set data(given) {
    const command = given?.command?.replaceAll("{origin}", location.origin);
    this.replaceChildren(...(command ? [
      make("p", {}, given.what), make("pre", { tabindex: "0", "aria-label": tr("Terminal commands") }, make("code", {}, command)), copyButton(command),
    ] : [make("p", {}, given?.otherwise ?? "")]));
  }
}

customElements.define("timbre-command", Command);

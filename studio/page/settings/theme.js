// <timbre-theme>: light, dark or the system's theme; stored in this browser and applied as soon as the page loads.
// Gradio sets the class "dark" from the system alone, so another choice is applied again whenever that changes.

import { make } from "./dom.js";
import { tr } from "./texts.js";

const KEY = "timbre-theme";
const CHOICES = { system: tr("System"), light: tr("Light"), dark: tr("Dark") };
const system = matchMedia("(prefers-color-scheme: dark)");

function chosen() {
  const kept = localStorage.getItem(KEY);
  return kept in CHOICES ? kept : "system";
}

function apply(choice) {
  const dark = choice === "dark" || (choice === "system" && system.matches);
  if (document.body.classList.contains("dark") !== dark) document.body.classList.toggle("dark", dark);
}

class Theme extends HTMLElement {
  set data(_) {
    const now = chosen();
    this.replaceChildren(make("fieldset", {}, make("legend", {}, tr("Theme")), Object.entries(CHOICES).map(([name, label]) =>
      make("label", {}, make("input", { class: "choice", type: "radio", name: KEY, value: name, checked: name === now, onchange: () => this.#choose(name) }), label))));
  }

  #choose(name) {
    try {
      localStorage.setItem(KEY, name);
    } catch {
      // there is no room for it: the choice lasts until the page is reloaded
    }
    apply(name);
  }
}

if (chosen() !== "system") apply(chosen());
new MutationObserver(() => { if (chosen() !== "system") apply(chosen()); }).observe(document.body, { attributes: true, attributeFilter: ["class"] });

customElements.define("timbre-theme", Theme);

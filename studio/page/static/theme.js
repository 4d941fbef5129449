// <timbre-theme>: light, dark, or as the system has it; kept in this browser, and in force from the first moment.
// Gradio sets the class "dark" by the system's wish alone: where something else was chosen here, that is put right.

import { make } from "./dom.js";

const KEY = "timbre-theme";
const CHOICES = { system: "As the system", light: "Light", dark: "Dark" };
const system = matchMedia("(prefers-color-scheme: dark)");

function chosen() {
  try {
    const kept = localStorage.getItem(KEY);
    return kept in CHOICES ? kept : "system";
  } catch {
    return "system"; // a browser that keeps nothing
  }
}

function apply(choice) {
  const dark = choice === "dark" || (choice === "system" && system.matches);
  if (document.body.classList.contains("dark") !== dark) document.body.classList.toggle("dark", dark);
}

class Theme extends HTMLElement {
  set data(_) {
    const now = chosen();
    this.replaceChildren(make("fieldset", {}, make("legend", {}, "Theme"), Object.entries(CHOICES).map(([name, label]) =>
      make("label", {}, make("input", { class: "choice", type: "radio", name: KEY, value: name, checked: name === now, onchange: () => this.#choose(name) }), label))));
  }

  #choose(name) {
    try {
      localStorage.setItem(KEY, name);
    } catch {
      // it holds until the page is left
    }
    apply(name);
  }
}

if (chosen() !== "system") apply(chosen());
new MutationObserver(() => { if (chosen() !== "system") apply(chosen()); }).observe(document.body, { attributes: true, attributeFilter: ["class"] });

customElements.define("timbre-theme", Theme);

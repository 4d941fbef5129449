// <timbre-returning>: not seen; tells `returned` {tab}, the name of the tab that is seen, when somebody comes back to
// this window from elsewhere: what it shows may have been changed in another one, or by a worker.

import { tell } from "./dom.js";

const AWAY_MS = 1000; // shorter than this nobody was anywhere
const SEEN = "#tabs [role=tab][aria-selected=true]"; // the first is of the page, others are within it

class Returning extends HTMLElement {
  #left = null; // when, where nobody is in this window

  connectedCallback() {
    window.addEventListener("blur", this.#leave);
    window.addEventListener("focus", this.#come);
    document.addEventListener("visibilitychange", this.#turn);
  }

  disconnectedCallback() {
    window.removeEventListener("blur", this.#leave);
    window.removeEventListener("focus", this.#come);
    document.removeEventListener("visibilitychange", this.#turn);
  }

  #leave = () => (this.#left ??= performance.now());

  #turn = () => (document.hidden ? this.#leave() : this.#come());

  #come = () => {
    const away = this.#left !== null && performance.now() - this.#left > AWAY_MS;
    this.#left = null;
    if (away) tell(this, "returned", { tab: document.querySelector(SEEN)?.textContent.trim() });
  };
}

customElements.define("timbre-returning", Returning);

// <timbre-returning>: invisible; sends `returned` {tab}, the id of the visible tab, when the visitor returns to this
// window: its contents may have changed in another window or through a worker.

import { Listener, tell } from "./dom.js";

const AWAY_MS = 1000; // shorter absences do not count
const SEEN = "#tabs [role=tab][aria-selected=true]"; // the first match is the page's, others are inside it

class Returning extends Listener {
  #left = null; // the time of leaving, while away

  #leave = () => (this.#left ??= performance.now());

  #turn = () => (document.hidden ? this.#leave() : this.#come());

  #come = () => {
    const away = this.#left !== null && performance.now() - this.#left > AWAY_MS;
    this.#left = null;
    if (away) tell(this, "returned", { tab: document.querySelector(SEEN)?.dataset.tabId });
  };

  heard = [[window, "blur", this.#leave], [window, "focus", this.#come], [document, "visibilitychange", this.#turn]];
}

customElements.define("timbre-returning", Returning);

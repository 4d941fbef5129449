// <timbre-address>: not seen; keeps the tab that is seen in the page's address, as #history, so that Back and Forward go
// through the tabs, and a link and a reload lead to one.
// data: {tabs: {id: label}}, the first of which needs no word in the address.

const PAGE = "#tabs .tab-wrapper"; // the first is of the page's tabs, others are within one

class Address extends HTMLElement {
  #tabs = null;
  #seen = null;
  #watching = new MutationObserver(() => this.#note());

  set data({ tabs }) {
    const selected = this.#selected();
    // it may be here before the tabs are
    if (!selected) return void requestAnimationFrame(() => this.isConnected && (this.data = { tabs }));
    const begins = this.#tabs === null;
    this.#tabs = tabs;
    if (begins) this.#begin(selected);
  }

  disconnectedCallback() {
    this.#watching.disconnect();
    window.removeEventListener("popstate", this.#show);
    this.#tabs = null;
  }

  #begin(selected) {
    const changes = { subtree: true, childList: true, attributes: true, attributeFilter: ["aria-selected"] };
    this.#watching.observe(document.querySelector(PAGE), changes);
    window.addEventListener("popstate", this.#show);
    this.#seen = this.#first;
    if (selected === this.#seen) this.#show();
    else this.#note(); // somebody was quicker than this
  }

  #selected() {
    return document.querySelector(`${PAGE} [role=tab][aria-selected=true]`)?.dataset.tabId;
  }

  #wanted() {
    return location.hash.slice(1) || this.#first;
  }

  get #first() {
    return Object.keys(this.#tabs)[0];
  }

  /** The tab that the address asks for; where there is no room for all, some are in a menu. */
  #show = () => {
    const tab = this.#wanted();
    if (tab === this.#seen) return;
    const label = this.#tabs[tab];
    const offered = document.querySelector(PAGE).querySelectorAll("[role=tab], .overflow-dropdown button");
    [...offered].find((one) => one.textContent.trim() === label)?.click();
  };

  #note() {
    const selected = this.#selected();
    if (!selected || selected === this.#seen) return;
    this.#seen = selected;
    if (selected !== this.#wanted()) history.pushState(null, "", `#${selected}`);
  }
}

customElements.define("timbre-address", Address);

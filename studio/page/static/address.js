// <timbre-address>: invisible; keeps the visible tab in the page's address, as #history, so that Back, Forward, links
// and reloads lead to tabs.
// data: {tabs: [id]}; the first tab has the plain address.

const PAGE = "#tabs .tab-wrapper"; // the first match is the page's, others are inside it

class Address extends HTMLElement {
  #tabs = null;
  #seen = null;
  #watching = new MutationObserver(() => this.#note());

  set data({ tabs }) {
    const selected = this.#selected();
    if (selected) {
      const begins = this.#tabs === null;
      this.#tabs = tabs;
      if (begins) this.#begin(selected);
    } else requestAnimationFrame(() => this.isConnected && (this.data = { tabs })); // the tabs are not there yet
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
    else this.#note(); // a tab was chosen meanwhile
  }

  #selected() {
    return document.querySelector(`${PAGE} [role=tab][aria-selected=true]`)?.dataset.tabId;
  }

  #wanted() {
    return location.hash.slice(1) || this.#first;
  }

  get #first() {
    return this.#tabs[0];
  }

  /** Show the tab in the address; on narrow screens some tabs are in a menu. */
  #show = () => {
    const tab = this.#wanted();
    if (tab === this.#seen) return;
    const beside = [...document.querySelectorAll(`${PAGE} [role=tab]`)].map((one) => one.dataset.tabId);
    const inMenu = this.#tabs.filter((one) => !beside.includes(one)).indexOf(tab);
    const chosen = inMenu < 0
      ? document.querySelector(`${PAGE} [role=tab][data-tab-id="${CSS.escape(tab)}"]`)
      : document.querySelectorAll(`${PAGE} .overflow-dropdown button`)[inMenu];
    chosen?.click();
  };

  #note() {
    const selected = this.#selected();
    if (!selected || selected === this.#seen) return;
    this.#seen = selected;
    if (selected !== this.#wanted()) history.pushState(null, "", `#${selected}`);
  }
}

customElements.define("timbre-address", Address);

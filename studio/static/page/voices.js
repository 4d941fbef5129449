customElements.define("timbre-voices", class extends HTMLElement { set data(shown) { this.textContent = shown ? JSON.stringify(shown) : ""; } });

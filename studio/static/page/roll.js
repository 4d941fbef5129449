customElements.define("timbre-roll", class extends HTMLElement { set data(shown) { this.textContent = shown ? JSON.stringify(shown) : ""; } });

customElements.define("timbre-player", class extends HTMLElement { set data(shown) { this.textContent = shown ? JSON.stringify(shown) : ""; } });

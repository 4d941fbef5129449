// <timbre-voice>: one voice, as its card says. data: {name, state, demo, kind: [words], description, traits,
// facts: [{label, value}], blend: {share, voices: [{name}]} or null}.

import { make } from "./dom.js";

class VoiceHead extends HTMLElement {
  set data(voice) {
    if (!voice) return this.replaceChildren();
    const badge = voice.badge ? make("span", { class: "badge", "data-state": voice.state }, voice.badge) : null;
    const title = make("div", { class: "title" }, make("h2", {}, voice.name), badge);
    const kind = voice.kind.length ? make("p", { class: "kind" }, voice.kind.join(" · ")) : null;
    const description = voice.description ? make("p", { class: "description" }, voice.description) : null;
    const traits = make("ul", { class: "traits", "aria-label": "Traits" }, voice.traits.map((trait) => make("li", {}, trait)));
    this.replaceChildren(...[title, kind, description, voice.traits.length ? traits : null].filter(Boolean));
  }
}

customElements.define("timbre-voice", VoiceHead);

// <timbre-download>: a file that the page was asked for. data: {url, name, at}. It is fetched at once, and a link stays.
class Download extends HTMLElement {
  #fetched = null;

  set data(file) {
    if (!file) return this.replaceChildren();
    const link = make("a", { href: file.url, download: file.name }, file.name);
    this.replaceChildren(make("p", { role: "status" }, "Your browser is fetching ", link, "."));
    if (this.#fetched !== file.url) link.click();
    this.#fetched = file.url;
  }
}

customElements.define("timbre-download", Download);

// <timbre-voice>: the heading of a voice. data: {name, avatar, state, badge, demo, kind: [words], description, uses, traits}.

import { avatar } from "./avatar.js";
import { make, row } from "./dom.js";
import { tr } from "./texts.js";

class VoiceHead extends HTMLElement {
  /** @param {import("./types").VoiceHead | null} voice */
  set data(voice) {
    this.replaceChildren(...(voice ? this.#parts(voice) : []));
  }

  #parts(voice) {
    const badge = voice.badge ? make("span", { class: "badge", "data-state": voice.state }, voice.badge) : null;
    const title = make("div", { class: "title" }, avatar(voice.avatar), make("h2", { translate: "no" }, voice.name), badge);
    const kind = voice.kind.length ? make("p", { class: "kind" }, row(voice.kind.map((one) => tr(one)), " · ")) : null;
    const description = voice.description ? make("p", { class: "description", translate: voice.demo ? null : "no" }, voice.demo ? tr(voice.description) : voice.description) : null;
    const good = voice.uses?.length ? make("p", { class: "uses" }, row(voice.uses, " · ")) : null;
    const traits = make("ul", { class: "traits", "aria-label": tr("Traits") }, voice.traits.map((trait) => make("li", {}, tr(trait))));
    return [title, kind, good, description, voice.traits.length ? traits : null].filter(Boolean);
  }
}

customElements.define("timbre-voice", VoiceHead);

// <timbre-download>: a requested file, downloaded at once; a link remains for a while. data: {url, name}.
const LINK_MS = 20_000;

class Download extends HTMLElement {
  #fetched = null;
  #ends = 0;

  set data(file) {
    clearTimeout(this.#ends);
    this.replaceChildren();
    if (file) {
      const link = make("a", { href: file.url, download: file.name, translate: "no" }, file.name);
      this.append(make("p", { role: "status" }, tr("Downloading:"), " ", link));
      if (this.#fetched !== file.url) link.click();
      this.#fetched = file.url;
      this.#ends = setTimeout(() => this.replaceChildren(), LINK_MS);
    }
  }
}

customElements.define("timbre-download", Download);

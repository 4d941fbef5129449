// <timbre-tokens>: the tokens of an account, which can be revoked, and a new one, which is shown once.
//
// data: {made: {name, secret} or null, tokens: [{id, name, state, created_s, expires_s, used_s}], warning: text}.
// Sends `revoke` {id}, once confirmed, and `noted` {} when the new token has been copied.

import { copyButton } from "./copying.js";
import { make, tell, when, wholeTime } from "./dom.js";
import { tr } from "./texts.js";

const WORDS = { valid: tr("valid"), expired: tr("expired"), revoked: tr("revoked") };

class Tokens extends HTMLElement {
  #asked = null; // the id of the token to confirm revoking
  /** @type {import("./types").TokensData} */
  #data = null;

  /** @param {import("./types").TokensData | null} given */
  set data(given) {
    this.#data = given;
    this.#asked = null;
    this.#show();
  }

  #show() {
    const { made, tokens } = this.#data ?? { tokens: [] };
    const live = tokens.filter((token) => token.state === "valid"), over = tokens.filter((token) => token.state !== "valid");
    this.replaceChildren(...[
      made ? this.#made(made) : null,
      live.length ? this.#table(live, true) : make("p", { class: "none" }, tr("No valid tokens.")),
      over.length ? make("details", {}, make("summary", {}, tr("No longer valid ({length})", { length: over.length })), this.#table(over, false)) : null,
    ].filter(Boolean));
  }

  #made({ name, secret }) {
    const shown = make("input", { type: "text", readonly: true, value: secret, spellcheck: "false", autocomplete: "off", "aria-label": tr("New token {name}", { name }),
      onfocus: (event) => event.target.select() });
    return make("div", { class: "made", role: "group", "aria-label": tr("New token") },
      make("p", {}, tr("Copy your new token now: it is shown only once. Keep it secret, like a password.")),
      make("div", { class: "row" }, shown, copyButton(secret),
        make("button", { type: "button", class: "plain", onclick: () => tell(this, "noted", {}) }, tr("Done"))));
  }

  #table(tokens, canRevoke) {
    const head = [tr("Name"), tr("Created"), tr("Expires"), tr("Last used"), ""].map((title) => make("th", { scope: "col" }, title || make("span", { class: "unseen" }, tr("Revoke"))));
    const rows = tokens.map((token) => make("tr", { "data-state": token.state },
      make("td", { class: "name", translate: "no" }, token.name), time(token.created_s), time(token.expires_s, tr("never")), time(token.used_s, tr("never"), tr("last used")),
      make("td", {}, canRevoke ? this.#revoking(token) : make("span", {}, WORDS[token.state]))));
    return make("table", { class: "list" }, make("thead", {}, make("tr", {}, head)), make("tbody", {}, rows));
  }

  #revoking(token) {
    if (this.#asked !== token.id) {
      return make("button", { type: "button", class: "plain", "aria-label": tr("Revoke {name}", { name: token.name }), onclick: () => this.#ask(token.id) }, tr("Revoke"));
    }
    return make("span", { class: "question" }, make("span", {}, this.#data.warning ?? tr("Programs that use it lose access at once.")),
      make("button", { type: "button", class: "plain sure", onclick: () => tell(this, "revoke", { id: token.id }) }, tr("Revoke {name}", { name: token.name })),
      make("button", { type: "button", class: "plain keep", onclick: () => this.#ask(null) }, tr("Cancel")));
  }

  #ask(id) {
    this.#asked = id;
    this.#show();
    this.querySelector(".keep")?.focus();
  }
}

function time(seconds, otherwise = "", label = null) {
  if (seconds === null || seconds === undefined) return make("td", { "data-label": label }, otherwise);
  const time = make("time", { datetime: new Date(1000 * seconds).toISOString(), title: wholeTime(seconds) }, when(seconds));
  return make("td", { "data-label": label }, time);
}

customElements.define("timbre-tokens", Tokens);

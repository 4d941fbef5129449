// <timbre-language>: the language of the page: the browser's, or one that this browser keeps. Another one reloads the page.

import { make } from "./dom.js";
import { tr } from "./texts.js";

const KEY = "timbre-language", COOKIE = "timbre_language"; // the cookie tells it to the server
const YEAR_S = 365 * 24 * 3600;

class Language extends HTMLElement {
  set data(_) {
    const { known, choice } = globalThis.timbreLanguage;
    const options = known.map(([code, name]) => make("option", { value: code, lang: code, translate: "no", selected: code === choice }, name));
    this.replaceChildren(make("label", {}, make("span", {}, tr("Language")),
      make("select", { onchange: (event) => choose(event.target.value) }, make("option", { value: "" }, tr("Browser's language")), options)));
  }
}

function choose(code) {
  try {
    if (code) localStorage.setItem(KEY, code);
    else localStorage.removeItem(KEY);
  } catch {
    // the choice is kept by the cookie alone
  }
  document.cookie = `${COOKIE}=${code}; Path=/; SameSite=Lax; Max-Age=${code ? YEAR_S : 0}`;
  location.reload();
}

customElements.define("timbre-language", Language);

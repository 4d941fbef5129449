// A button that copies a text, even where the browser denies scripts the clipboard (a page without https).

import { make } from "./dom.js";
import { tr } from "./texts.js";

export function copyButton(text, label = tr("Copy")) {
  const button = make("button", { type: "button", class: "plain copy", onclick: async () => {
    const done = await copied(text);
    button.textContent = done ? tr("Copied") : tr("Select the text and press Ctrl+C");
    setTimeout(() => { button.textContent = label; }, 2500);
  } }, label);
  button.setAttribute("aria-live", "polite");
  return button;
}

async function copied(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const place = make("textarea", { class: "copying", "aria-hidden": "true" });
    place.value = text;
    document.body.append(place);
    place.select();
    const done = document.execCommand("copy");
    place.remove();
    return done;
  }
}

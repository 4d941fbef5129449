// Buttons of a roll's toolbar, and its view as a file.

import { make } from "./dom.js";

export function tool(label, attributes, act) {
  return make("button", { class: "roll-tool", type: "button", "data-tool": label, onclick: act, ...said(attributes) }, label);
}

/** Attributes whose "false" is said, as aria- ones are. */
function said(attributes) {
  return Object.fromEntries(Object.entries(attributes).map(([name, value]) => [name, String(value)]));
}

export function toggle(label, isOn, title, change) {
  const made = tool(label, { "aria-pressed": isOn, ...(title ? { title } : {}) }, () => {
    const now = made.getAttribute("aria-pressed") !== "true";
    made.setAttribute("aria-pressed", now);
    change(now);
  });
  return made;
}

/** Download these canvases, one over the other, as a PNG file. */
export function savePicture(canvases, ground, name) {
  const { width, height } = canvases[0];
  const whole = new OffscreenCanvas(width, height);
  const context = whole.getContext("2d");
  context.fillStyle = ground;
  context.fillRect(0, 0, width, height);
  for (const canvas of canvases) context.drawImage(canvas, 0, 0);
  whole.convertToBlob({ type: "image/png" }).then((blob) => {
    const href = URL.createObjectURL(blob);
    make("a", { href, download: name }).click();
    setTimeout(() => URL.revokeObjectURL(href), 10_000);
  });
}

// Making elements: text from users stays text.

import { tr } from "./texts.js";

const SVG = new Set(["svg", "g", "path", "line", "circle", "rect", "text", "title", "polyline"]);

// An element with attributes ("class", "aria-..."; on*: listeners; null or false: none) and children (nodes or texts).
export function make(tag, attributes = {}, ...children) {
  const made = SVG.has(tag) ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value !== null && value !== undefined && value !== false) made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return made;
}

// Texts in a row, each of which is translated by itself.
export function row(texts, between = ", ") {
  return texts.filter(Boolean).flatMap((text, place) => (place ? [between, text] : [text]));
}

// A text with names of users in it, which are not translated.
export function named(text, names = []) {
  const cut = (part, name) => {
    const place = typeof part === "string" ? part.indexOf(name) : -1;
    if (place < 0) return [part];
    return [part.slice(0, place), make("span", { translate: "no" }, name), part.slice(place + name.length)];
  };
  return names.filter(Boolean).reduce((parts, name) => parts.flatMap((part) => cut(part, name)), [text]);
}

// A picture: the `d` of an SVG path in a box of 24 by 24.
export function icon(shape) {
  return make("svg", { class: "icon", viewBox: "0 0 24 24", "aria-hidden": "true" }, make("path", { d: shape }));
}

// A button with a picture.
export function iconButton(name, shape, label, act) {
  return make("button", { type: "button", class: name, "aria-label": label, title: label, onclick: act }, icon(shape));
}

// Capture the pointer that is down on a node: call `to(event)` for every movement, and `drop()` at the end.
export function drag(event, node, to, drop = () => {}) {
  const end = () => {
    node.removeEventListener("pointermove", to);
    drop();
  };
  node.setPointerCapture(event.pointerId);
  node.addEventListener("pointermove", to);
  node.addEventListener("lostpointercapture", end, { once: true });
}

// An element that listens while it is in the page, to `heard`: [[target, event's name, listener]].
export class Listener extends HTMLElement {
  heard = [];

  connectedCallback() {
    for (const [target, name, listener] of this.heard) target.addEventListener(name, listener);
  }

  disconnectedCallback() {
    for (const [target, name, listener] of this.heard) target.removeEventListener(name, listener);
  }
}

let isPointed = false; // whether the focus came by a press, and not by the keyboard
document.addEventListener("pointerdown", () => { isPointed = true; }, true);
document.addEventListener("keydown", ({ key }) => { if (key === "Tab") isPointed = false; }, true);

// Whether a key means something to the control that it is pressed on: where one types, and to a box or a list that the
// Tab key reached. On all else the space bar plays; Enter presses it. With Ctrl only where one types.
export function isTyped(key, on, isCommand = false) {
  if (on.matches("textarea, [contenteditable], input:not([type=range], [type=radio], [type=checkbox], [type=button])")) return true;
  return on.matches("select, input[type=checkbox]") && !isCommand && !(key === " " && isPointed);
}

// Send an event of an element to the page.
export function tell(element, name, detail) {
  element.dispatchEvent(new CustomEvent(`tell-${name}`, { detail }));
}

// Write a time (seconds since 1970) briefly: "12:03", "yesterday, 18:20", "3 Mar, 18:20".
export function when(seconds) {
  const time = new Date(seconds * 1000), today = new Date(), clockParts = /** @type {const} */ ({ hour: "2-digit", minute: "2-digit" });
  const clock = time.toLocaleTimeString(navigator.language, clockParts);
  const days = Math.round((Date.parse(today.toDateString()) - Date.parse(time.toDateString())) / 86_400_000);
  if (days === 0) return clock;
  if (days === 1) return tr("yesterday, {clock}", { clock });
  const year = time.getFullYear() === today.getFullYear() ? {} : /** @type {const} */ ({ year: "numeric" });
  return time.toLocaleString(navigator.language, { day: "numeric", month: "short", ...year, ...clockParts });
}

export function wholeTime(seconds) {
  return new Date(seconds * 1000).toLocaleString(navigator.language, { dateStyle: "full", timeStyle: "medium" });
}

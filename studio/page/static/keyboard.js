// What gradio's own parts lack for the keyboard and for screen readers: a row of tabs, or of buttons, is one stop of the
// Tab key with arrow keys inside; sliders are one stop, their number; names agree with what is written.

import { make } from "./dom.js";
import { tr } from "./texts.js";

const ROW = "#tabs [role=tablist], .samples:not(#convert *), #convert-more-voices, #convert-top, #convert-after, .transport, timbre-instrument .again, " +
  "timbre-instrument .view, #tabs fieldset:has(input[type=radio])";
const STEPS = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };
// gradio's second way to the same: the slider beside its number
const SECOND = "#tabs input[type=range], #tabs .reset-button";
// what it names in English only
const NAMED = { "Reset to default value": tr("Reset to default value") };
const OF_SLIDERS = { "number input for ": (label) => tr("number input for {label}", { label }), "range slider for ": (label) => tr("range slider for {label}", { label }) };
const LATER_MS = 100; // for all changes of a moment together

const isSeen = (one) => one.offsetParent !== null && getComputedStyle(one).visibility === "visible";
const itemsOf = (row) => [...row.querySelectorAll("button, a[href], input[type=radio]")].filter(isSeen);

document.addEventListener("keydown", (event) => {
  const row = event.target.closest?.(ROW);
  if (!row || event.ctrlKey || event.altKey || event.metaKey) return;
  const items = itemsOf(row), at = items.indexOf(event.target);
  const to = event.key in STEPS ? (at + STEPS[event.key] + items.length) % items.length : { Home: 0, End: items.length - 1 }[event.key];
  if (at < 0 || to === undefined) return;
  event.preventDefault();
  if (items[to].type === "radio" || items[to].role === "tab") items[to].click();
  mend(row, items[to]);
  items[to].focus();
});

/** Ctrl+Enter converts, wherever one is in the Convert tab. */
document.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey) || event.repeat) return;
  const convert = [...document.querySelectorAll("#convert-go button")].find(isSeen);
  if (!convert) return;
  event.preventDefault();
  convert.click();
});

/** What a fold shows is in sight once it is open. */
document.addEventListener("click", ({ target }) => {
  const fold = target.closest?.(".label-wrap")?.closest(".gr-accordion");
  if (fold) setTimeout(() => fold.scrollIntoView({ block: "nearest" }), LATER_MS);
});

function mend(row, current) {
  const items = itemsOf(row);
  const reached = current ?? items.find((one) => one.ariaSelected === "true" || one.checked) ?? items.find((one) => one.tabIndex === 0) ?? items[0];
  for (const one of items) one.tabIndex = one === reached ? 0 : -1;
}

function mendAll() {
  for (const row of document.querySelectorAll(ROW)) mend(row);
  for (const one of document.querySelectorAll(SECOND)) one.tabIndex = -1;
  for (const [english, text] of Object.entries(NAMED)) for (const one of document.querySelectorAll(`[aria-label="${english}"]`)) one.ariaLabel = text;
  for (const [english, named] of Object.entries(OF_SLIDERS)) {
    for (const one of document.querySelectorAll(`[aria-label^="${english}"]`)) {
      const text = named(one.ariaLabel.slice(english.length));
      if (one.ariaLabel !== text) one.ariaLabel = text;
    }
  }
  for (const one of document.querySelectorAll("button[aria-label]:has(.wrap .or)")) one.removeAttribute("aria-label");
  for (const one of document.querySelectorAll(".notice [role=alert]:not([data-seen])")) {
    if (!isSeen(one)) continue;
    one.dataset.seen = "";
    one.closest(".notice").scrollIntoView({ block: "nearest" }); // an error is in sight
  }
  if (!document.querySelector(".skip") && document.querySelector("#tabs")) {
    document.body.prepend(make("button", { type: "button", class: "skip", onclick: skip }, tr("Skip to the content")));
  }
}

/** Focus the first control of the tab that is shown. */
function skip() {
  const panel = [...document.querySelectorAll("#tabs > [role=tabpanel], #tabs .tabitem")].find(isSeen);
  const places = panel?.querySelectorAll("button, input, select, textarea, a[href], [tabindex='0']") ?? [];
  [...places].find((one) => isSeen(one) && one.tabIndex >= 0 && !one.disabled)?.focus();
}

let waits = 0;
const watching = new MutationObserver(() => {
  waits ||= setTimeout(() => { waits = 0; mendAll(); }, LATER_MS); // also while something changes all the time
});
watching.observe(document.body, { subtree: true, childList: true, attributes: true, attributeFilter: ["aria-selected"] });
mendAll();

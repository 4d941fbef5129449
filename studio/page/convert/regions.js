// The stretches of a vocal that are sung by other voices than the chosen one: as they are written in the field of the page
// ("1:42 koguchi, 2:10 chosen"), drawn on the vocal's lane, and changed there.

import { make } from "./dom.js";
import { clock, outlined } from "./roll-drawing.js";
import { tr } from "./texts.js";

export const CHOSEN = "chosen", KEEP = "keep"; // instead of a voice: the one that is chosen; as the recording is
export const VOICED = "timbre-voiced"; // on the document: {parts}, that were drawn or chosen
const SHORTEST_S = 1; // as engine/songs/parts.py has it
const ITEM = /^(?:from\s+)?(?:([0-9][0-9:.]*)\s+)?([^\s,;]+)$/i;
export const voices = () => document.querySelector("#convert-voices timbre-voices")?.data?.voices ?? [];

/** Return the parts that are written: [{start, voice}], in order; what is no part is left out. */
export function read(text) {
  const parts = text.split(/[,;\n]/).map((one) => ITEM.exec(one.trim())).filter(Boolean);
  return parts.map(([, time, voice]) => ({ start: secondsOf(time ?? "0"), voice })).sort((one, other) => one.start - other.start);
}

export function write(parts) {
  return parts.map(({ start, voice }) => `${clock(start, 2).replace(/\.?0+$/, "")} ${voice}`).join(", ");
}

/** Give the seconds from `start` to `end` of `parts` to a voice. */
export function painted(parts, start, end, voice) {
  const stop = Math.max(end, start + SHORTEST_S), after = parts.findLast((one) => one.start <= stop)?.voice ?? CHOSEN;
  const all = [
    ...parts.filter((one) => one.start <= start - SHORTEST_S), { start, voice }, { start: stop, voice: after },
    ...parts.filter((one) => one.start >= stop + SHORTEST_S),
  ];
  return all.filter(({ voice: now }, place) => now !== (all[place - 1]?.voice ?? CHOSEN));
}

/** Return the stretches that are not in the chosen voice: [{start, end, voice}]. */
export function regionsOf(parts, duration) {
  return parts.map(({ start, voice }, place) => ({ start, end: parts[place + 1]?.start ?? duration, voice })).filter(({ voice }) => voice !== CHOSEN);
}

export function drawRegion(context, plot, box, { start, end, voice }, colours) {
  const [left, right] = [plot.x(start), plot.x(end)].map((x) => Math.min(Math.max(x, box.x), box.x + box.width));
  if (right <= left) return;
  const { name, avatar } = voices().find(({ id }) => id === voice) ?? {}, colour = avatar?.colour ?? colours.pale;
  context.save();
  context.fillStyle = context.strokeStyle = colour;
  context.beginPath();
  context.roundRect(left + 1, box.y + 1, right - left - 2, box.height - 2, 5);
  context.globalAlpha = 0.25;
  context.fill();
  context.globalAlpha = 1;
  context.stroke();
  context.font = `600 11px ${colours.font}`;
  context.textBaseline = "top";
  context.beginPath();
  context.rect(left, box.y, right - left, box.height);
  context.clip();
  outlined(context, name ?? (voice === KEEP ? tr("Original voice") : voice ?? ""), left + 6, box.y + 4, colours.ink, colours);
  context.restore();
}

/** Return a menu of voices; chosen(voice): called with an id, "keep" or "chosen". `avatar` draws their pictures. */
export function voiceMenu(chosen, avatar) {
  const offer = (voice, label, face = null) => make("button", { type: "button", role: "menuitem", title: label, onclick: () => chosen(voice) }, face, make("span", { translate: face ? "no" : null }, label));
  const made = make("div", { class: "voice-menu", role: "menu", "aria-label": tr("Voice of this part") },
    voices().map(({ id, name, avatar: data }) => offer(id, name, avatar(data, "face"))), offer(KEEP, tr("Original voice")), offer(CHOSEN, tr("The chosen voice")));
  const pressed = ({ target }) => made.contains(target) || (document.removeEventListener("pointerdown", pressed), made.isConnected && chosen(null));
  document.addEventListener("pointerdown", pressed);
  made.addEventListener("keydown", (event) => {
    const items = [...made.children], step = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 }[event.key];
    event.stopPropagation();
    if (event.key === "Escape") chosen(null);
    if (!step) return;
    event.preventDefault();
    items[(items.indexOf(document.activeElement) + step + items.length) % items.length].focus();
  });
  return made;
}

function secondsOf(time) {
  return time.split(":").reduce((sum, part) => 60 * sum + Number(part), 0);
}

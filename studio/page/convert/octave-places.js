// Places of a take whose pitch is probably an octave off: marked in the pitch editor's picture until they are corrected.

import { noteName, outlined, toMidi } from "./roll-drawing.js";
import { tr } from "./texts.js";

const CORRECTED = 6; // semitones towards the other octave
const COLOUR = { light: "#a15c00", dark: "#f0a93c" };
const BADGE = 18; // height of a mark, above the curve

/** Return the places that are still an octave off: of all found ones, those whose curve did not move since. */
export function openPlaces(found, before, now, step_s) {
  return found.filter((one) => {
    const middle = Math.round((one.start_s + one.end_s) / 2 / step_s);
    return one.by * (toMidi(now[middle]) - toMidi(before[middle])) < CORRECTED;
  });
}

/** Return the box of a place's mark in the picture. */
function boxOf(plot, place, now, step_s) {
  const curve = now.slice(Math.round(place.start_s / step_s), Math.max(Math.round(place.end_s / step_s), Math.round(place.start_s / step_s) + 1));
  const [top, bottom] = [plot.y(Math.max(...curve)), plot.y(Math.min(...curve))], left = plot.x(place.start_s), right = plot.x(place.end_s);
  const wider = Math.max(0, 24 - (right - left)) / 2;
  return { left: left - wider, right: right + wider, top: top - BADGE - 6, bottom: bottom + 8 };
}

/** Return the place whose mark is at x and y, or undefined. */
export function placeAt(plot, places, now, step_s, { x, y }) {
  return places.find((one) => {
    const { left, right, top, bottom } = boxOf(plot, one, now, step_s);
    return x >= left && x <= right && y >= top && y <= bottom;
  });
}

export function paintPlaces(context, plot, places, now, step_s, colours) {
  context.save();
  const colour = COLOUR[document.body.classList.contains("dark") ? "dark" : "light"];
  context.fillStyle = context.strokeStyle = colour;
  context.font = `600 12px ${colours.font}`;
  context.textAlign = "center";
  context.textBaseline = "middle";
  context.lineWidth = 1.5;
  for (const one of places) {
    const { left, right, top, bottom } = boxOf(plot, one, now, step_s);
    context.beginPath();
    context.roundRect(left, top, right - left, bottom - top, 5);
    context.globalAlpha = 0.14;
    context.fill();
    context.globalAlpha = 1;
    context.stroke();
    outlined(context, "8?", (left + right) / 2, top + BADGE / 2, colour, colours);
  }
  context.restore();
}

/** What a place is, in words. */
export function describe({ start_s, end_s, by }, now, step_s) {
  const midi = toMidi(now[Math.round((start_s + end_s) / 2 / step_s)]), given = { now: noteName(midi), other: noteName(midi + 12 * by) };
  return tr("{now}, probably {other}", given);
}

// The inputs of a microphone or an interface: which of them is taken, and whether it is the one that sounds.

import { tr } from "./texts.js";

export const MIX = "mix"; // of all inputs; else the number of one, from 1
// as engine/live/inputs.py has them
const SOUNDS_DB = -50; // mean level from which on somebody sings
const APART_DB = 25; // a silent input lies so far below the one that sounds: two microphones in a room do not
const AFTER_S = 1, MEMORY_S = 3; // of sound

/** Return the samples of the chosen input, or the mean of all. channels: a Float32Array of each input. */
export function picked(channels, choice) {
  if (choice !== MIX || channels.length === 1) return channels[choice - 1] ?? channels[0];
  const mean = new Float32Array(channels[0].length);
  for (const channel of channels) for (let i = 0; i < mean.length; i += 1) mean[i] += channel[i] / channels.length;
  return mean;
}

/** Return the mean square of samples. */
export function power(samples) {
  let sum = 0;
  for (const one of samples) sum += one * one;
  return sum / samples.length;
}

/** Which inputs sound. */
export class Sounding {
  #powers = [];
  #seconds = 0;

  /** Take the power of each input over some seconds. */
  take(powers, seconds) {
    if (powers.length !== this.#powers.length) [this.#powers, this.#seconds] = [powers.map(() => 0), 0];
    if (10 * Math.log10(Math.max(...powers)) < SOUNDS_DB) return;
    const share = Math.min(1, seconds / MEMORY_S);
    this.#powers = this.#powers.map((before, place) => before + share * (powers[place] - before));
    this.#seconds += seconds;
  }

  /** Return what is wrong with a choice, or "". */
  said(choice) {
    if (this.#seconds < AFTER_S) return "";
    const most = Math.max(...this.#powers), sounding = this.#powers.indexOf(most) + 1, silent = this.#powers.map((one) => one < most * 10 ** (-APART_DB / 10));
    if (silent[choice - 1]) return tr("Input {silent} is silent; your microphone is in input {sounding}: choose Input {sounding}.", { silent: choice, sounding });
    const isAlone = silent.length > 1 && silent.filter(Boolean).length === silent.length - 1;
    return choice === MIX && isAlone ? tr("Your microphone is in input {sounding}, and the mix with the silent inputs makes it softer: choose Input {sounding}.", { sounding }) : "";
  }
}

// Sounds that a player can start anywhere, and switch between without a gap.
//
// Short ones are decoded as a whole, so they start to the sample and their waveform is known. Long ones are streamed, so
// that an hour needs no more memory than a minute.

import { tr } from "./texts.js";

const FADE_S = 0.012; // short enough to go unheard, long enough not to click
export const COLUMNS = 500; // of a waveform
const LARGEST_BYTES = { wav: 120e6, flac: 40e6, other: 12e6 }; // of files that are decoded as a whole
const METERED = 1024; // samples of a meter
const WAVEFORM_STEP_S = 0.005;
const DECODED_RATE = 44100;

let shared = null;

/** The output of all sounds of the page. Made when something is first played, as browsers require a click first. */
export function output() {
  shared ??= new AudioContext({ latencyHint: "playback" });
  return shared;
}

/** Suspend the output while nothing plays, which saves the processor. */
export function rest() {
  shared?.suspend();
}

/** Return the sound at this address, once enough of it is there to play. Throws an Error with a sentence. */
export async function openSound(url, peaks) {
  const answer = await fetch(url);
  if (!answer.ok) throw new Error(tr("The recording could not be loaded. It was deleted or its link has expired: reload the page."));
  const size = Number(answer.headers.get("content-length") || 0);
  const kind = /\.(wav|flac)(\?|$)/i.exec(url)?.[1].toLowerCase() ?? "other";
  if (size > LARGEST_BYTES[kind]) {
    answer.body?.cancel();
    return new StreamedSound(await streamed(url), peaks);
  }
  const bytes = await answer.arrayBuffer();
  try {
    const buffer = await new OfflineAudioContext(1, 1, DECODED_RATE).decodeAudioData(bytes);
    return new DecodedSound(buffer, peaks ?? peaksOf(buffer));
  } catch {
    return new StreamedSound(await streamed(url), peaks); // browsers may play what they will not decode
  }
}

class DecodedSound {
  constructor(buffer, peaks) {
    this.buffer = buffer;
    this.peaks = peaks;
    this.duration = buffer.duration;
    this.playing = null;
    this.drawn = null;
    this.gain = 1;
    this.place = 0;
  }

  /** Its waveform as <timbre-roll> draws it. */
  get waveform() {
    return (this.drawn ??= waveformOf(this.buffer));
  }

  /** Play from `seconds`, or from wherever `other` is at the very moment this begins, `ahead` of it. Before its own
   * beginning it waits. */
  async start(seconds, other = null, ahead = 0) {
    const context = output();
    await context.resume();
    const at = context.currentTime + 0.01;
    const from = Math.min(other ? other.secondsAt(at) + ahead : seconds, this.duration);
    const source = new AudioBufferSourceNode(context, { buffer: this.buffer });
    const gain = new GainNode(context, { gain: 0 });
    gain.gain.setValueAtTime(0, at);
    gain.gain.linearRampToValueAtTime(this.gain, at + FADE_S);
    const analyser = new AnalyserNode(context, { fftSize: METERED });
    const field = new StereoField(context, this.place);
    source.connect(gain).connect(analyser).connect(field.input);
    source.start(at + Math.max(0, -from), Math.max(0, from));
    this.playing = { source, gain, analyser, field, at, from };
  }

  stop() {
    if (!this.playing) return;
    const { source, gain } = this.playing;
    const at = output().currentTime + 0.01;
    gain.gain.cancelScheduledValues(at);
    gain.gain.setValueAtTime(this.gain, at);
    gain.gain.linearRampToValueAtTime(0, at + FADE_S);
    source.stop(at + FADE_S);
    this.playing = null;
  }

  /** How loud it is heard; 1 as it is. */
  set level(level) {
    this.gain = level;
    this.playing?.gain.gain.setTargetAtTime(level, output().currentTime + FADE_S, FADE_S);
  }

  /** Where it is in the stereo field, -1 to 1. */
  set pan(pan) {
    this.place = pan;
    if (this.playing) this.playing.field.pan = pan;
  }

  get pan() {
    return this.place;
  }

  /** The largest value that is heard just now, 0..1. */
  get peak() {
    if (!this.playing) return 0;
    const samples = new Float32Array(METERED);
    this.playing.analyser.getFloatTimeDomainData(samples);
    return samples.reduce((peak, one) => Math.max(peak, Math.abs(one)), 0);
  }

  secondsAt(time) {
    return this.playing ? this.playing.from + Math.max(0, time - this.playing.at) : 0;
  }

  get seconds() {
    return Math.min(this.secondsAt(output().currentTime), this.duration);
  }
}

/** A place in the stereo field, of the same power everywhere, as engine/songs/mixing.py mixes it. */
class StereoField {
  input;
  #sides;

  constructor(context, pan) {
    this.input = new GainNode(context, { channelCount: 2, channelCountMode: "explicit" });
    const apart = new ChannelSplitterNode(context, { numberOfOutputs: 2 }), both = new ChannelMergerNode(context, { numberOfInputs: 2 });
    this.#sides = [0, 1].map((side) => {
      const gain = new GainNode(context);
      apart.connect(gain, side).connect(both, 0, side);
      return gain.gain;
    });
    this.input.connect(apart);
    both.connect(context.destination);
    this.pan = pan;
  }

  set pan(pan) {
    const angle = (Math.PI / 4) * (1 + pan);
    [Math.cos(angle), Math.sin(angle)].forEach((gain, side) => (this.#sides[side].value = Math.SQRT2 * gain));
  }
}

class StreamedSound {
  constructor(element, peaks) {
    this.element = element;
    this.peaks = peaks ?? null;
    this.gain = 1;
    this.pan = 0; // it stays in the middle
  }

  get duration() {
    return this.element.duration;
  }

  async start(seconds, other = null, ahead = 0) {
    this.element.volume = 0;
    this.element.currentTime = Math.max(0, other ? other.seconds + ahead : seconds);
    await this.element.play();
    if (other) this.element.currentTime = Math.max(0, other.seconds + ahead + 0.02); // it took a moment to begin
    this.element.volume = this.gain;
  }

  stop() {
    this.element.pause();
  }

  /** How loud it is heard: no louder than it is. */
  set level(level) {
    this.gain = Math.min(1, level);
    if (!this.element.paused) this.element.volume = this.gain;
  }

  secondsAt() {
    return this.element.currentTime;
  }

  get seconds() {
    return this.element.currentTime;
  }
}

function streamed(url) {
  return new Promise((resolve, reject) => {
    const element = new Audio(url);
    element.preload = "metadata";
    element.onloadedmetadata = () => resolve(element);
    element.onerror = () => reject(new Error(tr("This browser cannot play this file type. Download it instead.")));
  });
}

/** The largest absolute value in each of `count` equal parts, all channels together. */
function peaksOf(buffer, count = COLUMNS) {
  const peaks = new Float32Array(count);
  for (let channel = 0; channel < buffer.numberOfChannels; channel++) {
    const samples = buffer.getChannelData(channel);
    for (let column = 0; column < count; column++) {
      const stop = Math.floor(((column + 1) * samples.length) / count);
      for (let i = Math.floor((column * samples.length) / count); i < stop; i++) {
        const level = Math.abs(samples[i]);
        if (level > peaks[column]) peaks[column] = level;
      }
    }
  }
  return peaks;
}

function waveformOf(buffer) {
  const count = Math.max(1, Math.ceil(buffer.duration / WAVEFORM_STEP_S));
  const high = peaksOf(buffer, count).map((peak) => 127 * peak);
  return { step_s: buffer.duration / count, high, low: high.map((one) => -one), most: high.reduce((most, one) => Math.max(most, one), 0) };
}

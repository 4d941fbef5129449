// A recording while it grows, and the WAV file it becomes: PCM of one input, as the microphone gave it.
//
// Samples wait in blobs, which the browser keeps outside the page and writes to its disk where they are many. All inputs
// are kept, so that one can be chosen until the end; of a large interface only what is chosen is.

import { MIX, picked } from "./inputs.js";

const PIECE_S = 5; // of a blob
const MOST_KEPT = 2; // inputs
const HEADER = 44; // bytes
const SHORT = 32_768, LONG = 8_388_608; // full scale in 16 and 24 bits

const isShort = (sample) => Number.isInteger(sample * SHORT);

export class Growing {
  #pieces = []; // {blob: channel after channel, count: of channels}
  #blocks = []; // since the last piece
  #waiting = 0; // samples of these
  #isShort = true; // as most microphones give: each sample is one of 16 bits
  frames = 0;
  rate = 0;

  get seconds() {
    return this.rate ? this.frames / this.rate : 0;
  }

  /** Add a block, a Float32Array of each input. */
  add(channels, rate, choice) {
    const kept = channels.length > MOST_KEPT ? [picked(channels, choice)] : channels;
    if (kept.length !== this.#blocks[0]?.length) this.#store();
    this.rate ||= rate;
    this.#isShort &&= kept.every((samples) => samples.every(isShort));
    this.#blocks.push(kept);
    this.#waiting += kept[0].length;
    this.frames += kept[0].length;
    if (this.#waiting >= PIECE_S * rate) this.#store();
  }

  #store() {
    if (!this.#blocks.length) return;
    const count = this.#blocks[0].length, planes = Array.from({ length: count }, (_, place) => this.#blocks.map((block) => block[place]));
    this.#pieces.push({ blob: new Blob(planes.flat()), count });
    [this.#blocks, this.#waiting] = [[], 0];
  }

  /**
   * Return the file of the chosen input, or of the mean of all: of 24 bits where it needs them and may be so large (bytes).
   * report(share): how much of it is there.
   */
  async file(choice, name, largest, report) {
    this.#store();
    const isMix = choice === MIX && this.#pieces.some(({ count }) => count > 1);
    const isLong = (isMix || !this.#isShort) && HEADER + 3 * this.frames <= (largest ?? Infinity);
    const parts = [];
    for (const { blob, count } of this.#pieces) {
      const all = new Float32Array(await blob.arrayBuffer()), length = all.length / count;
      const channels = Array.from({ length: count }, (_, place) => all.subarray(place * length, (place + 1) * length));
      parts.push(new Blob([(isLong ? longs : shorts)(picked(channels, choice))]));
      report(parts.length / this.#pieces.length);
    }
    return new File([header(this.frames, this.rate, isLong ? 3 : 2), ...parts], name, { type: "audio/wav" });
  }
}

const rounded = (sample, full) => Math.max(-full, Math.min(full - 1, Math.round(sample * full)));

function shorts(samples) {
  const packed = new Int16Array(samples.length); // little-endian, as every machine is that browsers run on
  for (let i = 0; i < samples.length; i += 1) packed[i] = rounded(samples[i], SHORT);
  return packed;
}

function longs(samples) {
  const packed = new Uint8Array(3 * samples.length);
  for (let i = 0; i < samples.length; i += 1) {
    const value = rounded(samples[i], LONG);
    packed[3 * i] = value;
    packed[3 * i + 1] = value >> 8;
    packed[3 * i + 2] = value >> 16;
  }
  return packed;
}

/** Return the header of a RIFF file with one channel of PCM: Multimedia Programming Interface 1.0, IBM and Microsoft 1991. */
function header(frames, rate, bytes) {
  const view = new DataView(new ArrayBuffer(HEADER)), size = Math.min(frames * bytes, 2 ** 32 - HEADER);
  const fields = [["RIFF"], [HEADER - 8 + size, 4], ["WAVEfmt "], [16, 4], [1, 2], [1, 2], [rate, 4], [rate * bytes, 4], [bytes, 2], [8 * bytes, 2], ["data"], [size, 4]];
  let place = 0;
  for (const [value, length] of fields) {
    if (typeof value === "string") for (const letter of value) view.setUint8(place++, letter.charCodeAt(0));
    else {
      view[length === 4 ? "setUint32" : "setUint16"](place, value, true);
      place += length;
    }
  }
  return view.buffer;
}

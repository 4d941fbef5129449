// The stretch of the timeline that is repeated: drawn along the ruler below the lanes, and taken away by a press on it.

const DRAWN = 6; // pixels, at least
const HEIGHT = 3; // of its mark
const PHRASE_S = 4; // of what is heard of a recording in passing

export class Loop {
  #kept = null; // {start, stop} in seconds of the picture
  #roll;
  #changed;

  /** changed(loop): called with {start, stop}, or null, at the end of a movement. */
  constructor(roll, changed) {
    this.#roll = roll;
    this.#changed = changed;
  }

  get kept() {
    return this.#kept;
  }

  forget() {
    this.#kept = null;
  }

  paint(context, plot, colours) {
    if (!this.#kept) return;
    const { box } = plot, { y } = this.#roll.ruler;
    const [left, right] = [this.#kept.start, this.#kept.stop].map((seconds) => Math.min(Math.max(plot.x(seconds), box.x), box.x + box.width));
    context.fillStyle = colours.accent;
    context.globalAlpha = 0.08;
    context.fillRect(left, box.y, right - left, y - box.y);
    context.globalAlpha = 1;
    context.fillRect(left, y, right - left, HEIGHT);
  }

  /** Draw a stretch along the ruler; a press on it takes it away and plays from there. */
  begin(place, event) {
    const { y, height } = this.#roll.ruler, { duration, pixelsPerSecond } = this.#roll.plot, from = place.seconds;
    if (place.y < y || place.y > y + height) return false;
    const to = (seconds) => {
      const [start, stop] = [from, seconds].map((one) => Math.min(Math.max(one, 0), duration)).sort((one, other) => one - other);
      this.#kept = (stop - start) * pixelsPerSecond > DRAWN ? { start, stop } : null;
      this.#roll.redrawOver();
    };
    const drop = () => {
      this.#changed(this.#kept);
      if (!this.#kept) this.#roll.seek(from);
    };
    to(from);
    this.#roll.follow(event, to, drop);
    return true;
  }
}

/** Return the few seconds that say most of a recording: the first ones of what is marked, else the loudest ones.
 * marked: {start, stop} or null; waveform: as a roll draws it, or null. */
export function phraseOf(duration, marked, waveform) {
  const start = marked?.start ?? loudest(waveform), stop = Math.min(start + PHRASE_S, marked?.stop ?? duration);
  return { start_s: start, stop_s: stop };
}

/** Where the loudest few seconds begin: those of the most power. */
function loudest(waveform) {
  const { high = [], step_s: step = 1 } = waveform ?? {}, count = Math.round(PHRASE_S / step);
  let sum = 0, most = 0, from = 0;
  for (let i = 0; i < high.length; i++) {
    sum += high[i] ** 2 - (i < count ? 0 : high[i - count] ** 2);
    if (sum <= most * (1 + 1e-9)) continue; // rounding is no louder
    most = sum;
    from = Math.max(0, i + 1 - count);
  }
  return from * step;
}

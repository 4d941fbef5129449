// The voices of a recording's parts: drawn over stretches of its lane, and chosen there.

import { avatar } from "./avatar.js";
import { did } from "./edit-steps.js";
import { VOICED, drawRegion, painted, read, regionsOf, voiceMenu, write } from "./regions.js";
import { tr } from "./texts.js";

const DRAWN = 6; // pixels of a part, at least
const MENU = 190; // pixels that a menu takes

export class PartVoices {
  #voices = []; // [{start, voice}]
  #drawn = null; // the part that is drawn: {from, to}
  #roll;
  #screen;
  #recording;
  #voiced;

  /** recording(): {duration_s, first_s: where it begins}, or null; voiced(): called when there are others. */
  constructor(roll, screen, recording, voiced) {
    this.#roll = roll;
    this.#screen = screen;
    this.#recording = recording;
    this.#voiced = voiced;
  }

  /** As regions.js writes them. */
  get written() {
    return write(this.#voices);
  }

  set written(parts) {
    this.#voices = read(parts ?? "");
    this.#roll.redrawOver();
  }

  paint(context, plot, colours) {
    const recording = this.#recording(), lane = recording && this.#roll.strips[0];
    if (!lane) return;
    const { duration_s: duration, first_s: first } = recording;
    const draw = ({ start, end, voice }) => drawRegion(context, plot, lane, { voice, start: start + first, end: end + first }, colours);
    regionsOf(this.#voices, duration).forEach(draw);
    if (this.#drawn) draw({ ...this.#stretch, voice: null });
  }

  /** Draw a part, or offer another voice for one that is pressed; a press elsewhere is the roll's. */
  begin(place, event) {
    this.#screen.querySelector(".voice-menu")?.remove();
    const recording = this.#recording();
    if (!recording || this.#roll.stripAt(place) !== 0 || event.pointerType === "touch") return false;
    const { duration_s: duration, first_s: first } = recording, at = place.seconds - first;
    this.#drawn = { from: at, to: at };
    const to = (seconds) => {
      this.#drawn.to = Math.min(Math.max(seconds - first, 0), duration);
      this.#roll.redrawOver();
    };
    const drop = () => {
      const { start, end } = this.#stretch;
      if ((end - start) * this.#roll.plot.pixelsPerSecond > DRAWN) return this.#offer(start, end, place.x);
      const pressed = regionsOf(this.#voices, duration).find((one) => one.start <= at && at < one.end);
      if (pressed) this.#offer(pressed.start, pressed.end, place.x);
      this.#drawn = null;
      this.#roll.seek(place.seconds);
    };
    this.#roll.follow(event, to, drop);
    return true;
  }

  #give(voices, isNew = true) {
    this.#voices = voices;
    this.#roll.redrawOver();
    if (!isNew) return;
    document.dispatchEvent(new CustomEvent(VOICED, { detail: { parts: this.written } }));
    this.#voiced();
  }

  get #stretch() {
    const { from, to } = this.#drawn;
    return { start: Math.min(from, to), end: Math.max(from, to) };
  }

  #offer(start, end, x) {
    const choose = (voice) => {
      const before = this.#voices, after = voice && painted(before, start, end, voice);
      this.#drawn = null;
      menu.remove();
      if (voice) did(tr("Voice of a part"), () => this.#give(before), () => this.#give(after));
      this.#give(after ?? before, Boolean(voice));
    };
    const menu = voiceMenu(choose, avatar), bottom = this.#screen.clientHeight - this.#roll.offsetTop - this.#roll.strips[0].y + 4;
    Object.assign(menu.style, { left: `${Math.min(x, this.#screen.clientWidth - MENU)}px`, bottom: `${bottom}px` });
    this.#screen.append(menu);
    menu.firstChild.focus();
  }
}

// The comp in the lanes of an instrument: a click in the lane of a take chooses it for that phrase, and so does C at the
// cursor; see comping.js.

import { Choice } from "./comping.js";

const MARK = 3; // height of the line below a chosen phrase

export class PhraseLanes {
  #comp = null; // a Choice, where there are takes and phrases to choose among
  #isOn = false;
  #roll;
  #tracks;
  #chosen;
  #changed;

  /** tracks(): the lanes; chosen(index, seconds): a phrase of a lane was; changed(said): the choice was, in words or null. */
  constructor(roll, tracks, chosen, changed) {
    this.#roll = roll;
    this.#tracks = tracks;
    this.#chosen = chosen;
    this.#changed = changed;
  }

  /** Takes and phrases, as of <timbre-comp>. */
  set data(data) {
    if (data && this.#comp) this.#comp.data = data;
    else this.#comp = data && new Choice(data);
    if (!this.#comp?.canComp) this.#comp = null;
    this.isOn = this.#isOn && this.canComp;
  }

  get canComp() {
    return this.#comp !== null;
  }

  get canBuild() {
    return Boolean(this.#comp?.canBuild);
  }

  get ordered() {
    return this.#comp.ordered;
  }

  get isOn() {
    return this.#isOn;
  }

  set isOn(isOn) {
    this.#isOn = isOn;
    this.#show();
  }

  /** Choose what was chosen elsewhere. */
  follow(told) {
    this.#comp?.follow(told);
    this.#show();
  }

  paint(context, plot, colours) {
    if (!this.#isOn) return;
    const lanes = this.#roll.strips;
    this.#tracks().forEach(({ task, take, offset_s = 0 }, index) => {
      const lane = lanes[index];
      if (!task || !lane) return;
      for (const phrase of this.#comp.phrases) {
        const [left, right] = [phrase.start, phrase.end].map((seconds) => Math.min(Math.max(plot.x(seconds + offset_s), lane.x), lane.x + lane.width));
        const isChosen = phrase.task === task && phrase.take === take;
        context.fillStyle = isChosen ? colours.accent : colours.ground;
        context.globalAlpha = isChosen ? 0.16 : 0.6;
        context.fillRect(left, lane.y, right - left - 1, lane.height);
        context.globalAlpha = 1;
        if (isChosen) context.fillRect(left, lane.y + lane.height - MARK, right - left - 1, MARK);
      }
    });
  }

  /** Choose a phrase that is pressed, or all that are swept over. */
  begin(place, event) {
    const index = this.#isOn ? this.#roll.stripAt(place) : -1, track = this.#tracks()[index];
    if (!track?.task) return false;
    this.#roll.follow(event, (seconds) => this.pick(index, seconds));
    this.pick(index, place.seconds);
    this.#chosen(index, Math.max(0, this.#phraseAt(track, place.seconds).start + (track.offset_s ?? 0)));
    return true;
  }

  /** Choose the take of a lane for the phrase at these seconds. */
  pick(index, seconds) {
    const track = this.#tracks()[index];
    if (!track.task) return;
    const { start } = this.#phraseAt(track, seconds);
    this.#show(this.#comp.pick(this.#comp.phrases.findIndex((one) => one.start === start), track));
  }

  #phraseAt({ offset_s = 0 }, seconds) {
    const { phrases } = this.#comp;
    return phrases.find(({ start, end }) => start <= seconds - offset_s && seconds - offset_s < end) ?? phrases[0];
  }

  #show(said = null) {
    this.#changed(said);
    this.#roll.redrawOver();
  }
}

// <timbre-player>: one track, or several to switch between at the same position.
//
// data: {id, tracks: [{label, names: [parts of it that are of users], url, offset_s, note, brief, downloads: [{label, url, name}]}], chosen}. brief: the note where there is little room. offset_s: where a track
// begins on the timeline, whose seconds are meant everywhere. A download without a url is requested by `download` {index, label}; it begins as soon as data with its url
// arrives. Tells `chosen` {index}. On the document: dispatches "timbre-time" {id, seconds,
// playing}, and listens for "timbre-seek" {id, seconds}.
// Keys: space, left and right (with shift: finer), home, end, 0 to 9 for the tracks, L to repeat.

import { avatar } from "./avatar.js";
import { Listener, drag, iconButton, isTyped, make, named, tell } from "./dom.js";
import { clock } from "./roll-drawing.js";
import { PAUSE, PLAY, REPEAT } from "./shapes.js";
import { COLUMNS, openSound, rest } from "./sound.js";
import { tr } from "./texts.js";

const SKIP_S = 5, FINE_SKIP_S = 1;
const END_S = 0.01; // nearer to the end than this is at the end
const HEIGHT = 100; // of the waveform in its own units

export class Player extends Listener {
  #data = null;
  #chosen = 0;
  #position = 0; // seconds, where it stands still
  #duration = 0; // of the chosen track by itself
  #offset = 0; // of the sound that plays
  #playing = null; // the sound that plays
  #repeats = false;
  #sounds = new Map(); // url -> promise of a sound
  #wanted = null; // the download that was requested, "index label"
  #turn = 0; // of choices and starts: late answers to an older one are ignored
  #frame = 0;

  set data(given) {
    const old = this.#data;
    this.#data = given && given.tracks?.length ? given : null;
    if (!this.#data || old?.id !== this.#data.id) {
      this.#pause();
      this.#position = 0;
      this.#chosen = this.#data?.chosen ?? 0;
    } else if (this.#data.chosen != null && this.#data.chosen !== old.chosen) {
      this.#chosen = this.#data.chosen;
    }
    this.#chosen = Math.min(this.#chosen, (this.#data?.tracks.length ?? 1) - 1);
    this.#forget();
    this.#build();
    if (this.#data) this.#show();
    const [before, now] = [old, this.#data].map((one) => one?.tracks[this.#chosen]?.url.split("?")[0]);
    // a take that sounds differently now is heard at once, from the same position
    if (this.#playing && old?.id === this.#data?.id && before !== now) this.#handOver(++this.#turn);
  }

  get data() {
    return this.#data;
  }

  /** The position in seconds. */
  get seconds() {
    return this.#playing ? this.#playing.seconds + this.#offset : this.#position;
  }

  /** The duration of the timeline in seconds; 0 until it is known. */
  get duration() {
    return this.#duration && this.#duration + this.#offsetOf(this.#chosen);
  }

  /** The index of the chosen track. */
  get chosen() {
    return this.#chosen;
  }

  /** Whether it begins again at the end. */
  get repeats() {
    return this.#repeats;
  }

  set repeats(repeats) {
    this.#repeats = repeats;
    this.querySelector(".repeat")?.setAttribute("aria-pressed", repeats);
  }

  get isPlaying() {
    return this.#playing !== null;
  }

  // ---- for elements that extend it

  /** The stretch that is played, in seconds. */
  get stretch() {
    const start = this.#offsetOf(this.#chosen);
    return { start, stop: start + this.#duration };
  }

  /** Return the sound of a track, opened once; a promise. */
  sound(track) {
    if (!this.#sounds.has(track.url)) {
      const opening = openSound(track.url, track.peaks);
      opening.catch(() => this.#sounds.delete(track.url));
      this.#sounds.set(track.url, opening);
    }
    return this.#sounds.get(track.url);
  }

  /** Called when another track was chosen, and when a track's sound is there. */
  changed() {}

  /** Arrange the downloads, the preferred format first. */
  offered(...downloads) {
    return [make("span", { class: "what" }, tr("Download")), ...downloads];
  }

  /** starting(sound): called just before a sound is heard; started(sound, offset, goesOn): just after; offset: where it
   * begins on the timeline, goesOn: whether another one was heard until then; stopped(): when nothing is any more. */
  starting(_sound) {}

  started(_sound, _offset, _goesOn) {}

  stopped() {}

  /** What is told with a wish for a download. */
  get wishes() {
    return {};
  }

  /** Offer the downloads again. */
  offerAgain() {
    this.#mark();
  }

  /** drawn(bar, wave): called when everything was made. */
  drawn(..._given) {}

  disconnectedCallback() {
    super.disconnectedCallback();
    this.#pause();
  }

  // ---- actions

  async play() {
    if (!this.#data || this.#playing) return this.#pause();
    const turn = ++this.#turn;
    document.dispatchEvent(new CustomEvent("timbre-play", { detail: { player: this } }));
    await this.#handOver(turn);
    this.#data?.tracks.forEach((track) => this.sound(track).catch(() => {})); // so that switching is quick
  }

  choose(index, tells = true) {
    if (!this.#data?.tracks[index] || index === this.#chosen) return;
    this.#chosen = index;
    this.#mark();
    this.changed();
    this.#show();
    if (this.#playing) this.#handOver(++this.#turn);
    if (tells) tell(this, "chosen", { index });
  }

  seek(seconds) {
    this.#position = Math.max(0, Math.min(seconds, this.duration || seconds));
    if (this.#playing) this.#restart(this.#position);
    else this.#tellTime();
  }

  // ---- sound

  async #handOver(turn) {
    let sound;
    try {
      sound = await this.sound(this.#data.tracks[this.#chosen]);
    } catch (failure) {
      return this.#say(failure.message);
    }
    if (turn !== this.#turn) return;
    const before = this.#playing, offset = this.#offsetOf(this.#chosen);
    this.#duration = sound.duration;
    const { start, stop } = this.stretch;
    if (!before && (this.#position < start || this.#position >= stop - END_S)) this.#position = start;
    this.starting(sound);
    try {
      await sound.start(this.#position - offset, before, this.#offset - offset);
    } catch {
      return this.#say(tr("This recording could not be played."));
    }
    before?.stop();
    if (turn !== this.#turn) return sound.stop();
    this.#playing = sound;
    this.#offset = offset;
    this.started(sound, offset, Boolean(before));
    this.#follow();
  }

  async #restart(seconds) {
    const sound = this.#playing;
    const turn = ++this.#turn;
    sound.stop();
    this.stopped();
    await sound.start(seconds - this.#offset);
    if (turn !== this.#turn) return sound.stop();
    this.started(sound, this.#offset, false);
  }

  #pause() {
    this.#turn++;
    if (!this.#playing) return;
    this.#position = this.seconds;
    this.#playing.stop();
    this.#playing = null;
    this.stopped();
    cancelAnimationFrame(this.#frame);
    setTimeout(() => this.#playing ?? Player.#quiet(), 100); // after the fade
    this.#tellTime();
  }

  static #quiet() {
    if (![...document.querySelectorAll("timbre-player, timbre-instrument")].some((player) => player.isPlaying)) rest();
  }

  #follow() {
    cancelAnimationFrame(this.#frame);
    if (!this.#playing) return;
    const { start, stop } = this.stretch;
    if (this.seconds >= stop - END_S) {
      if (!this.#repeats) {
        this.#pause();
        return this.seek(stop);
      }
      this.#restart(start);
    }
    this.#tellTime();
    this.#frame = requestAnimationFrame(() => this.#follow());
  }

  #offsetOf(index) {
    return this.#data?.tracks[index]?.offset_s ?? 0;
  }

  #forget() {
    const urls = new Set(this.#data?.tracks.map((track) => track.url));
    for (const url of this.#sounds.keys()) if (!urls.has(url)) this.#sounds.delete(url);
  }

  // ---- events of other elements

  #sought = (event) => {
    if (this.#data && event.detail.id === this.#data.id) this.seek(event.detail.seconds);
  };

  #interrupted = (event) => {
    if (event.detail.player !== this) this.#pause();
  };

  /** Do what a key stands for. */
  key = (event) => {
    if (!this.#data || event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || isTyped(event.key, event.target)) return;
    const skip = event.shiftKey ? FINE_SKIP_S : SKIP_S;
    const on = event.target;
    if (/^(Arrow|Home|End)/.test(event.key) && on.closest("[role=toolbar], input")) return;
    if (/^[0-9]$/.test(event.key) && this.#data.tracks.length > 1) this.choose(Number(event.key));
    else if (event.key === " ") this.#toggle(event);
    else if (on.closest(".track") && ["ArrowRight", "ArrowDown"].includes(event.key)) this.#step(1);
    else if (on.closest(".track") && ["ArrowLeft", "ArrowUp"].includes(event.key)) this.#step(-1);
    else if (event.key === "ArrowRight") this.seek(this.seconds + skip);
    else if (event.key === "ArrowLeft") this.seek(this.seconds - skip);
    else if (event.key === "Home") this.seek(0);
    else if (event.key === "End") this.seek(this.duration);
    else if (event.key === "l" || event.key === "L") (this.repeats = !this.repeats);
    else return;
    event.preventDefault();
  };

  #toggle({ repeat }) {
    if (!repeat) this.play();
    addEventListener("keyup", (released) => released.preventDefault(), { once: true }); // Firefox presses buttons then
  }

  heard = [[document, "timbre-seek", this.#sought], [document, "timbre-play", this.#interrupted], [this, "keydown", this.key]];

  #step(by) {
    const count = this.#data.tracks.length;
    this.choose((this.#chosen + by + count) % count);
    this.querySelector(".track[aria-checked=true]")?.focus();
  }

  // ---- what is seen

  #build() {
    const focused = this.contains(document.activeElement) ? document.activeElement.className : null;
    this.replaceChildren();
    if (!this.#data) return;
    const slider = { role: "slider", tabindex: 0, "aria-label": tr("Position"), "aria-valuemin": 0 };
    const wave = make("div", { class: "wave", ...slider, onpointerdown: (event) => this.#drag(event, wave) });
    wave.append(picture("whole"), picture("played"), make("i", { class: "head" }));
    const repeat = iconButton("repeat", REPEAT, tr("Repeat"), () => (this.repeats = !this.repeats));
    repeat.setAttribute("aria-pressed", this.#repeats);
    const play = iconButton("play", PLAY, tr("Play"), () => this.play());
    this.append(make("div", { class: "bar" }, play, wave, make("span", { class: "time" }), repeat));
    this.append(make("p", { class: "trouble", role: "alert", hidden: true }));
    if (this.#data.tracks.length > 1) this.append(this.#tracks());
    this.append(make("div", { class: "downloads" }));
    this.drawn(this.firstChild, wave);
    this.#mark();
    this.#tellTime();
    if (focused) /** @type {HTMLElement} */ (this.getElementsByClassName(focused)[0])?.focus();
  }

  #tracks() {
    const tracks = this.#data.tracks.map((track, index) =>
      make(
        "button",
        { type: "button", role: "radio", class: `track track-${index}`, title: [track.label, track.note && tr(track.note), index < 10 ? tr("key {index}", { index }) : null].filter(Boolean).join(", "), onclick: () => this.choose(index) },
        index < 10 ? make("kbd", { class: "number", "aria-hidden": "true" }, String(index)) : null,
        avatar(track.avatar, "face"),
        make("span", { class: "said" }, make("span", { class: "label" }, named(track.label, track.names)),
          track.note ? make("span", { class: "note" }, (track.brief ?? track.note).split(" · ").map((part) => make("span", {}, part))) : null),
      ),
    );
    return make("div", { class: "tracks", role: "radiogroup", "aria-label": tr("Tracks") }, tracks);
  }

  /** Mark the chosen track, and offer its downloads. */
  #mark() {
    this.querySelectorAll(".track").forEach((one, index) => {
      one.setAttribute("aria-checked", index === this.#chosen);
      one.tabIndex = index === this.#chosen ? 0 : -1;
    });
    const place = this.querySelector(".downloads");
    const offered = this.#data.tracks[this.#chosen].downloads ?? [];
    place.hidden = !offered.length;
    place.replaceChildren(...this.offered(...offered.map((one) => this.#download(one))));
  }

  #download({ label, url, name }) {
    const index = this.#chosen;
    const named = `${index} ${label}`;
    if (url) {
      const link = make("a", { class: "download", href: url, download: name ?? "" }, label);
      if (this.#wanted === named) {
        this.#wanted = null;
        queueMicrotask(() => link.click());
      }
      return link;
    }
    const ask = () => {
      this.#wanted = named;
      asked.ariaBusy = true;
      tell(this, "download", { index, label, ...this.wishes });
    };
    const asked = make("button", { type: "button", class: "download", onclick: ask }, label);
    asked.ariaBusy = this.#wanted === named;
    return asked;
  }

  async #show() {
    const track = this.#data.tracks[this.#chosen];
    this.#say("");
    try {
      const sound = await this.sound(track);
      if (track !== this.#data?.tracks[this.#chosen]) return;
      this.#duration = sound.duration;
      this.querySelector(".wave")?.classList.toggle("plain", !sound.peaks);
      const drawn = outline(sound.peaks ?? []);
      this.querySelectorAll(".wave path").forEach((path) => path.setAttribute("d", drawn));
      this.changed();
      this.#tellTime();
    } catch (failure) {
      if (track === this.#data?.tracks[this.#chosen]) this.#say(failure.message);
    }
  }

  #say(sentence) {
    const trouble = this.querySelector(".trouble");
    if (!trouble) return;
    trouble.hidden = !sentence;
    trouble.textContent = sentence;
  }

  #drag(event, wave) {
    const to = (moved) => {
      const { left, width } = wave.getBoundingClientRect();
      this.seek((this.duration * Math.max(0, Math.min(moved.clientX - left, width))) / width);
    };
    drag(event, wave, to);
    to(event);
  }

  #tellTime() {
    const { seconds } = this;
    const playing = this.isPlaying;
    const wave = this.querySelector(".wave");
    if (this.firstChild) {
      const [now, whole] = [seconds, this.duration].map((one) => clock(Math.floor(one || 0), 0));
      wave?.style.setProperty("--at", this.duration ? Math.min(1, seconds / this.duration) : 0);
      wave?.setAttribute("aria-valuemax", this.duration.toFixed(1));
      wave?.setAttribute("aria-valuenow", seconds.toFixed(1));
      wave?.setAttribute("aria-valuetext", tr("{now} of {whole}", { now, whole }));
      this.querySelector(".time").textContent = `${now} / ${whole}`;
      const play = this.querySelector(".play");
      play.querySelector("path").setAttribute("d", playing ? PAUSE : PLAY);
      play.ariaLabel = playing ? tr("Pause") : tr("Play");
    }
    const detail = { id: this.#data?.id, seconds, playing };
    document.dispatchEvent(new CustomEvent("timbre-time", { detail, bubbles: true }));
  }
}

/** The waveform as a closed line, the loudest part as high as the picture. */
function outline(peaks) {
  const top = Math.max(0.02, ...peaks);
  const half = Array.from(peaks, (peak) => Math.max(0.6, (peak / top) * (HEIGHT / 2 - 3)));
  const above = half.map((size, i) => `${i ? "L" : "M"}${i} ${(HEIGHT / 2 - size).toFixed(1)}`);
  const below = half.map((size, i) => `L${i} ${(HEIGHT / 2 + size).toFixed(1)}`).reverse();
  return peaks.length ? `${above.join("")}${below.join("")}Z` : "";
}

function picture(kind) {
  const size = { viewBox: `0 0 ${COLUMNS - 1} ${HEIGHT}`, preserveAspectRatio: "none", "aria-hidden": "true" };
  return make("svg", { class: kind, ...size }, make("path"));
}

customElements.define("timbre-player", Player);

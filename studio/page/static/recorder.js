// <timbre-recorder>: records from the microphone and gives the recording to a place of the page, as a file like any other.
//
// data: {place: selector of the place, largest: file that it takes, in bytes}. Its states: closed, open (the level is seen), recording, paused, reading.

import { capture } from "./capture.js";
import { Listener, iconButton, make } from "./dom.js";
import { Sounding, picked, power } from "./inputs.js";
import { MicrophoneChoice } from "./microphone-choice.js";
import { alteration } from "./microphone.js";
import { give, until } from "./places.js";
import { clock } from "./roll-drawing.js";
import { CROSS } from "./shapes.js";
import { tr } from "./texts.js";
import { Growing } from "./wav.js";

const LOWEST_DB = -60, FALL_DB = 1.2; // of the meter, and of its needle in a frame
const CLIPPED = 0.99; // of full scale
const MICROPHONE = "M12 3a3 3 0 0 0-3 3v6a3 3 0 0 0 6 0V6a3 3 0 0 0-3-3zM6 11v1a6 6 0 0 0 12 0v-1M12 18v3";
const GONE = tr("The microphone was disconnected. What was recorded is kept.");
const HINT = tr("Sing, and see the level; then start.");

/** Return the name of a recording that began at a time: in English, as files have one in every language. */
function nameAt(date) {
  const [day, month] = [date.toLocaleString("en-US", { day: "2-digit" }), date.toLocaleString("en-US", { month: "short" })];
  return `Recording ${day} ${month} ${date.toTimeString().slice(0, 8).replaceAll(":", ".")}.wav`;
}

class Recorder extends Listener {
  #place = "";
  #largest = null; // file, in bytes
  #stream = null;
  #stop = null; // what ends the capture
  #growing = null;
  #began = null; // Date
  #peak = 0; // since the last picture
  #db = LOWEST_DB;
  #clipped = false;
  #sounding = new Sounding();
  #altered = "";
  #choice = new MicrophoneChoice({ device: () => this.#open(), input: () => this.#warn(), back: () => this.dataset.state === "open" && this.#open() });
  #button = (label, act, more = {}) => make("button", { type: "button", onclick: act, ...more }, label);
  #opening = this.#button("", () => this.#open(), { class: "opening" });
  #begin = this.#button("", () => this.#record(), { class: "begin" });
  #pause = this.#button(tr("Pause"), () => this.#show(this.dataset.state === "paused" ? "recording" : "paused"), { class: "pause" });
  #close = iconButton("close", CROSS, tr("Close the recorder"), () => this.#end());
  #time = make("time", {}, clock(0, 0));
  #needle = make("div", { class: "meter", role: "meter", "aria-label": tr("Input level"), "aria-valuemin": LOWEST_DB, "aria-valuemax": 0, "aria-valuenow": LOWEST_DB }, make("i", {}));
  #lamp = make("span", { class: "lamp" });
  #said = make("p", { class: "said", role: "status" });
  #warned = make("p", { class: "warned", role: "status" });
  #kept = make("a", { class: "kept", hidden: true });

  heard = [
    [window, "beforeunload", (event) => this.#isBusy && event.preventDefault()],
    [navigator.mediaDevices ?? window, "devicechange", () => this.#choice.list()],
  ];

  /** @param {import("./types").RecorderData | null} given */
  set data(given) {
    if (!given || this.#place) return;
    [this.#place, this.#largest] = [given.place, given.largest];
    const drawn = make("svg", { viewBox: "0 0 24 24", "aria-hidden": "true" }, make("path", { d: MICROPHONE }));
    this.#opening.append(drawn, make("span", {}, tr("Record")));
    this.#begin.append(make("i", {}), make("span", {}, tr("Start recording")));
    const panel = make("div", { class: "panel", role: "group", "aria-label": tr("Recorder") },
      make("div", { class: "line" }, this.#begin, this.#pause, this.#time, this.#needle, this.#lamp, this.#close), make("div", { class: "line fields" }, this.#choice.nodes), this.#choice.asked);
    this.replaceChildren(this.#opening, panel, this.#said, this.#warned, this.#kept);
    this.#show("closed");
  }

  get #isBusy() {
    return ["recording", "paused", "reading"].includes(this.dataset.state);
  }

  #show(state) {
    this.dataset.state = state;
    const isOn = state === "recording" || state === "paused";
    this.#begin.lastChild.textContent = isOn ? tr("Stop") : tr("Start recording");
    this.#pause.hidden = !isOn;
    this.#pause.textContent = state === "paused" ? tr("Resume") : tr("Pause");
    this.#close.hidden = isOn;
    this.#choice.device.disabled = isOn;
  }

  async #open() {
    await this.#release();
    this.#say(tr("Asking for the microphone ..."));
    this.#opening.disabled = true;
    try {
      const stream = await this.#choice.open();
      this.#stream = stream;
      stream.getAudioTracks()[0].addEventListener("ended", () => this.#stream === stream && this.#finish(GONE));
      [this.#sounding, this.#altered, this.#clipped, this.#db] = [new Sounding(), alteration(stream), false, LOWEST_DB];
      this.#stop = await capture(stream, (channels, rate) => this.#stream === stream && this.#take(channels, rate));
      this.#show("open");
      this.#say(HINT);
      this.#warn();
      this.#begin.focus();
      this.#draw(stream);
    } catch (error) {
      this.#end(error.message);
    }
    this.#opening.disabled = false;
  }

  #take(channels, rate) {
    this.#choice.offer(channels.length);
    const chosen = picked(channels, this.#choice.input);
    for (const one of chosen) this.#peak = Math.max(this.#peak, Math.abs(one));
    this.#sounding.take(channels.map(power), chosen.length / rate);
    if (this.dataset.state === "recording") this.#growing.add(channels, rate, this.#choice.input);
  }

  #draw(stream) {
    if (this.#stream !== stream) return;
    if (this.dataset.state === "open" && !this.checkVisibility()) return this.#end(); // another tab is shown
    this.#db = Math.max(LOWEST_DB, this.#db - FALL_DB, 20 * Math.log10(this.#peak || 1e-6));
    this.#clipped ||= this.#peak >= CLIPPED;
    this.#peak = 0;
    this.#needle.style.setProperty("--level", 1 - this.#db / LOWEST_DB);
    this.#needle.setAttribute("aria-valuenow", this.#db.toFixed(0));
    this.#lamp.classList.toggle("lit", this.#clipped);
    this.#time.textContent = clock(Math.floor(this.#growing?.seconds ?? 0), 0);
    this.#warn();
    requestAnimationFrame(() => this.#draw(stream));
  }

  // What is wrong with what is recorded, each in a sentence.
  #warn() {
    const texts = [this.#altered, this.#sounding.said(this.#choice.input), this.#clipped ? tr("Clipped: record again, more softly or further away.") : ""];
    const text = texts.filter(Boolean).join(" ");
    if (this.#warned.textContent !== text) this.#warned.textContent = text;
  }

  #say(text) {
    this.#said.textContent = text;
  }

  #record() {
    if (this.#isBusy) return this.#finish();
    this.#keep(null);
    [this.#growing, this.#began] = [new Growing(), new Date()];
    this.#say("");
    this.#show("recording");
  }

  /** End the recording, and give it to its place. */
  async #finish(why = "") {
    if (!this.#stop) return; // it ends already
    const growing = this.#growing, isOn = this.#isBusy;
    await this.#release();
    if (!isOn || !growing.frames) return this.#end(why);
    this.#show("reading");
    const report = (share) => this.#say(tr("Reading the recording: {done} %", { done: Math.round(100 * share) }));
    report(0);
    const file = await growing.file(this.#choice.input, nameAt(this.#began), this.#largest, report);
    this.#growing = null;
    this.#keep(file);
    this.#end(why || tr("Passing the recording on ..."));
    try {
      await give(this.#place, [file]);
    } catch {
      return this.#say(tr("The page was not ready for the recording: save it, and open the file."));
    }
    await until(this.#place, false).then(() => until(this.#place, true)).catch(() => {}); // it is taken
    if (this.dataset.state === "closed") this.#say(why);
  }

  async #release() {
    const stop = this.#stop, stream = this.#stream;
    this.#stop = null;
    await stop?.();
    this.#stream = null;
    for (const track of stream?.getTracks() ?? []) track.stop();
  }

  #end(why = "") {
    this.#release();
    if (this.dataset.state === "open") this.#warned.textContent = ""; // of a recording it stays
    this.#show("closed");
    this.#say(why);
    if (why) return;
    this.#opening.focus({ preventScroll: true });
  }

  /** Offer a recording to be saved: whatever becomes of it in the page, it is not lost. */
  #keep(file) {
    URL.revokeObjectURL(this.#kept.href);
    this.#kept.hidden = !file;
    if (!file) return;
    Object.assign(this.#kept, { href: URL.createObjectURL(file), download: file.name, textContent: tr("Save the recording") });
  }
}

customElements.define("timbre-recorder", Recorder);

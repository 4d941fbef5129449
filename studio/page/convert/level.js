// <timbre-level>: the level of the microphone while it records, and a lamp that stays lit once it has clipped.
//
// It listens to the stream that the page's own recorder opens, so the microphone is opened once. Shown while a stream
// is open; the lamp stays until the next one.

import { make } from "./dom.js";
import { tr } from "./texts.js";

const LOWEST_DB = -60;
const CLIPPED = 0.99; // of full scale
const FALL_DB = 1.2; // of the needle in a frame
const HEARD = "timbre-microphone";

// every recorder of the page asks here for its stream
function listenToStreams() {
  const devices = navigator.mediaDevices;
  if (!devices?.getUserMedia || devices.isHeard) return;
  const open = devices.getUserMedia.bind(devices);
  devices.getUserMedia = async (wanted) => {
    const stream = await open(wanted);
    if (stream.getAudioTracks().length) document.dispatchEvent(new CustomEvent(HEARD, { detail: { stream } }));
    return stream;
  };
  devices.isHeard = true;
}

class Level extends HTMLElement {
  #db = LOWEST_DB;
  #clipped = false;
  #stop = () => {};

  connectedCallback() {
    listenToStreams();
    document.addEventListener(HEARD, this.#begin);
    this.#build();
  }

  disconnectedCallback() {
    document.removeEventListener(HEARD, this.#begin);
    this.#stop();
  }

  set data(given) {} // it needs none

  #build() {
    const range = { "aria-valuemin": LOWEST_DB, "aria-valuemax": 0, "aria-valuenow": LOWEST_DB };
    const needle = make("div", { class: "meter", role: "meter", "aria-label": tr("Input level"), ...range }, make("i", {}));
    this.replaceChildren(needle, make("span", { class: "lamp", role: "status" }));
    this.hidden = true;
  }

  #begin = ({ detail: { stream } }) => {
    if (!this.closest("[role=tabpanel]")?.offsetParent) return; // the recorder of another tab
    this.#stop();
    const context = new AudioContext();
    const analyser = new AnalyserNode(context, { fftSize: 4096 });
    const source = new MediaStreamAudioSourceNode(context, { mediaStream: stream });
    source.connect(analyser);
    const samples = new Float32Array(analyser.fftSize), tracks = stream.getAudioTracks();
    let frame = 0;
    this.#stop = () => {
      cancelAnimationFrame(frame);
      source.disconnect();
      context.close().catch(() => {});
      this.#stop = () => {};
    };
    [this.#db, this.#clipped, this.hidden] = [LOWEST_DB, false, false];
    const look = () => {
      if (tracks.every((track) => track.readyState === "ended")) return this.#end();
      analyser.getFloatTimeDomainData(samples);
      this.#show(samples.reduce((peak, one) => Math.max(peak, Math.abs(one)), 0));
      frame = requestAnimationFrame(look);
    };
    look();
  };

  #end() {
    this.#stop();
    if (!this.#clipped) this.hidden = true;
  }

  #show(peak) {
    this.#db = Math.max(LOWEST_DB, this.#db - FALL_DB, 20 * Math.log10(peak || 1e-6));
    this.#clipped ||= peak >= CLIPPED;
    const meter = this.querySelector(".meter");
    meter.style.setProperty("--level", 1 - this.#db / LOWEST_DB);
    meter.setAttribute("aria-valuenow", this.#db.toFixed(0));
    const lamp = this.querySelector(".lamp");
    if (lamp.classList.contains("lit") === this.#clipped) return;
    lamp.classList.toggle("lit", this.#clipped);
    lamp.textContent = this.#clipped ? tr("Clipped: record again, more softly or further away.") : "";
  }
}

customElements.define("timbre-level", Level);

// <timbre-live>: sing, and hear the other voice.
//
// data: {voices: [{id, name}], settings: {name: {value, minimum, maximum, step, meaning, words}}, ticket, problem}.
// Tells `start` {model, settings, record}; a new `ticket` opens the WebSocket, in a worker (live-socket.js). What the
// service says is in studio/http/routes/live.py.

import { make, tell } from "./dom.js";

const RATE = 48_000;
const SHOWN = 240; // meters of level and pitch that are drawn
const LOWEST = 30, HIGHEST = 96; // MIDI notes of the drawing
const WHILE_SINGING = ["transpose", "formant_shift_semitones", "style", "accent", "consonant_protection", "texture"];
const WORDS = { melodic: "Singing", rhythmic: "Rap", spoken: "Speech", listener: "Accurate", student: "Fast" }; // as everywhere on the page
const NAMES = {
  transpose: "Transpose", style: "Style", block_ms: "Buffer (ms)", look_ahead_ms: "Look-ahead (ms)", content: "Quality",
  reserve_ms: "Safety margin (ms)",
  formant_shift_semitones: "Formant shift", accent: "Accent", consonant_protection: "Consonant protection", texture: "Texture",
};
const INSECURE = "A browser gives the microphone only to pages of this machine or to pages with https. Open the studio at http://127.0.0.1, or serve it by TLS.";
const REFUSED = "The browser did not give the microphone. Allow it for this page, and check that one is connected.";
const GONE = "The microphone is gone. Connect it and press Start.";
const CUT = "The connection to the studio has ended. Press Start to go on.";

class LiveElement extends HTMLElement {
  #data = null;
  #running = null; // {stream, context, node, worker, lag}
  #stream = null; // of a session that is being asked for
  #meters = [];
  #used = null; // ticket

  set data(given) {
    if (!given) return;
    const first = this.#data === null;
    this.#data = given;
    if (first) this.#build();
    else this.#list(given.voices);
    if (given.problem) this.#end(given.problem);
    else if (given.ticket && given.ticket !== this.#used && this.#stream) {
      this.#used = given.ticket;
      this.#open(given.ticket).catch((error) => this.#end(String(error.message ?? error)));
    }
  }

  get data() {
    return this.#data;
  }

  // Gradio takes the element out of the page when another tab is shown; the session goes on.
  #build() {
    this.voice = make("select", { "aria-label": "Voice", onchange: () => this.#change({ voice: this.voice.value }) });
    this.#list(this.#data.voices);
    this.inputs = Object.fromEntries(Object.entries(this.#data.settings).map(([name, one]) => [name, this.#input(name, one)]));
    this.record = make("input", { type: "checkbox" });
    this.bypass = make("input", { type: "checkbox", onchange: () => this.#change({ bypass: this.bypass.checked }) });
    this.button = make("button", { type: "button", class: "start", onclick: () => (this.#running || this.#stream ? this.#stop() : this.#start()) }, "Start");
    this.status = make("p", { class: "status", role: "status" }, "Use headphones to avoid feedback.");
    this.figures = make("p", { class: "figures" });
    this.canvas = make("canvas", { width: 960, height: 180, role: "img", "aria-label": "Level and pitch" });
    const labelled = (label, input, help) => make("label", { title: help ?? null }, make("span", {}, label), input);
    const main = ["transpose", "style", "block_ms"], more = Object.keys(this.inputs).filter((name) => !main.includes(name));
    const field = (name) => labelled(NAMES[name] ?? name, this.inputs[name], this.#data.settings[name].meaning);
    this.replaceChildren(
      make("div", { class: "live-fields" }, labelled("Voice", this.voice), main.map(field), labelled("Bypass", this.bypass), labelled("Record", this.record)),
      make("details", {}, make("summary", {}, "More settings"), make("div", { class: "live-fields" }, more.map(field))),
      make("div", { class: "live-start" }, this.button, this.status), this.canvas, this.figures,
    );
    if (!window.isSecureContext || !navigator.mediaDevices?.getUserMedia) {
      this.button.disabled = true;
      this.#say(INSECURE, true);
    }
  }

  #list(voices) {
    const chosen = this.voice.value;
    this.voice.replaceChildren(...voices.map(({ id, name }) => make("option", { value: id, selected: id === chosen, translate: "no" }, name)));
  }

  #input(name, { value, minimum, maximum, step, words }) {
    const changed = () => WHILE_SINGING.includes(name) && this.#change({ [name]: this.#value(name) });
    if (words?.length) return make("select", { onchange: changed }, words.map((word) => make("option", { value: word, selected: word === value }, WORDS[word] ?? word)));
    return make("input", { type: "number", min: minimum, max: maximum, step: step ?? 0.05, value, onchange: changed });
  }

  #value(name) {
    const { value } = this.inputs[name];
    return this.#data.settings[name].words?.length ? value : Number(value);
  }

  #say(text, wrong = false) {
    this.status.textContent = text;
    this.status.classList.toggle("wrong", wrong);
  }

  #change(values) {
    this.#running?.worker.postMessage({ send: { change: values } });
  }

  async #start() {
    this.#say("Asking for the microphone ...");
    this.button.textContent = "Stop";
    this.#meters = [];
    const exact = { echoCancellation: false, noiseSuppression: false, autoGainControl: false, channelCount: 1 };
    try {
      this.#stream = await navigator.mediaDevices.getUserMedia({ audio: exact });
    } catch {
      this.#end(REFUSED);
      return;
    }
    this.#say("Loading the voice ...");
    const settings = Object.fromEntries(Object.keys(this.inputs).map((name) => [name, this.#value(name)]));
    tell(this, "start", { model: this.voice.value, settings, record: this.record.checked, at: Date.now() });
  }

  async #open(ticket) {
    const stream = this.#stream;
    const context = new AudioContext({ sampleRate: RATE, latencyHint: "interactive" });
    const address = new URL(`../live/${ticket}`, import.meta.url);
    address.protocol = address.protocol.replace("http", "ws");
    const worker = new Worker(new URL("./live-socket.js", import.meta.url));
    const running = { stream, context, worker, node: null, lag: 0, unsent: 0 };
    this.#running = running;
    worker.onmessage = ({ data }) => {
      if (this.#running !== running) return;
      if (data.said) this.#told(running, data.said);
      else if (data.closed) this.#end(running.last ?? CUT);
      else Object.assign(running, data);
    };
    worker.postMessage({ address: address.href, rate: context.sampleRate });
    stream.getAudioTracks()[0].addEventListener("ended", () => this.#running === running && this.#finish(GONE));
    await context.audioWorklet.addModule(new URL("./live-worklet.js", import.meta.url));
    await context.resume();
  }

  #told(running, said) {
    if (said.ready) this.#ready(running, said.ready);
    if (said.meter) this.#metered(running, said.meter);
    if (said.notice) this.#say(said.notice, true);
    if (said.error) running.last = said.error;
    if (said.finished) running.last = said.finished.task ? `${running.why ?? "Stopped."} The recording is in History.` : running.why ?? "Stopped.";
  }

  #ready(running, { block, lag, delay_ms, reserve }) {
    const { context, stream } = running;
    running.node = new AudioWorkletNode(context, "timbre-live", {
      numberOfInputs: 1, numberOfOutputs: 1, outputChannelCount: [2], channelCount: 1, channelCountMode: "explicit",
      processorOptions: { block, reserve },
    });
    Object.assign(running, { lag: lag / context.sampleRate, delay: delay_ms });
    running.node.port.onmessage = ({ data }) => Object.assign(running, data);
    const { port1, port2 } = new MessageChannel();
    running.node.port.postMessage({ port: port1 }, [port1]);
    running.worker.postMessage({ port: port2 }, [port2]);
    context.createMediaStreamSource(stream).connect(running.node).connect(context.destination);
    this.#say("Listening: sing!");
    this.dataset.state = "running";
  }

  #metered(running, meter) {
    this.#meters.push(meter);
    this.#meters.splice(0, this.#meters.length - SHOWN);
    const beside = (running.context.baseLatency ?? 0) + (running.context.outputLatency ?? 0);
    const heard = running.heard === undefined ? "-" : Math.round(1000 * (running.heard + running.lag + beside));
    const lost = (running.late ?? 0) + (running.dropped ?? 0) + running.unsent + meter.dropped;
    const figures = [`Latency ${heard} ms (algorithm ${running.delay} ms)`, `CPU ${Math.round(100 * meter.work)} %`, lost ? `${lost} dropouts` : "no dropouts"];
    this.figures.textContent = figures.join(" · ");
    Object.assign(this.dataset, { heard, lost, work: meter.work });
    if (meter.work > 1) this.#say("This machine is too slow for these blocks: stop, and choose larger ones.", true);
    if (!document.hidden) this.#draw();
  }

  #draw() {
    const { width, height } = this.canvas, pen = this.canvas.getContext("2d"), style = getComputedStyle(this);
    pen.clearRect(0, 0, width, height);
    const x = (i) => (i * width) / SHOWN;
    const y = (hertz) => height * (1 - (69 + 12 * Math.log2(hertz / 440) - LOWEST) / (HIGHEST - LOWEST));
    this.#meters.forEach((meter, i) => {
      pen.fillStyle = style.getPropertyValue("--border-color-primary");
      pen.fillRect(x(i), height * (1 - Math.min(1, meter.input_peak)), width / SHOWN, height * Math.min(1, meter.input_peak));
      for (const [hertz, colour] of [[meter.hertz, "--range"], [meter.rendered_hertz, "--accent"]]) {
        pen.fillStyle = style.getPropertyValue(colour);
        if (hertz > 0) pen.fillRect(x(i), y(hertz) - 2, width / SHOWN + 1, 4);
      }
    });
  }

  #stop() {
    this.#finish("Stopped.");
  }

  // Ask the service to end the session, so that the recording is kept.
  #finish(why) {
    const running = this.#running;
    if (!running) {
      this.#end(why);
      return;
    }
    running.why = why;
    running.last = why;
    running.node?.disconnect();
    running.worker.postMessage({ send: { stop: true } });
    this.#say("Ending ...");
    for (const track of running.stream.getTracks()) track.stop();
  }

  #end(why) {
    const running = this.#running;
    this.#running = null;
    for (const track of (running?.stream ?? this.#stream)?.getTracks() ?? []) track.stop();
    this.#stream = null;
    if (running) {
      running.node?.port.postMessage({ end: true });
      running.worker.terminate(); // which closes the WebSocket
      running.context.close();
    }
    this.dataset.state = "stopped";
    this.button.textContent = "Start";
    this.#say(why, true);
  }
}

customElements.define("timbre-live", LiveElement);

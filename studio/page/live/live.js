// <timbre-live>: sing, and hear the other voice.
//
// data: {voices: [{id, name, ends: by style, avatar}], settings: {name: {default, minimum, maximum, step, meaning, words}}, ticket,
// problem}. Tells `start` {model, settings, record}; a new `ticket` opens the WebSocket, in a worker (live-socket.js). What
// the service says is in studio/http/routes/live.py. Keys: 1 to 9 choose a voice, B switches the bypass, space and Enter
// start and stop.

import { Listener, isTyped, tell } from "./dom.js";
import { MIX, Sounding } from "./inputs.js";
import { measureDelay } from "./live-latency.js";
import { Played, canChoose, playTone } from "./live-outputs.js";
import { LivePanel } from "./live-panel.js";
import { alteration, refusal, sourceOf } from "./microphone.js";
import { tr } from "./texts.js";

const WHILE_SINGING = [
  "transpose", "formant_shift_semitones", "style", "accent", "consonant_protection", "texture", "wet", "voice", "bypass", "record",
];
const SILENT_DB = -100;
const LEVELS_MS = 50; // between two pictures of the levels: more would take time from the conversion
const GONE = tr("The microphone was disconnected. Live goes on as soon as you connect it again.");
const UNPLUGGED = tr("The microphone was disconnected.");
const CUT = tr("The connection to the studio has ended. Press Start to go on.");
const UNHEARD = tr("The clicks were not found. Turn the speakers up, or hold the microphone to the headphones, and measure again.");
const inDb = (share) => (share ? 20 * Math.log10(share) : SILENT_DB);

/** Return the peak and the mean of what sounds, in dB. */
function levelOf(analyser) {
  const samples = new Float32Array(analyser.fftSize);
  analyser.getFloatTimeDomainData(samples);
  const peak = samples.reduce((most, one) => Math.max(most, Math.abs(one)), 0);
  return [inDb(peak), inDb(Math.sqrt(samples.reduce((sum, one) => sum + one * one, 0) / samples.length))];
}

/** Return a node with the chosen input of a source, or the mean of all. */
function inputOf(source, choice) {
  const { context } = source, count = source.mediaStream.getAudioTracks()[0].getSettings().channelCount ?? 1;
  const split = new ChannelSplitterNode(context, { numberOfOutputs: count }), numbers = Array.from({ length: count }, (_, place) => place);
  const taken = choice === MIX ? numbers : numbers.filter((place) => place === choice - 1);
  const mono = new GainNode(context, { gain: 1 / Math.max(1, taken.length) });
  source.connect(split);
  for (const place of taken) split.connect(mono, place);
  return mono;
}

class LiveElement extends Listener {
  #data = null;
  #panel = null;
  #running = null; // {stream, context, source, node, worker, lag, input, output, played}
  #hearing = null; // {stream, context, played, input}: oneself, without a voice
  #awaited = null; // {id, group, isRecorded}: a microphone that was pulled out
  #stream = null; // of a session that is being asked for
  #used = null; // ticket
  #again = false; // whether it begins again as soon as it has ended
  #roomDelay = null; // seconds from the speakers into the microphone, once measured

  heard = [[document, "keydown", (event) => this.#key(event)]];

  set data(given) {
    if (!given) return;
    if (!this.#data) this.#build(given.settings);
    this.#data = given;
    this.#panel.list(given.voices);
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
  #build(settings) {
    this.#panel = new LivePanel(settings, {
      change: (values) => this.#change(values),
      start: () => (this.#running || this.#stream ? this.#finish(tr("Stopped.")) : this.#start()),
      again: () => {
        this.#again = true;
        this.#finish(tr("Stopped."));
      },
      measure: () => this.#measure(),
      record: () => this.#record(),
      hear: () => (this.#hearing ? this.#stopHearing() : this.#hearMyself()),
      tone: () => this.#playTone(),
      input: () => this.#running?.node?.port.postMessage({ choice: this.#panel.microphone.input }),
      back: () => this.#takeBack().catch((error) => this.#panel.say(String(error.message ?? error), true)),
      output: () => this.#settle(),
    });
    this.replaceChildren(...this.#panel.nodes);
    if (refusal()) {
      this.#panel.button.disabled = this.#panel.measure.disabled = true;
      this.#panel.say(refusal(), true);
    } else {
      this.#panel.listDevices();
      navigator.mediaDevices.addEventListener("devicechange", () => this.#lookAgain());
    }
  }

  /** Play where it is to be played now; what does not work is said. */
  async #settle() {
    for (const { played } of [this.#running, this.#hearing].filter(Boolean)) {
      await played.settle().catch((error) => this.#panel.say(error.message, true));
    }
  }

  /** Devices have come or gone: a session whose microphone was pulled out goes on when that is there again. */
  async #lookAgain() {
    await this.#panel.listDevices();
    const there = await navigator.mediaDevices.enumerateDevices(), awaited = this.#awaited;
    if (!awaited || this.#running || this.#stream) return;
    // the system's choice has the id "default", whichever microphone that is now: its group tells
    const isIt = ({ kind, deviceId, groupId }) => kind === "audioinput" && (groupId === awaited.group || (deviceId === awaited.id && deviceId !== "default"));
    if (!there.some(isIt)) return;
    this.#panel.record.setAttribute("aria-pressed", awaited.isRecorded);
    this.#start();
  }

  /** The chosen microphone is there again: what runs goes over to it from the one in its place. */
  async #takeBack() {
    const running = this.#running;
    if (this.#hearing) return this.#stopHearing(), this.#hearMyself();
    if (!running?.node) return;
    const stream = await this.#panel.microphone.open();
    const source = running.context.createMediaStreamSource(stream);
    for (const track of running.stream.getTracks()) track.stop();
    running.source.disconnect();
    source.connect(running.node);
    Object.assign(running, { stream, source, sounding: new Sounding() });
    this.#mind(running);
  }

  #mind(running) {
    const { stream } = running;
    stream.getAudioTracks()[0].addEventListener("ended", () => this.#running === running && running.stream === stream && this.#lost(running));
  }

  #key(event) {
    const { target, key } = event, isFree = target === document.body || this.contains(target);
    if (!isFree || event.repeat || !this.#panel || !this.checkVisibility() || event.ctrlKey || event.metaKey || event.altKey) return;
    if (isTyped(key, target)) return;
    const pressesItself = target.matches("summary, button:not(.voice)");
    if (/^[1-9]$/.test(key)) this.#panel.chooseAt(Number(key) - 1);
    else if (key.toLowerCase() === "b") this.#panel.bypass.click();
    else if (key === " " || (key === "Enter" && !pressesItself)) this.#panel.button.click();
    else if (key !== "Escape" || !this.#panel.close()) return;
    event.preventDefault();
  }

  #change(values) {
    const now = Object.fromEntries(Object.entries(values).filter(([name]) => WHILE_SINGING.includes(name)));
    if (Object.keys(now).length) this.#running?.worker.postMessage({ send: { change: now } });
  }

  /** Return the microphone's stream; null where the browser refuses it, which is said. */
  async #microphone() {
    this.#panel.say(tr("Asking for the microphone ..."));
    try {
      const stream = await this.#panel.microphone.open();
      await this.#panel.outputs.list(); // before anything is played
      return stream;
    } catch (error) {
      this.#panel.say(error.message, true);
      return null;
    }
  }

  async #start() {
    this.#awaited = null;
    this.#stopHearing();
    this.#panel.begin();
    this.#stream = await this.#microphone();
    if (!this.#stream) return this.#end();
    this.#panel.say(tr("Loading the voice ..."));
    tell(this, "start", { model: this.#panel.voice, settings: this.#panel.values, record: this.#panel.isRecording, at: Date.now() });
  }

  async #open(ticket) {
    const stream = this.#stream, { context, source } = sourceOf(stream);
    const address = new URL(`../live/${ticket}`, import.meta.url);
    address.protocol = address.protocol.replace("http", "ws");
    const worker = new Worker(new URL("./live-socket.js", import.meta.url));
    const running = { stream, context, source, worker, played: new Played(context, this.#panel.outputs), node: null, lag: 0, unsent: 0, sounding: new Sounding() };
    this.#running = running;
    worker.onmessage = ({ data }) => {
      if (this.#running !== running) return;
      if (data.said) this.#told(running, data.said);
      else if (data.closed) this.#end(running.last ?? CUT);
      else Object.assign(running, data);
    };
    this.#mind(running);
    await context.audioWorklet.addModule(new URL("./live-worklet.js", import.meta.url));
    await context.resume();
    worker.postMessage({ address: address.href, rate: context.sampleRate }); // now that its blocks can be played
  }

  #lost(running) {
    const { deviceId: id, groupId: group } = running.stream.getAudioTracks()[0].getSettings();
    this.#awaited = { id, group, isRecorded: this.#panel.isRecording };
    this.#finish(GONE);
  }

  #told(running, said) {
    if (said.ready) this.#ready(running, said.ready).catch((error) => this.#end(String(error.message ?? error)));
    if (said.meter) this.#metered(running, said.meter);
    if (said.notice) this.#panel.say(said.notice, true);
    if (said.error) running.last = said.error;
    if (said.finished) running.last = said.finished.task ? tr("{why} The recording is in History.", { why: running.why ?? tr("Stopped.") }) : running.why ?? tr("Stopped.");
  }

  async #ready(running, { block, lag, delay_ms, reserve }) {
    const { context, source } = running;
    running.node = new AudioWorkletNode(context, "timbre-live", {
      numberOfInputs: 1, numberOfOutputs: 2, outputChannelCount: [2, 1], channelInterpretation: "discrete",
      processorOptions: { block, reserve, choice: this.#panel.microphone.input },
    });
    Object.assign(running, { lag: lag / context.sampleRate, delay: delay_ms });
    running.node.port.onmessage = ({ data }) => (data.powers ? this.#sounds(running, data.powers, block / context.sampleRate) : Object.assign(running, data));
    const { port1, port2 } = new MessageChannel();
    running.node.port.postMessage({ port: port1 }, [port1]);
    running.worker.postMessage({ port: port2 }, [port2]);
    source.connect(running.node);
    [running.input, running.output] = [context.createAnalyser(), context.createAnalyser()];
    running.node.connect(running.input, 1);
    running.node.connect(running.output);
    if (this.#panel.isRecording) running.recordedFrom = context.currentTime;
    this.#panel.recorded(this.#panel.isRecording ? 0 : null);
    if (this.#panel.isBypassed) this.#change({ bypass: true });
    await running.played.hear(running.node);
    if (this.#running !== running) return;
    this.#panel.say(tr("Listening: sing!"));
    this.#panel.warn(alteration(running.stream));
    this.dataset.state = "running";
    this.#showLevels(running);
  }

  // Which inputs sound: where the chosen one does not, it is said.
  #sounds(running, powers, seconds) {
    if (this.#running !== running) return;
    const { microphone } = this.#panel;
    microphone.offer(powers.length);
    running.sounding.take(powers, seconds);
    this.#panel.warn([alteration(running.stream), running.sounding.said(microphone.input)].filter(Boolean).join(" "));
  }

  #showLevels(running) {
    if (this.#running !== running) return;
    if (this.isConnected && !document.hidden) this.#panel.levels(levelOf(running.input), levelOf(running.output));
    if (running.recordedFrom !== undefined) this.#panel.recorded(running.context.currentTime - running.recordedFrom);
    setTimeout(() => this.#showLevels(running), LEVELS_MS);
  }

  // Before a session it says whether that will be recorded; within one it begins, and ends with it.
  #record() {
    const { record } = this.#panel, running = this.#running;
    record.setAttribute("aria-pressed", !this.#panel.isRecording);
    if (!running) return;
    this.#change({ record: true });
    running.recordedFrom = running.context.currentTime;
  }

  #metered(running, meter) {
    const beside = this.#roomDelay ?? (running.context.baseLatency ?? 0) + (running.context.outputLatency ?? 0);
    const ms = running.heard === undefined ? null : Math.round(1000 * (running.heard + running.lag + beside));
    const lost = (running.late ?? 0) + (running.dropped ?? 0) + running.unsent + meter.dropped;
    this.#panel.metered(meter, { ms, algorithm: running.delay, lost });
    Object.assign(this.dataset, { heard: ms ?? "-", lost, work: meter.work });
  }

  /** Play the microphone as it is, by the browser alone: no voice, no service, and hardly a delay. */
  async #hearMyself() {
    const panel = this.#panel, stream = await this.#microphone();
    if (!stream) return;
    const { context, source } = sourceOf(stream), input = context.createAnalyser();
    const hearing = { stream, context, input, played: new Played(context, panel.outputs) };
    this.#hearing = hearing;
    stream.getAudioTracks()[0].addEventListener("ended", () => this.#hearing === hearing && this.#stopHearing(UNPLUGGED));
    inputOf(source, panel.microphone.input).connect(input);
    try {
      await context.resume();
      await hearing.played.hear(input);
    } catch (error) {
      return this.#stopHearing(error.message);
    }
    panel.hear.setAttribute("aria-pressed", "true");
    panel.say(tr("This is your microphone, without a voice."));
    this.#showMyself(hearing);
  }

  #showMyself(hearing) {
    if (this.#hearing !== hearing) return;
    const level = levelOf(hearing.input);
    this.#panel.levels(level, level);
    setTimeout(() => this.#showMyself(hearing), LEVELS_MS);
  }

  #stopHearing(why = "") {
    if (!this.#hearing) return;
    for (const track of this.#hearing.stream.getTracks()) track.stop();
    this.#hearing.played.close();
    this.#hearing = null;
    this.#panel.hear.setAttribute("aria-pressed", "false");
    this.#panel.say(why, Boolean(why));
  }

  /** Play a tone on the outputs; their names are known once the browser has given a microphone. */
  async #playTone() {
    const { outputs } = this.#panel, isFree = !this.#running && !this.#stream;
    if (canChoose() && !outputs.areKnown && isFree) {
      const stream = await this.#microphone();
      for (const track of stream?.getTracks() ?? []) track.stop();
    }
    if (outputs.chosen.output.isGone) return; // which is asked about
    this.#panel.tone.disabled = true;
    if (isFree) this.#panel.say(tr("A tone is playing: you should see a level in the other program."));
    await playTone(outputs).catch((error) => this.#panel.say(error.message, true));
    this.#panel.tone.disabled = false;
    if (isFree && !this.#running) this.#panel.say("");
  }

  /** Measure the delay from the speakers into the microphone. */
  async #measure() {
    const panel = this.#panel, stream = await this.#microphone();
    if (!stream) return;
    panel.button.disabled = panel.measure.disabled = true;
    panel.say(tr("Measuring: clicks are played."));
    let context = null;
    try {
      const sound = sourceOf(stream);
      context = sound.context;
      await context.audioWorklet.addModule(new URL("./live-worklet.js", import.meta.url));
      await context.resume();
      await new Played(context, this.#panel.outputs).settle();
      this.#roomDelay = await measureDelay(context, sound.source);
      panel.measured.textContent = this.#roomDelay === null ? UNHEARD : tr("Speakers to microphone: {roomdelay} ms. The delay counts this from now on.", { roomdelay: Math.round(1000 * this.#roomDelay) });
      panel.say("");
    } catch (error) {
      panel.say(String(error.message ?? error), true);
    } finally {
      for (const track of stream.getTracks()) track.stop();
      context?.close();
      panel.button.disabled = panel.measure.disabled = false;
    }
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
    this.#panel.say(tr("Ending ..."));
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
      running.played.close();
    }
    this.dataset.state = "stopped";
    this.#panel.end();
    if (this.#again) {
      this.#again = false;
      this.#start();
    } else if (why) this.#panel.say(why, true);
    if (this.#awaited) this.#lookAgain(); // it may be back already
  }
}

customElements.define("timbre-live", LiveElement);

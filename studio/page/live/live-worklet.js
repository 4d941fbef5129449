// The audio thread of <timbre-live>: collects blocks for the service and plays what comes back.
//
// A block is played one block and the reserve after its first sample was heard, or as soon as it is there. What comes
// late makes the delay longer; a quiet block takes back what turns out to be to spare.
//
// In: {port} to live-socket.js, {choice} of an input: "mix" or its number, or {end}. Out: {heard} now and then: seconds from
// a block's first sample until it was played, {late} blocks that came too late, {dropped} blocks that came too fast; with
// each block {powers}: the mean square of each input. On the port, both ways: {frame, samples}. What goes out: what is
// played, and what was taken of the microphone.

const FADE = 0.985; // a sample, of a step where sound stops or goes on
const TELL_EVERY = 12; // blocks
const MOST_WAITING = 4; // blocks; more would only add delay
const CALM = 150; // blocks without a late one, until the delay may shrink
const QUIET = 0.003; // of full scale: nobody hears that a little of it is left out

class Live extends AudioWorkletProcessor {
  constructor({ processorOptions: { block, reserve, choice = "mix" } }) {
    super();
    Object.assign(this, { block, reserve, choice, powers: [], filled: 0, place: 0, queue: [], playing: false, due: null, tail: 0, last: 0, step: 0 });
    Object.assign(this, { late: 0, dropped: 0, count: 0, heard: 0, calm: 0, spare: Infinity, socket: null, ended: false });
    this.samples = new Float32Array(block);
    this.port.onmessage = ({ data }) => {
      if (data.end) this.ended = true;
      if (data.port) this.attach(data.port);
      if (data.choice) this.choice = data.choice;
    };
  }

  attach(port) {
    this.socket = port;
    this.socket.onmessage = ({ data }) => this.take(data);
  }

  take(block) {
    const missed = !this.playing && this.due === null;
    if (!missed) this.spare = Math.min(this.spare, this.queue.reduce((sum, { samples }) => sum + samples.length, -this.place));
    this.queue.push(block);
    if (this.queue.length <= MOST_WAITING) return;
    while (this.queue.length > 2) {
      this.queue.shift();
      this.dropped += 1;
    }
    if (this.playing) this.begin();
  }

  // The next sample continues from the last one, and the difference fades.
  begin() {
    this.place = 0;
    this.step = this.last - (this.queue[0]?.samples[0] ?? 0);
  }

  process([input], [output, taken]) {
    const channel = this.pick(input);
    if (channel) taken?.[0]?.set(channel);
    this.record(channel);
    const [first, ...others] = output;
    for (let i = 0; i < first.length; i += 1) first[i] = this.next(i);
    for (const channel of others) channel.set(first);
    return !this.ended;
  }

  // The chosen input, or the mean of all; nothing before the microphone has begun.
  pick(input) {
    if (this.powers.length !== input.length) this.powers = input.map(() => 0);
    input.forEach((channel, place) => {
      for (const one of channel) this.powers[place] += (one * one) / this.block;
    });
    if (input.length < 2 || this.choice !== "mix") return input[this.choice - 1] ?? input[0];
    return input[0].map((_, i) => input.reduce((sum, channel) => sum + channel[i], 0) / input.length);
  }

  record(channel) {
    for (let i = 0; i < 128; i += 1) {
      if (this.filled === 0) this.frame = currentFrame + i;
      this.samples[this.filled] = channel ? channel[i] : 0;
      this.filled += 1;
      if (this.filled === this.block) {
        this.socket?.postMessage({ frame: this.frame, samples: this.samples }, [this.samples.buffer]);
        this.samples = new Float32Array(this.block);
        this.filled = 0;
        if (this.powers.length) this.port.postMessage({ powers: this.powers });
        this.powers = this.powers.map(() => 0);
      }
    }
  }

  next(i) {
    let value = 0;
    const block = this.queue[0];
    if (!this.playing && block && currentFrame + i >= block.frame + this.block + this.reserve) {
      this.playing = true;
      if (block.frame !== this.due) this.begin(); // otherwise it is just in time
    }
    if (!this.playing) this.miss();
    if (this.playing) {
      if (this.place === 0) this.note(block, currentFrame + i - block.frame);
      value = block.samples[this.place];
      this.place += 1;
      if (this.place === block.samples.length) this.shift();
    }
    this.step *= FADE;
    this.last = value + this.step;
    return this.last;
  }

  shift() {
    const { frame, samples } = this.queue.shift();
    this.place = 0;
    if (this.queue.length) return;
    this.playing = false;
    this.due = frame + this.block;
    this.tail = samples.at(-1);
  }

  // The block that should be heard now is not there: the sound fades to silence from where it was.
  miss() {
    if (this.due === null) return;
    this.due = null;
    this.late += 1;
    this.calm = 0;
    this.spare = Infinity;
    this.step += this.tail;
  }

  note(block, frames) {
    this.skip(block, frames - this.block - this.reserve);
    this.calm += 1;
    this.count += 1;
    this.heard = (frames - this.place) / sampleRate;
    if (this.count % TELL_EVERY === 0) this.port.postMessage({ heard: this.heard, late: this.late, dropped: this.dropped });
  }

  // Leave out the beginning of a quiet block where the delay has grown by more than it needs.
  skip({ samples }, grown) {
    if (grown <= 0 || this.calm < CALM || samples.some((one) => Math.abs(one) > QUIET)) return;
    this.place = Math.max(0, Math.min(grown, this.spare, samples.length - 1));
    this.step = this.last - samples[this.place];
    this.calm = 0;
    this.spare = Infinity;
  }
}

registerProcessor("timbre-live", Live);

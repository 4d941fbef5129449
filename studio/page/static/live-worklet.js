// The audio thread of <timbre-live>: collects blocks for the service and plays what comes back.
//
// A block is played one block and the reserve after its first sample was heard, or as soon as it is there.
//
// Out: {frame, samples} for each block; {heard} now and then: seconds from a block's first sample until it was played,
// {late} blocks that came too late, {dropped} blocks that came too fast. In: {frame, samples}, or {end}.

const FADE = 0.985; // a sample, of a step where sound stops or goes on
const TELL_EVERY = 12; // blocks
const MOST_WAITING = 4; // blocks; more would only add delay

class Live extends AudioWorkletProcessor {
  constructor({ processorOptions: { block, reserve } }) {
    super();
    Object.assign(this, { block, reserve, filled: 0, place: 0, queue: [], playing: false, last: 0, step: 0, ended: false });
    Object.assign(this, { late: 0, dropped: 0, count: 0, heard: 0 });
    this.samples = new Float32Array(block);
    this.port.onmessage = ({ data }) => {
      if (data.end) this.ended = true;
      else this.take(data);
    };
  }

  take(block) {
    this.queue.push(block);
    if (this.queue.length <= MOST_WAITING) return;
    while (this.queue.length > 2) {
      this.queue.shift();
      this.dropped += 1;
    }
    if (this.playing) this.begin();
  }

  // The next sample continues the last one, and the difference fades.
  begin() {
    this.place = 0;
    this.step = this.last - (this.queue[0]?.samples[0] ?? 0);
  }

  process([input], [output]) {
    this.record(input[0]);
    const [first, ...others] = output;
    for (let i = 0; i < first.length; i += 1) first[i] = this.next(i);
    for (const channel of others) channel.set(first);
    return !this.ended;
  }

  record(channel) {
    for (let i = 0; i < 128; i += 1) {
      if (this.filled === 0) this.frame = currentFrame + i;
      this.samples[this.filled] = channel ? channel[i] : 0;
      this.filled += 1;
      if (this.filled === this.block) {
        this.port.postMessage({ frame: this.frame, samples: this.samples }, [this.samples.buffer]);
        this.samples = new Float32Array(this.block);
        this.filled = 0;
      }
    }
  }

  next(i) {
    let value = 0;
    if (!this.playing && this.queue.length && currentFrame + i >= this.queue[0].frame + this.block + this.reserve) {
      this.playing = true;
      this.begin();
    }
    if (this.playing) {
      const block = this.queue[0];
      if (this.place === 0) this.note(currentFrame + i - block.frame);
      value = block.samples[this.place];
      this.place += 1;
      if (this.place === block.samples.length) this.shift();
    }
    this.step *= FADE;
    this.last = value + this.step;
    return this.last;
  }

  shift() {
    const end = this.queue.shift().samples.at(-1);
    this.place = 0;
    if (this.queue.length) return;
    this.playing = false;
    this.late += 1;
    this.step += end; // fades to silence from where the sound was
  }

  note(frames) {
    this.count += 1;
    this.heard = frames / sampleRate;
    if (this.count % TELL_EVERY === 0) this.port.postMessage({ heard: this.heard, late: this.late, dropped: this.dropped });
  }
}

registerProcessor("timbre-live", Live);

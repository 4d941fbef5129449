// The audio thread of capture.js. Out: blocks, a Float32Array of each input; null after the last. In: anything ends it.

const BLOCK = 2048; // samples

class Capture extends AudioWorkletProcessor {
  constructor() {
    super();
    Object.assign(this, { blocks: [], filled: 0, ended: false });
    this.port.onmessage = () => {
      this.send();
      this.port.postMessage(null);
      this.ended = true;
    };
  }

  process([input]) {
    if (this.ended) return false;
    if (!input.length) return true; // the microphone has not begun
    if (this.blocks.length !== input.length || this.filled === BLOCK) {
      this.send();
      this.blocks = input.map(() => new Float32Array(BLOCK));
    }
    input.forEach((channel, place) => this.blocks[place].set(channel, this.filled));
    this.filled += input[0].length;
    return true;
  }

  send() {
    if (this.filled) this.port.postMessage(this.blocks.map((block) => block.subarray(0, this.filled)));
    this.filled = 0;
  }
}

registerProcessor("timbre-capture", Capture);

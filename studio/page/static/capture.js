// The samples of a microphone, as they come.
//
// Chromium hands out what the track itself carries (MediaStreamTrackProcessor). Elsewhere an audio thread reads it, at the
// pace of the output: where output and microphone have clocks of their own, some browsers drop or insert a few samples.

import { sourceOf } from "./microphone.js";

const MOST_WAITING = 4096; // blocks of 10 ms, while the page is busy

/** Give each block to `take(channels, rate)`, a Float32Array of each input. Returns what ends it, after the last block. */
export async function capture(stream, take) {
  return "MediaStreamTrackProcessor" in window ? fromTrack(stream, take) : fromThread(stream, take);
}

function fromTrack(stream, take) {
  const [track] = stream.getAudioTracks(), reader = new MediaStreamTrackProcessor({ track, maxBufferSize: MOST_WAITING }).readable.getReader();
  const all = (async () => {
    for (let next = await reader.read(); !next.done; next = await reader.read()) {
      const { value } = next, { numberOfChannels, numberOfFrames, sampleRate } = value;
      const channels = Array.from({ length: numberOfChannels }, (_, planeIndex) => {
        const samples = new Float32Array(numberOfFrames);
        value.copyTo(samples, { planeIndex, format: "f32-planar" });
        return samples;
      });
      value.close();
      take(channels, sampleRate);
    }
  })();
  return async () => {
    track.stop(); // which ends what is read
    await all;
  };
}

async function fromThread(stream, take) {
  const { context, source } = sourceOf(stream);
  await context.audioWorklet.addModule(new URL("./capture-worklet.js", import.meta.url));
  await context.resume();
  const node = new AudioWorkletNode(context, "timbre-capture", { numberOfOutputs: 0, channelInterpretation: "discrete" });
  const all = new Promise((done) => {
    node.port.onmessage = ({ data }) => (data ? take(data, context.sampleRate) : done());
  });
  source.connect(node);
  return async () => {
    node.port.postMessage("end");
    await all;
    for (const track of stream.getTracks()) track.stop();
    context.close();
  };
}

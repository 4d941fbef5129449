// How long sound takes from the speakers back into the microphone, by the browser and the devices: clicks are played and
// found again.

const CLICKS = 5, APART_S = 0.4, LEAD_S = 0.3, LONGEST_S = 0.35;
const CLICK_S = 0.002, CLICK_HZ = 3000, LEVEL = 0.5;
const ABOVE = 8; // times the noise before it, to be a click
const ALIKE_S = 0.006; // how far clicks may differ
const BLOCK = 1024; // samples
const SILENT = 1e-4; // of full scale: digital silence has no noise to compare with

/** Return the delay in seconds of clicks that were played at `places` (samples), or null where they were not found. */
export function findDelay(samples, places, rate) {
  const delays = [];
  for (const place of places) {
    const before = samples.subarray(Math.max(0, place - Math.round(0.05 * rate)), place);
    const after = samples.subarray(place, place + Math.round(LONGEST_S * rate));
    const loudest = peak(after);
    if (loudest < ABOVE * Math.max(peak(before), SILENT)) continue;
    delays.push(after.findIndex((one) => Math.abs(one) > loudest / 2) / rate);
  }
  delays.sort((a, b) => a - b);
  const middle = delays[Math.floor(delays.length / 2)];
  const alike = delays.filter((one) => Math.abs(one - middle) < ALIKE_S).length;
  return alike > CLICKS / 2 ? middle : null;
}

function peak(samples) {
  return samples.reduce((most, one) => Math.max(most, Math.abs(one)), 0);
}

/** Play clicks in a context, and find them in its source; return the delay in seconds, or null. */
export async function measureDelay(context, source) {
  const { sampleRate: rate } = context, length = Math.round((LEAD_S + CLICKS * APART_S + LONGEST_S) * rate);
  const heard = new Float32Array(length), { port1, port2 } = new MessageChannel();
  const node = new AudioWorkletNode(context, "timbre-live", { outputChannelCount: [1], channelCount: 1, channelCountMode: "explicit", processorOptions: { block: BLOCK, reserve: 0 } });
  node.port.postMessage({ port: port1 }, [port1]);
  source.connect(node).connect(context.destination);
  const begin = Math.round(context.currentTime * rate);
  const places = Array.from({ length: CLICKS }, (_, i) => Math.round((LEAD_S + i * APART_S) * rate));
  for (const place of places) play(context, (begin + place) / rate);
  await new Promise((done) => {
    port2.onmessage = ({ data: { frame, samples } }) => {
      const at = frame - begin, cut = Math.max(0, -at);
      if (at + samples.length > 0 && at < length) heard.set(samples.subarray(cut, cut + length - Math.max(0, at)), Math.max(0, at));
      if (at >= length) done();
    };
  });
  node.port.postMessage({ end: true });
  node.disconnect();
  return findDelay(heard, places, rate);
}

function play(context, seconds) {
  const rate = context.sampleRate, click = context.createBuffer(1, Math.round(CLICK_S * rate), rate), samples = click.getChannelData(0);
  for (let i = 0; i < samples.length; i += 1) samples[i] = LEVEL * Math.sin((2 * Math.PI * CLICK_HZ * i) / rate);
  const player = new AudioBufferSourceNode(context, { buffer: click });
  player.connect(context.destination);
  player.start(seconds);
}

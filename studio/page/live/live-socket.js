// The worker of <timbre-live>: carries blocks between the audio thread and the service.
//
// It is a thread of its own, so that nothing the page does, such as drawing, can make a gap.
//
// In: {address, rate} opens the WebSocket, {port} is the audio thread's, {send} goes to the service.
// Out: {said} by the service, {unsent} blocks so far, {closed}. On the port: see live-worklet.js.

const MOST_UNSENT = 4; // blocks that the network has not taken; more are dropped
const MOST_AWAITED = 100; // blocks; what comes later is not played

const frames = new Map(); // of the blocks that were sent, by number
let socket = null, port = null;
let number = 0, unsent = 0;

onmessage = ({ data }) => {
  if (data.address) open(data);
  if (data.port) attach(data.port);
  if (data.send) ask(data.send);
};

function open({ address, rate }) {
  socket = new WebSocket(address);
  socket.binaryType = "arraybuffer";
  socket.onopen = () => socket.send(JSON.stringify({ rate }));
  socket.onclose = () => postMessage({ closed: true });
  socket.onmessage = ({ data }) => (typeof data === "string" ? postMessage({ said: JSON.parse(data) }) : play(data));
}

// Nothing has begun before the WebSocket is open, so to stop then is to be closed.
function ask(message) {
  if (socket?.readyState === WebSocket.OPEN) socket.send(JSON.stringify(message));
  else if (message.stop) postMessage({ closed: true });
}

function attach(given) {
  port = given;
  port.onmessage = ({ data }) => send(data);
}

function send({ frame, samples }) {
  if (socket.readyState !== WebSocket.OPEN || socket.bufferedAmount > MOST_UNSENT * samples.byteLength) {
    unsent += 1;
    postMessage({ unsent });
    return;
  }
  number += 1;
  frames.set(number, frame);
  frames.delete(number - MOST_AWAITED);
  const message = new ArrayBuffer(4 + samples.byteLength);
  new DataView(message).setUint32(0, number, true);
  new Float32Array(message, 4).set(samples);
  socket.send(message);
}

function play(data) {
  const frame = frames.get(new DataView(data).getUint32(0, true));
  if (frame === undefined || !port) return;
  const samples = new Float32Array(data.slice(4));
  port.postMessage({ frame, samples }, [samples.buffer]);
}

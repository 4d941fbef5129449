// The microphone: the one place of the page that opens it.
//
// It comes as it is. A browser's gain control would flatten a crescendo, its noise suppression and echo cancelling eat
// sustained vowels: https://www.w3.org/TR/mediacapture-streams/#constrainable-properties.

import { tr } from "./texts.js";

const RATE = 48_000;
const MOST_INPUTS = 8; // of an interface; the browser gives as many as there are
/** What browsers do to the sound of a microphone, and what it is called. */
const CHANGES = { autoGainControl: tr("gain control"), noiseSuppression: tr("noise suppression"), echoCancellation: tr("echo cancelling"), voiceIsolation: tr("voice isolation") };
const UNALTERED = { ...Object.fromEntries(Object.keys(CHANGES).map((name) => [name, false])), channelCount: { ideal: MOST_INPUTS } };
const INSECURE = tr("Browsers allow the microphone only on pages from this machine or over https. Open the studio at http://127.0.0.1, or serve it over TLS.");
/** By the names of https://www.w3.org/TR/mediacapture-streams/#dom-mediadevices-getusermedia. */
const REFUSED = {
  NotAllowedError: tr("The microphone is blocked for this page: allow it beside the page's address or in your system's settings, then try again."),
  NotFoundError: tr("No microphone was found: connect one, then try again."),
};
const BUSY = tr("The microphone could not be opened: close other programs that use it, then try again.");

/** Return why no microphone can be opened here, or "". */
export const refusal = () => (window.isSecureContext && navigator.mediaDevices?.getUserMedia ? "" : INSECURE);

/** Open a microphone, or the browser's own choice for "" and where it is not there. Throws an Error with a sentence. */
export async function openMicrophone(device = "") {
  if (refusal()) throw new Error(refusal());
  try {
    return await navigator.mediaDevices.getUserMedia({ audio: { ...UNALTERED, ...(device ? { deviceId: { ideal: device } } : {}) } });
  } catch ({ name }) {
    throw new Error(REFUSED[name] ?? BUSY);
  }
}

/** Return what is to be said where the browser changes the sound of a stream all the same, or "". */
export function alteration(stream) {
  const settings = stream.getAudioTracks()[0].getSettings(), names = Object.keys(CHANGES).filter((name) => settings[name]);
  if (!names.length) return "";
  return tr("This browser still changes the sound of the microphone ({names}). Use another browser, or record with another program and open the file.", { names: names.map((name) => CHANGES[name]).join(", ") });
}

/** Return a context with a stream as its source. Firefox connects no microphone of another rate than the context's. */
export function sourceOf(stream) {
  for (const rate of [RATE, undefined]) {
    const context = new AudioContext({ ...(rate ? { sampleRate: rate } : {}), latencyHint: "interactive" });
    try {
      return { context, source: context.createMediaStreamSource(stream) };
    } catch (error) {
      context.close();
      if (!rate) throw error;
    }
  }
}

// A file that cannot be sent, as the studio is out of reach, is not lost: it is kept in this browser, over a reload too, and
// sent when the studio is back.
//
// All uploads of the page are Gradio's, from a field for files, whoever fills that: a drop, a dialog, the recorder. Gradio
// forgets the file when the connection fails, and reloads the page when the studio is back. On the document,
// "timbre-kept" {names, stop} tells of files that wait, and null of none.

import { tr } from "./texts.js";

const UPLOAD = "/upload", JOIN = "/queue/join", LOOK = "/app_id"; // what Gradio asks for; the last before it reloads
const AWAY = new Set([502, 504]); // what a proxy answers for a studio that is gone
const AGAIN_MS = 2000;
const DATABASE = "timbre-kept", STORE = "uploads";
const SOON_MS = 200; // until Gradio shows its error
const ask = window.fetch.bind(window);
const places = new Map(); // where files were given, by what Gradio keeps of them: it sends others of the same content
let job = null; // {job, files} that drop.js is at
let sent = []; // keys of uploads whose event has not reached the studio
let isReloading = false, waiting = 0;

window.fetch = async (...asked) => {
  const address = String(asked[0]?.url ?? asked[0]).split("?")[0];
  if (address.endsWith(LOOK)) isReloading = true;
  if (asked[1]?.method !== "POST" || ![UPLOAD, JOIN].some((one) => address.endsWith(one))) return ask(...asked);
  return address.endsWith(UPLOAD) ? upload(asked) : join(asked);
};

/** Whether files wait for the studio. */
export function isWaiting() {
  return waiting > 0;
}

/** What is uploaded until this has ended is of a job, which is done anew as a whole after a reload. */
export async function during(name, files, act) {
  const one = (job = { job: name, files });
  try {
    return await act();
  } finally {
    if (job === one) job = null;
  }
}

/** Give back what was kept before the page was loaded: again({job, files} or {place, files}). */
export async function restore(again) {
  for (const { key, entry } of (await stored("readonly", (store) => store.getAll())) ?? []) {
    await again(entry);
    await forget(key);
  }
}

async function upload(asked) {
  const files = asked[1].body.getAll("files"), one = { key: crypto.randomUUID?.() ?? String(Math.random()), entry: job ?? { place: places.get(told(files[0])), files } };
  let answer = isReloading ? null : await tried(asked);
  if (!answer) {
    waiting += 1;
    await keep(one);
    let stop = null;
    const stopped = new Promise((_, fail) => (stop = () => fail(new TypeError(tr("Cancelled")))));
    tell({ names: files.map(({ name }) => name), stop });
    try {
      while (!answer) {
        await Promise.race([back(), stopped]);
        if (!isReloading) answer = await tried(asked);
        if (isReloading) answer = null; // the page after the reload sends it
      }
    } catch (error) {
      await forget(one.key);
      setTimeout(() => document.querySelectorAll(".block:has(.upload-container) .clear-status button").forEach((mark) => mark.click()), SOON_MS); // it is none
      throw error;
    } finally {
      waiting -= 1;
      if (!waiting) tell(null);
    }
  }
  sent.push(one);
  return answer;
}

/** The event that says what was uploaded: where it does not arrive, the page after the reload sends all anew. */
async function join(asked) {
  const delivered = sent;
  sent = [];
  const answer = await ask(...asked).catch(async (error) => {
    for (const one of delivered) await keep(one);
    throw error;
  });
  for (const { key } of delivered) await forget(key);
  return answer;
}

/** Return the answer, or null where the studio cannot be reached. */
async function tried(asked) {
  const answer = await ask(...asked).catch((error) => (error instanceof TypeError ? null : Promise.reject(error)));
  return answer && !AWAY.has(answer.status) ? answer : null;
}

function back() {
  return new Promise((done) => {
    window.addEventListener("online", done, { once: true });
    setTimeout(done, AGAIN_MS);
  });
}

function tell(detail) {
  document.dispatchEvent(new CustomEvent("timbre-kept", { detail }));
}

function keep(one) {
  return stored("readwrite", (store) => store.put(one));
}

function forget(key) {
  return stored("readwrite", (store) => store.delete(key));
}

/** Do something with what is kept; nothing where the browser keeps nothing: then it lasts as long as the page. */
function stored(mode, act) {
  return new Promise((done) => {
    try {
      const opened = indexedDB.open(DATABASE, 1);
      opened.onupgradeneeded = () => opened.result.createObjectStore(STORE, { keyPath: "key" });
      opened.onerror = () => done(null);
      opened.onsuccess = () => {
        const { result } = opened, transaction = result.transaction(STORE, mode), asked = act(transaction.objectStore(STORE));
        const end = (found) => (result.close(), done(found));
        transaction.oncomplete = () => end(asked.result);
        transaction.onabort = () => end(null);
      };
    } catch {
      done(null);
    }
  });
}

function given({ target, dataTransfer }) {
  const place = target instanceof Element && target.closest(".block[id]");
  for (const file of (place && (target.files ?? dataTransfer?.files)) || []) places.set(told(file), `#${place.id}`);
}

function told({ name, size }) {
  return `${size} ${name}`;
}

for (const event of ["change", "drop"]) document.addEventListener(event, given, true);

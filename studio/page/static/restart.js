// Reload an open page whose server does not know it: after a restart, or as Gradio forgot the messages to it, which it does
// where a stream ends late on a busy machine. The browser restores inputs, settings and running work from its memory. The
// same when the visitor has to log in again.

const HEADER = "X-Timbre-Start", STREAM = "/queue/data";
const UNKNOWN = 401; // the session was lost in the restart
const FORGOTTEN = /"session_not_found": ?true/;
const LAST = "timbre-forgotten", AGAIN_MS = 20_000; // no page reloads over and over
const ask = window.fetch.bind(window);
let mark = null;

window.fetch = async (...asked) => {
  const answer = await ask(...asked);
  const now = answer.headers.get(HEADER);
  if (now !== null) {
    mark ??= now;
    if (now !== mark || answer.status === UNKNOWN) location.reload();
  }
  if (answer.url.includes(STREAM) && answer.body) follow(answer.clone()).catch(() => {}); // it was ended
  return answer;
};

/** Read a stream of messages beside Gradio, until one says that the session is forgotten. */
async function follow({ body }) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  for (let { value, done } = await reader.read(); !done; { value, done } = await reader.read()) {
    if (!FORGOTTEN.test(value) || Date.now() - Number(sessionStorage.getItem(LAST)) < AGAIN_MS) continue;
    sessionStorage.setItem(LAST, String(Date.now()));
    location.reload();
  }
}

// Reload an open page after its server has restarted: the new server does not know the page, and the browser restores
// inputs, settings and running work from its memory. The same when the visitor has to log in again.

const HEADER = "X-Timbre-Start";
const UNKNOWN = 401; // the session was lost in the restart
const ask = window.fetch.bind(window);
let mark = null;

window.fetch = async (...asked) => {
  const answer = await ask(...asked);
  const now = answer.headers.get(HEADER);
  if (now !== null) {
    mark ??= now;
    if (now !== mark || answer.status === UNKNOWN) location.reload();
  }
  return answer;
};

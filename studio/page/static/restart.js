// A page that was open when its server was started anew is loaded anew: the server remembers nothing of it any more,
// and what was put in, set and begun comes back from the browser's memory. The same where one has to log in again.

const HEADER = "X-Timbre-Start";
const UNKNOWN = 401; // whoever was logged in before the server was started anew
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

// What this browser remembers; one that keeps nothing remembers it until the page is left.

const HERE = new Map();

/** Return what is remembered under a key: {} for nothing. */
export function remembered(key) {
  try {
    return JSON.parse(localStorage.getItem(key)) ?? {};
  } catch {
    return HERE.get(key) ?? {};
  }
}

export function remember(key, value) {
  HERE.set(key, value);
  try {
    localStorage.setItem(key, JSON.stringify(value));
  } catch {} // there is no room, or it is forbidden
}

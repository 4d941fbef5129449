// Level, place and buttons of each lane, kept in this browser: over a reload, and for a project that is exported.
//
// Of a lane: {gain_db, pan, mute, solo}; mute: null as long as nothing was said of it. Of a song's backing that was moved also
// shift_s: how many seconds later than in the song's mix all the others begin. A take's key is its task and its number,
// also where it is a harmony, that of a lane of a song its task and its name, and that of the recording the task of each
// of its takes and "recording": by these studio/actions/project_exports.py knows them.

const KEY = "timbre-faders", MOST_KEPT = 300; // lanes
export const LOWEST_DB = -60, HIGHEST_DB = 12;
const USUAL = { gain_db: 0, pan: 0, mute: null, solo: false };

export class Faders {
  #now = new Map(); // by key

  /** usual: what it is as long as it was not moved. */
  of(key, usual = {}) {
    if (!this.#now.has(key)) this.#now.set(key, { ...USUAL, ...usual, ...keptFaders()[key] });
    return this.#now.get(key);
  }

  put(key, values) {
    this.keep(key, Object.assign(this.of(key), values));
  }

  keep(key, fader) {
    const { [key]: _, ...others } = keptFaders(); // another window may have kept some
    try {
      localStorage.setItem(KEY, JSON.stringify(Object.fromEntries([...Object.entries(others), [key, fader]].slice(-MOST_KEPT))));
    } catch {
      // no room, or not allowed: they last as long as the page
    }
  }
}

/** All that this browser has, by key. */
export function keptFaders() {
  try {
    return JSON.parse(localStorage.getItem(KEY)) ?? {};
  } catch {
    return {};
  }
}

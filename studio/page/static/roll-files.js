// What a roll fetches: arrays of curves and pictures, each once, kept while it is shown.

import { tinted } from "./roll-drawing.js";
import { tr } from "./texts.js";

export class Files {
  #arrays = new Map(); // url -> {content}, null until it is there
  #images = new Map(); // url -> {image, drawn}, null until they are there
  #told;

  /** read(): arrays are there; came(): anything is there; failed(sentence): something could not be fetched. */
  constructor({ read, came, failed }) {
    this.#told = { read, came, failed };
  }

  /** A part of the data with its arrays; null until they are there. */
  filled(part) {
    if (!part?.url) return part ?? null;
    const content = this.#arrays.get(part.url)?.content;
    return content ? { ...content, ...part } : null;
  }

  /** A picture in these colours; null until it is there. */
  image(url, colours) {
    let kept = this.#images.get(url);
    if (!kept) {
      kept = { image: null, drawn: null };
      this.#images.set(url, kept);
      this.#fetch(url, this.#images, tr("The spectrogram could not be loaded. The link may have expired: reload the page."), async (answer) => (kept.image = await createImageBitmap(await answer.blob())));
    }
    if (kept.image && !kept.drawn) kept.drawn = tinted(kept.image, colours);
    return kept.drawn;
  }

  /** Tint pictures anew when they are asked for. */
  retint() {
    for (const kept of this.#images.values()) kept.drawn = null;
  }

  /** Fetch these arrays, and forget all others and all other images. */
  keep(arrays, images) {
    for (const url of this.#arrays.keys()) if (!arrays.has(url)) this.#arrays.delete(url);
    for (const url of this.#images.keys()) if (!images.has(url)) this.#images.delete(url);
    for (const url of arrays) {
      if (this.#arrays.has(url)) continue;
      const file = { content: null };
      this.#arrays.set(url, file);
      this.#fetch(url, this.#arrays, tr("The pitch data could not be loaded. The link may have expired: reload the page."), async (answer) => {
        file.content = await answer.json();
        this.#told.read();
      });
    }
  }

  /** Fetch and take what is at this address; where that fails, forget it there and report it. */
  async #fetch(url, kept, failure, take) {
    try {
      const answer = await fetch(url);
      if (!answer.ok) throw new Error(String(answer.status));
      await take(answer);
      this.#told.came();
    } catch {
      kept.delete(url);
      this.#told.failed(failure);
    }
  }
}

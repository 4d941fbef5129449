// <timbre-roll>: pitch over a spectrogram, with notes, range, loudness and waveform, to be looked at closely.
//
// data: {id, duration_s, picture: {url, scale: "note" | "mel" | "linear", lowest_hertz, highest_hertz, start_s, end_s,
//   tiles: [{url, start_s, end_s}]}, pictures: [the same with a label, to choose from],
//   curves: [{label, colour, isSung, url | step_s, hertz, confidence, offset_s, semitones}], range: {low, high, label} (MIDI),
//   notes: [{start_s, end_s, midi}], loudness: {url | step_s, db}, waveform: {url | step_s, low, high}, follows,
//   group, shown}
// A url leads to a JSON file with those arrays. follows: the id of a player, whose position is shown, and which is sent
// to where one clicks. group: rolls of one group show the same seconds. shown: which of "notes", "range", "waveform",
// "loudness", "confidence" are there at first; by default range, waveform and loudness. hidden: indices of curves that
// are hidden at first. hint: a help text of its own. isClose: whether it is zoomed to the pitch range at first.
// origin_s: of the player's time, what is 0 here. kept: addresses of pictures that may be shown again soon.
// For an instrument, which has a player's tracks as lanes: strips: [{waveform, isChosen, label}] below the picture,
// stripHeight, gutter: the width left of everything; wave: a waveform, drawn with `layers`, of "waveform", "spectrogram"
// and "pitch", in one place; colour: of the notes, and darker of the curve that isSung.
//
// Other elements extend it by replacing `paintOver` and `grasp`.

import { Listener, drag, make } from "./dom.js";
import * as draw from "./roll-drawing.js";
import { Files } from "./roll-files.js";
import { savePicture, toggle, tool } from "./roll-tools.js";
import { fixed, tr } from "./texts.js";

const LANES = { waveform: 44, loudness: 52, confidence: 40 }; // heights
const NAMED = { notes: tr("Notes"), range: tr("Range"), waveform: tr("Waveform"), loudness: tr("Loudness"), confidence: tr("Confidence") };
const SCALES = { waveform: [], loudness: ["0 dB", "−40", "−80"], confidence: ["100 %", "0"] };
const GAP = 8, TIMES = 20, HEIGHTS = 66, NARROW_HEIGHTS = 38, HERTZ = 52, NARROW = 560, MAP = 30;
const STRIP_GAP = 2, WAVE = 56;
const MAPPED_S = 60; // recordings of at least this have a map even where all of them is seen
export const ZOOM = 1.6;
const CLICK = 4; // pixels a click may move
const CLOSE_UP = 4; // semitones around the pitch
const HINT = tr("Click to play from there. Drag to scroll. Arrow keys move the cursor. Zoom with Ctrl+wheel, two fingers, or + and −.");

export class Roll extends Listener {
  #data = null;
  #plot = new draw.Plot(1);
  #picture = null;
  #shown = new Set();
  #hidden = new Set(); // indices of curves
  #isClose = false;
  #cursor = null; // {seconds, hertz or null}
  #head = null; // seconds of the player that is followed
  #isPlaying = false;
  #files = new Files({ read: () => this.#lookCloser(), came: () => this.redraw(), failed: (sentence) => this.#trouble(sentence) });
  #parts = null;
  #frame = 0;
  #isStale = true; // whether the base has to be painted again
  #pointers = new Map();
  #resized = new ResizeObserver(() => (this.redraw(), this.resized()));
  #themed = new MutationObserver(() => {
    this.#files.retint();
    this.redraw();
  });

  set data(given) {
    const old = this.#data;
    this.#data = given ?? null;
    if (!given) {
      this.#parts = null;
      this.replaceChildren();
      return;
    }
    if (old?.id !== given.id || old.duration_s !== given.duration_s) {
      this.#plot = new draw.Plot(given.duration_s);
      this.#cursor = this.#head = null;
      this.#isClose = given.isClose ?? false;
      this.#picture = null;
    }
    if (!old || old.id !== given.id || String(old.hidden) !== String(given.hidden)) this.#hidden = new Set(given.hidden ?? []);
    if (!old || String(old.shown) !== String(given.shown)) this.#shown = new Set(given.shown ?? ["range", "waveform", "loudness"]);
    this.#usePicture(this.#offered().find((one) => one.scale === this.#picture?.scale) ?? given.picture ?? null);
    this.#build();
    this.#load();
    this.redraw();
  }

  get data() {
    return this.#data;
  }

  /** What is looked at, and where it lies. */
  get plot() {
    return this.#plot;
  }

  get seconds() {
    return this.#cursor?.seconds ?? this.#head ?? 0;
  }

  connectedCallback() {
    super.connectedCallback();
    this.#themed.observe(document.body, { attributes: true, attributeFilter: ["class"] });
    if (this.#parts) this.#resized.observe(this.#parts.stage);
  }

  disconnectedCallback() {
    super.disconnectedCallback();
    this.#themed.disconnect();
    this.#resized.disconnect();
    cancelAnimationFrame(this.#frame);
    this.#frame = 0;
  }

  // ---- for those that build on it

  /** paintOver(context, plot, colours): draw over everything; called with every picture.
   * @param {any[]} _given */
  paintOver(..._given) {}

  /** Called when the picture has another size. */
  resized() {}

  /** grasp(place, event): whether a press at the place {seconds, hertz} is handled, so that the roll ignores it.
   * @param {any[]} _given */
  grasp(..._given) {
    return false;
  }

  /** Draw everything again, soon. */
  redraw() {
    this.#isStale = true;
    this.redrawOver();
  }

  /** Draw again what lies over the picture. */
  redrawOver() {
    this.#frame ||= requestAnimationFrame(() => {
      this.#frame = 0;
      this.#paint();
    });
  }

  /** A curve as it is drawn: with its arrays, once they are there. */
  curve(index) {
    return this.#filled(this.#data?.curves?.[index]);
  }

  /** The toolbar. */
  get tools() {
    return this.#parts?.tools;
  }

  /** Where the strips are: [{x, y, width, height}]. */
  get strips() {
    return this.#layOut(this.#parts.stage.clientWidth, this.#parts.stage.clientHeight).filter(({ strip }) => strip).map(({ box }) => box);
  }

  /** Where the times are written. */
  get ruler() {
    const { y, height } = this.strips.at(-1) ?? this.#plot.box;
    return { y: y + height, height: TIMES };
  }

  /** The index of the strip at a place {x, y}; -1 for none. */
  stripAt({ x, y }) {
    return this.strips.findIndex((box) => x >= box.x && y >= box.y && y <= box.y + box.height);
  }

  /** Follow the pointer that is down: `to(seconds)` for every movement, and `drop()` at the end. */
  follow(event, to, drop = () => {}) {
    const { stage } = this.#parts, { left } = stage.getBoundingClientRect();
    drag(event, stage, (moved) => to(this.#plot.seconds(moved.clientX - left)), drop);
  }

  zoom(factor) {
    this.#zoom(factor, this.#zoomedAt());
  }

  /** Have the player play from here. */
  seek(seconds) {
    if (this.#data.follows == null) return;
    const at = Math.min(Math.max(seconds, 0), this.#plot.duration) + (this.#data.origin_s ?? 0);
    document.dispatchEvent(new CustomEvent("timbre-seek", { detail: { id: this.#data.follows, seconds: at }, bubbles: true }));
  }

  /** Look at these seconds. */
  show(start, end) {
    this.#look(this.#plot.show(start, end));
  }

  // ---- events of other elements

  #timed = (event) => {
    const { id, seconds, playing } = event.detail;
    if (!this.#data || this.#data.follows == null || id !== this.#data.follows) return;
    this.#head = seconds - (this.#data.origin_s ?? 0);
    this.#isPlaying = playing;
    const { start, end, span } = this.#plot;
    if (playing && !this.#pointers.size && (this.#head < start || this.#head > end)) this.show(this.#head - 0.05 * span, this.#head + 0.95 * span);
    this.redrawOver();
  };

  #viewed = (event) => {
    const { group, from, start, end } = event.detail;
    if (!this.#data?.group || group !== this.#data.group || from === this) return;
    this.#plot.show(start, end);
    this.redraw();
  };

  heard = [[document, "timbre-time", this.#timed], [document, "timbre-view", this.#viewed]];

  #tellView() {
    const { start, end } = this.#plot;
    if (this.#data?.group) document.dispatchEvent(new CustomEvent("timbre-view", { detail: { group: this.#data.group, from: this, start, end } }));
  }

  // ---- files and pictures

  #offered() {
    return this.#data?.pictures?.length ? this.#data.pictures : this.#data?.picture ? [this.#data.picture] : [];
  }

  #usePicture(picture) {
    const another = picture?.scale !== this.#picture?.scale || !this.#picture;
    this.#picture = picture;
    if (another) {
      this.#plot.usePicture(picture);
      this.#lookCloser();
    } else {
      this.#plot.picture = picture ?? this.#plot.picture;
    }
  }

  #urls() {
    const { curves = [], loudness, waveform } = this.#data;
    return new Set([...curves, loudness, waveform].map((one) => one?.url).filter(Boolean));
  }

  #filled(part) {
    return this.#files.filled(part);
  }

  #image(url) {
    return this.#files.image(url, this.#colours());
  }

  /** Forget what is no longer shown, and fetch what is missing. */
  #load() {
    const images = this.#offered().flatMap((one) => [one.url, ...(one.tiles ?? []).map((tile) => tile.url)]);
    this.#files.keep(this.#urls(), new Set([...images, ...(this.#data.kept ?? [])]));
  }

  #trouble(sentence) {
    if (!this.#parts) return;
    this.#parts.trouble.hidden = false;
    this.#parts.trouble.textContent = sentence;
  }

  #colours() {
    return draw.coloursOf(this);
  }

  // ---- actions

  #lookCloser() {
    const range = this.#isClose ? this.#pitchRange() : null;
    if (range) this.#plot.showHeights(range.low * 2 ** (-CLOSE_UP / 12), range.high * 2 ** (CLOSE_UP / 12));
    else this.#plot.showHeights();
  }

  /** The lowest and highest hertz of all notes, or of all curves without the outermost percent. */
  #pitchRange() {
    const notes = (this.#data.notes ?? []).map(({ midi }) => draw.toHertz(midi));
    if (notes.length) return { low: Math.min(...notes), high: Math.max(...notes) };
    const all = (this.#data.curves ?? [])
      .map((one) => this.#filled(one))
      .flatMap((one) => one?.hertz?.filter((hertz, i) => hertz > 0 && (one.confidence?.[i] ?? 1) > 0.6).map((hertz) => hertz * 2 ** ((one.semitones ?? 0) / 12)) ?? [])
      .sort((a, b) => a - b);
    return all.length ? { low: all[Math.floor(all.length * 0.01)], high: all[Math.floor(all.length * 0.99)] } : null;
  }

  #zoom(factor, seconds) {
    this.#look(this.#plot.zoom(factor, seconds));
  }

  #scroll(seconds) {
    this.#look(this.#plot.scroll(seconds));
  }

  #look(changed) {
    if (changed) this.#tellView();
    this.redraw();
  }

  #moveCursor(seconds, hertz = null) {
    this.#cursor = { seconds: Math.min(Math.max(seconds, 0), this.#plot.duration), hertz };
    const { start, end, span } = this.#plot;
    if (hertz === null && (seconds < start || seconds > end)) this.#scroll(this.#cursor.seconds - start - span / 2);
    this.redrawOver();
  }

  #key = (event) => {
    if (event.target !== this.#parts.stage || event.metaKey || event.altKey || event.ctrlKey) return;
    const { span, duration, start } = this.#plot;
    const step = event.shiftKey ? 0.01 : span / 50;
    const acts = {
      ArrowRight: () => this.#moveCursor(this.seconds + step),
      ArrowLeft: () => this.#moveCursor(this.seconds - step),
      ArrowUp: () => this.#zoom(ZOOM, this.seconds),
      ArrowDown: () => this.#zoom(1 / ZOOM, this.seconds),
      "+": () => this.#zoom(ZOOM, this.seconds),
      "=": () => this.#zoom(ZOOM, this.seconds),
      "-": () => this.#zoom(1 / ZOOM, this.seconds),
      0: () => this.show(0, duration),
      PageDown: () => this.#scroll(0.9 * span),
      PageUp: () => this.#scroll(-0.9 * span),
      Home: () => this.#moveCursor(0),
      End: () => this.#moveCursor(duration),
      Enter: () => this.seek(this.seconds),
      Escape: () => {
        this.#cursor = null;
        this.show(start, start + span);
      },
    };
    if (!acts[event.key] || (event.key === "0" && this.#data.strips)) return; // 0 is a lane there
    event.preventDefault();
    acts[event.key]();
  };

  #wheel = (event) => {
    const { seconds } = this.#placeOf(event);
    const along = Math.abs(event.deltaX) > Math.abs(event.deltaY) ? event.deltaX : event.shiftKey ? event.deltaY : 0;
    if (event.ctrlKey || event.metaKey || (!along && this.#data.layers && !this.#isScrolled)) this.#zoom(Math.exp(-event.deltaY / 200), seconds);
    else {
      if (!along || this.#plot.isWhole) return; // the page scrolls
      this.#scroll(along / this.#plot.pixelsPerSecond);
    }
    event.preventDefault();
  };

  /** Whether what it stands in can be scrolled, which the wheel is for then. */
  get #isScrolled() {
    for (let place = this.parentElement; place; place = place.parentElement) {
      if (place.scrollHeight > place.clientHeight + 1 && /auto|scroll/.test(getComputedStyle(place).overflowY)) return true;
    }
    return document.documentElement.scrollHeight > innerHeight + 1;
  }

  #placeOf(event) {
    const { left, top } = this.#parts.stage.getBoundingClientRect();
    const [x, y] = [event.clientX - left, event.clientY - top];
    const { box } = this.#plot;
    return { seconds: this.#plot.seconds(x), hertz: y > box.y && y < box.y + box.height ? this.#plot.hertz(y) : null, x, y };
  }

  #pressed = (event) => {
    if (event.button > 0) return;
    const place = this.#placeOf(event);
    if (!this.#pointers.size && this.grasp(place, event)) return;
    this.#parts.stage.setPointerCapture(event.pointerId);
    this.#pointers.set(event.pointerId, { ...place, from: place.x, moved: false });
    if (this.#pointers.size > 1) for (const one of this.#pointers.values()) one.moved = true; // no tap of either
  };

  #moved = (event) => {
    const place = this.#placeOf(event);
    const held = this.#pointers.get(event.pointerId);
    if (!held) {
      if (event.pointerType !== "touch") this.#moveCursor(place.seconds, place.hertz ?? NaN);
      return;
    }
    held.moved ||= Math.abs(place.x - held.from) > CLICK;
    if (this.#pointers.size === 2) this.#pinch(event.pointerId, place);
    else if (held.moved) this.#scroll((held.x - place.x) / this.#plot.pixelsPerSecond);
    held.x = place.x;
  };

  #pinch(moving, place) {
    const [other] = [...this.#pointers].filter(([id]) => id !== moving).map(([, one]) => one);
    const before = Math.abs(this.#pointers.get(moving).x - other.x), now = Math.abs(place.x - other.x);
    if (before > 10 && now > 10) this.#zoom(now / before, this.#plot.seconds(other.x));
  }

  #released = (event) => {
    const held = this.#pointers.get(event.pointerId);
    this.#pointers.delete(event.pointerId);
    if (!held || held.moved || event.type === "pointercancel") return;
    const { seconds, hertz } = this.#placeOf(event);
    this.#moveCursor(seconds, hertz ?? NaN);
    this.seek(seconds);
  };

  #left = () => {
    if (this.#pointers.size || document.activeElement === this.#parts.stage) return;
    this.#cursor = null;
    this.redrawOver();
  };

  // ---- what is seen

  #build() {
    if (this.#parts) return this.#buildTools();
    const stage = make("div", { class: "roll-stage", role: "slider", tabindex: 0, "aria-valuemin": 0, "aria-description": HINT });
    const base = make("canvas", { "aria-hidden": "true" }), over = make("canvas", { class: "roll-over", "aria-hidden": "true" });
    stage.append(base, over);
    const map = make("canvas", { class: "roll-map", "aria-hidden": "true" });
    const parts = {
      stage, base, over, map, tools: make("div", { class: "roll-tools", role: "toolbar", "aria-label": tr("Display") }),
      told: make("div", { class: "roll-told", translate: "no" }), trouble: make("p", { class: "roll-trouble", role: "alert", hidden: true }),
    };
    stage.addEventListener("keydown", this.#key);
    stage.addEventListener("wheel", this.#wheel, { passive: false });
    stage.addEventListener("pointerdown", this.#pressed);
    stage.addEventListener("pointermove", this.#moved);
    for (const name of ["pointerup", "pointercancel"]) stage.addEventListener(name, this.#released);
    stage.addEventListener("pointerleave", this.#left);
    map.addEventListener("pointerdown", this.#dragMap);
    this.#parts = parts;
    this.replaceChildren(parts.tools, stage, map, parts.told, parts.trouble);
    this.#resized.observe(stage);
    this.#buildTools();
  }

  #buildTools() {
    const { tools, trouble } = this.#parts;
    const had = tools.contains(document.activeElement) ? /** @type {HTMLElement} */ (document.activeElement).dataset.tool : null;
    trouble.hidden = true;
    const save = tool(tr("Save image"), { title: tr("Save this view as a PNG file") }, () => savePicture([this.#parts.base, this.#parts.over], this.#colours().ground, this.#data.file_name ?? "pitch.png"));
    tools.replaceChildren(...this.#pictureTools(), this.#zoomTools(), this.#layerTools(), save);
    if (had) [...tools.querySelectorAll("button")].find((one) => one.dataset.tool === had)?.focus();
  }

  #pictureTools() {
    const offered = this.#offered();
    if (offered.length < 2) return [];
    const choices = offered.map((picture) =>
      tool(picture.label ?? picture.scale, { role: "radio", "aria-checked": picture.scale === this.#picture?.scale }, () => {
        this.#usePicture(picture);
        this.#buildTools();
        this.redraw();
      }),
    );
    return [make("span", { class: "roll-group", role: "radiogroup", "aria-label": tr("Spectrogram") }, choices)];
  }

  #zoomTools() {
    return make("span", { class: "roll-group" },
      tool("−", { "aria-label": tr("Zoom out"), title: tr("Zoom out (−)") }, () => this.zoom(1 / ZOOM)),
      tool("+", { "aria-label": tr("Zoom in"), title: tr("Zoom in (+)") }, () => this.zoom(ZOOM)),
      tool(tr("Full length"), { title: tr("Show the whole recording (0)") }, () => this.show(0, this.#plot.duration)),
      toggle(tr("Fit pitch"), this.#isClose, tr("Zoom to the pitch range"), (isOn) => {
        this.#isClose = isOn;
        this.#lookCloser();
        this.redraw();
      }));
  }

  #layerTools() {
    const include = (set, key, isIn) => {
      if (isIn) set.add(key);
      else set.delete(key);
      this.redraw();
    };
    const curves = (this.#data.curves ?? []).map((curve, index) => {
      const one = toggle(curve.label || tr("Curve {index}", { index: index + 1 }), !this.#hidden.has(index), null, (isOn) => include(this.#hidden, index, !isOn));
      one.style.setProperty("--of", curve.colour ?? "var(--accent)");
      one.classList.add("roll-curve");
      return one;
    });
    const there = { notes: this.#data.notes?.length, range: this.#data.range, ...this.#offeredLanes() };
    const layers = Object.entries(NAMED).filter(([name]) => there[name])
      .map(([name, label]) => toggle(label, this.#shown.has(name), null, (isOn) => include(this.#shown, name, isOn)));
    return make("span", { class: "roll-group" }, curves, layers);
  }

  #zoomedAt() {
    const { start, end } = this.#plot;
    return this.#head !== null && this.#head > start && this.#head < end ? this.#head : (start + end) / 2;
  }

  #isIn(layer) {
    return this.#data.layers?.includes(layer) ?? layer !== "waveform";
  }

  #offeredLanes() {
    return { waveform: !this.#data.layers && this.#data.waveform, loudness: this.#data.loudness, confidence: this.#data.curves?.length };
  }

  #lanes() {
    const there = this.#offeredLanes();
    return Object.keys(LANES).filter((name) => there[name] && this.#shown.has(name));
  }

  #lanesHeight() {
    const strips = (this.#data.strips ?? []).length * ((this.#data.stripHeight ?? 0) + STRIP_GAP);
    return this.#lanes().reduce((sum, name) => sum + LANES[name] + GAP, strips);
  }

  /** The plot's box and the lanes' below it, for a stage of this width and height. */
  #layOut(width, height) {
    const isOfNotes = (this.#picture?.scale ?? "note") === "note";
    const left = this.#data.gutter ?? (!isOfNotes ? HERTZ : width < NARROW ? NARROW_HEIGHTS : HEIGHTS);
    this.#plot.box = { x: left, y: 4, width: Math.max(width - left - (this.#data.layers ? 6 : 2), 10), height: Math.max(height - this.#lanesHeight() - TIMES - 6, 40) };
    let y = this.#plot.box.y + this.#plot.box.height + GAP;
    const placed = (more, height, gap) => {
      const box = { x: left, y, width: this.#plot.box.width, height };
      y += height + gap;
      return { ...more, box };
    };
    const lanes = this.#lanes().map((name) => placed({ name }, LANES[name], GAP));
    return [...lanes, ...(this.#data.strips ?? []).map((strip) => placed({ strip }, this.#data.stripHeight, STRIP_GAP))];
  }

  #paint() {
    if (!this.#parts || !this.isConnected) return;
    const { stage, base, over, map } = this.#parts;
    stage.style.setProperty("--lanes", `${this.#lanesHeight() + TIMES + 6}px`);
    const { clientWidth: width, clientHeight: height } = stage;
    if (!width || !height) return;
    const lanes = this.#layOut(width, height);
    const colours = this.#colours();
    if (this.#isStale) this.#paintBase(draw.sized(base, width, height), lanes, colours, width);
    this.#isStale = false;
    this.#paintOver(draw.sized(over, width, height), lanes, colours);
    const picture = this.#picture, whole = picture?.url && this.#isIn("spectrogram") ? this.#image(picture.url) : null;
    if (map.clientWidth) draw.drawMap(draw.sized(map, map.clientWidth, MAP), this.#plot, { width: map.clientWidth, height: MAP }, { picture, whole, wave: this.#data.wave, head: this.#head }, colours);
    this.#tell();
  }

  #paintBase(context, lanes, colours, width) {
    const plot = this.#plot, { box } = plot;
    const isKeys = Boolean(this.#data.layers) && this.#isIn("pitch") && !this.#isIn("spectrogram"); // as a piano roll
    draw.clipped(context, box, () => {
      if (this.#isIn("spectrogram")) draw.drawPicture(context, plot, this.#picture, (url) => this.#image(url));
      else if (isKeys) draw.drawKeys(context, plot, colours);
      const wave = this.#data.wave ?? this.#filled(this.#data.waveform);
      if (this.#isIn("waveform") && wave?.low) this.#paintWave(context, wave, colours);
      if (this.#isIn("pitch") && this.#shown.has("range") && this.#data.range) draw.drawRange(context, plot, this.#data.range, colours);
    });
    if (this.#isIn("pitch") || this.#isIn("spectrogram")) draw.drawHeights(context, plot, colours, width < NARROW || Boolean(this.#data.layers), isKeys);
    draw.drawTimes(context, plot, colours, box.y, this.#bottom(lanes));
    if (this.#isIn("pitch")) draw.clipped(context, box, () => {
      if (this.#shown.has("notes") && this.#data.notes) draw.drawNotes(context, plot, this.#data.notes, colours, colours.of(this.#data.colour ?? "var(--range)"));
      for (const curve of this.#seen()) if (curve.hertz) draw.drawCurve(context, plot, curve, curve.isSung ? colours.shade(this.#data.colour) : colours.of(curve.colour ?? "var(--accent)"), colours);
      if (this.#shown.has("range") && this.#data.range) draw.nameRange(context, plot, this.#data.range, colours);
    });
    for (const { name, strip, box } of lanes) {
      if (strip) draw.drawStrip(context, plot, box, strip, colours);
      else this.#paintLane(context, name, box, colours);
    }
  }

  /** The waveform behind the pitch: a strip below it, and without pitch as high as there is room. */
  #paintWave(context, wave, colours) {
    const plot = this.#plot, { box } = plot;
    const height = this.#isIn("pitch") ? Math.min(WAVE, box.height / 3) : box.height;
    const strip = { ...box, y: box.y + box.height - height, height };
    draw.drawWaveform(context, plot, strip, wave, this.#isIn("spectrogram") ? colours.accent : colours.wave, this.#isIn("pitch") ? 0.4 : 0.8);
  }

  /** Where the lowest lane ends, or the plot. */
  #bottom(lanes) {
    const { y, height } = lanes.at(-1)?.box ?? this.#plot.box;
    return y + height;
  }

  /** The curves that are not hidden, with their arrays where those are there. */
  #seen() {
    return (this.#data.curves ?? []).map((one) => this.#filled(one)).filter((one, index) => one && !this.#hidden.has(index));
  }

  #paintLane(context, name, box, colours) {
    const plot = this.#plot;
    if (name === "waveform") {
      const waveform = this.#filled(this.#data.waveform);
      if (waveform?.low) draw.drawWaveform(context, plot, box, waveform, colours.pale);
    } else if (name === "loudness") {
      const loudness = this.#filled(this.#data.loudness);
      if (loudness?.db) draw.drawLoudness(context, plot, box, loudness, colours);
    } else {
      for (const curve of this.#seen()) if (curve.confidence) draw.drawConfidence(context, plot, box, curve, colours.of(curve.colour ?? "var(--accent)"));
    }
    draw.drawLaneName(context, box, NAMED[name], colours);
    draw.drawLaneScale(context, box, SCALES[name], colours);
  }

  #paintOver(context, lanes, colours) {
    const plot = this.#plot, { box } = plot, bottom = this.#bottom(lanes);
    this.paintOver(context, plot, colours);
    const upright = (seconds, colour, width) => {
      if (seconds === null || seconds < plot.start - 1e-9 || seconds > plot.end + 1e-9) return;
      context.fillStyle = colour;
      context.fillRect(plot.x(seconds) - width / 2, box.y, width, bottom - box.y);
    };
    if (this.#cursor) {
      upright(this.#cursor.seconds, colours.pale, 1);
      if (this.#cursor.hertz > 0) {
        context.fillStyle = colours.pale;
        context.fillRect(box.x, plot.y(this.#cursor.hertz) - 0.5, box.width, 1);
      }
    }
    upright(this.#head, colours.accent, 2);
  }

  #dragMap = (event) => {
    const { map } = this.#parts;
    const to = (moved) => {
      const { left, width } = map.getBoundingClientRect();
      const at = ((moved.clientX - left) / width) * this.#plot.duration;
      this.show(at - this.#plot.span / 2, at + this.#plot.span / 2);
    };
    drag(event, map, to);
    to(event);
  };

  /** Describe what is under the cursor, or where the player is. */
  #tell() {
    const { stage, told } = this.#parts;
    const at = this.#cursor?.seconds ?? this.#head;
    const words = at === null ? [] : this.#words(at, this.#cursor?.hertz);
    told.textContent = (this.#cursor || !this.#data.layers ? words.join("   ") : "") || tr(this.#data.hint ?? HINT);
    told.classList.toggle("help-text", !this.#cursor && Boolean(this.#data.layers));
    this.classList.toggle("whole", this.#plot.isWhole && this.#plot.duration < MAPPED_S);
    if (this.#head !== null && this.#isPlaying) return; // screen readers stay quiet while it plays
    stage.setAttribute("aria-label", this.#data.label ?? tr("Pitch and spectrogram"));
    stage.setAttribute("aria-valuemax", this.#plot.duration.toFixed(2));
    stage.setAttribute("aria-valuenow", (at ?? 0).toFixed(2));
    stage.setAttribute("aria-valuetext", words.join(", ") || "0:00.00");
  }

  #words(seconds, hertz) {
    const words = [draw.clock(seconds, 2)];
    const said = (hertz, digits = 1) => [draw.noteWithCents(draw.toMidi(hertz)), tr("{hertz} Hz", { hertz: fixed(hertz, digits) })].join(" · ");
    if (hertz > 0) words.push(said(hertz, hertz < 1000 ? 1 : 0));
    const at = (curve, values) => values?.[Math.round((seconds - (curve.offset_s ?? 0)) / curve.step_s)];
    for (const curve of this.#seen()) {
      if (!curve.hertz) continue;
      const hertz = at(curve, curve.hertz), sure = at(curve, curve.confidence);
      const isPitch = hertz > 0 && (sure ?? 1) > draw.TRUSTED; // where it is drawn
      const label = curve.label || tr("Pitch");
      if (!isPitch) words.push(`${label}: ${tr("unvoiced")}`);
      else if (this.#data.layers) words.push(`${label}: ${draw.noteWithCents(draw.toMidi(hertz))}`); // little room
      else if (sure == null) words.push(`${label}: ${said(hertz)}`);
      else {
        const share = Math.round(100 * sure), confidence = tr("confidence {share} %", { share });
        words.push(`${label}: ${said(hertz)} (${confidence})`);
      }
    }
    const loudness = this.#filled(this.#data.loudness), db = loudness && at(loudness, loudness.db);
    if (db != null) words.push(tr("{value} dB", { value: fixed(db, 1) }));
    return words;
  }
}

customElements.define("timbre-roll", Roll);

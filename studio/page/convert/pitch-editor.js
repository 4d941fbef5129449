// <timbre-pitch-editor>: selects and edits stretches of a take's pitch, on a roll that it is given and that it has to
// itself meanwhile.
//
// data: {id, duration_s, step_s, hertz, confidence, edits, changes: [{first, hertz}], octaves: [{start_s, end_s, by}], tools, isBusy}, as
//   `studio.actions.conversions.edits.edit_view` gives it. roll: a <timbre-roll>, set before. screen: the node with it that is
//   shown between the tools; else the roll. backdrop: what the roll shows beside the pitch, as its data.
// Later data of the same id may be partial: {id, version, changes} answers `changed`, or {id, version, isRefused: true}.
// Tells `changed` {id, edits, version} with each step, `previewed` {id, edits, start_s, end_s, version} to hear what is
// touched, which `hear` plays, `expected` {id, edits, start_s, end_s} before that, to hear it sooner, `ordered` {id, edits}
// to have all rendered once there is a pause, and `wanted` {id} where it receives partial data of an id it does not have.
// Steps are told as edit-steps.js says.

import { tell } from "./dom.js";
import { EditMemory } from "./edit-memory.js";
import { did, refused } from "./edit-steps.js";
import { describe, openPlaces, paintPlaces, placeAt } from "./octave-places.js";
import { PitchTools, SHAPES } from "./pitch-tools.js";
import { clipped, clock, drawCurve, drawNotes, line, noteWithCents, outlined, toMidi } from "./roll-drawing.js";
import "./roll.js";
import { openSound, output } from "./sound.js";
import { ntr, signed, tr } from "./texts.js";

const SHORTEST_S = 0.05; // of a selection
const EDGE = 7, NEAR = 16, STILL = 4; // pixels
const TOUCH = 2.2; // times as many for a finger
const VOICED = 0.6;
const LEAP = 1.5; // semitones; more is another note
const LOWEST_NOTE = 30, HIGHEST_NOTE = 96; // that can be drawn
const FINE = 0.1;
const REST_MS = 60; // of the pointer on a note, or of the selection
const PAUSE_MS = 1200; // without a step, until all of them are rendered
const STEPS = { shift: tr("Move notes"), smooth: tr("Smooth"), octave: tr("Fix octave"), snap: tr("Snap to notes"), draw: tr("Draw") };
const BEFORE_COLOUR = "#8a94a0", NOW_COLOUR = "var(--accent)";
const HINT = tr("Drag a note up or down, with Alt by cents. Drag beside the notes to select. Click to play from there.");
const KEYS = tr("[ and ] start and end the selection at the cursor. Alt+Left and Alt+Right select the previous and next note. Up and Down shift the selection by a semitone, with Alt by 10 cents.");

export class PitchEditor extends HTMLElement {
  selection = null; // {start, end} in seconds
  #data = null;
  #history = new EditMemory();
  #version = 0;
  // the curves in hertz: as converted, and as edited
  #before = null;
  #now = null;
  #previews = 0;
  #prepared = new Set();
  #tried = null; // edits that are not done yet, as while a slider is dragged
  #sounding = null; // what is heard of the edits
  #soon = 0; // timer
  #resting = 0; // likewise
  roll = null;
  screen = null;
  #backdrop = {};
  #tools = null;
  #drag = null; // what the pointer is doing: {does, ...}

  set data(given) {
    if (!given) {
      this.#leave();
    } else if (given.hertz) this.#open(given);
    else if (given.id !== this.#data?.id) tell(this, "wanted", { id: given.id });
    else {
      if (given.version !== undefined) this.#answer(given);
      else {
        Object.assign(this.#data, given);
        this.#follow();
      }
      this.#show();
    }
  }

  get data() {
    return this.#data;
  }

  set backdrop(given) {
    this.#backdrop = given;
    if (this.#data) this.#feed();
  }

  get edits() {
    return this.#history.now;
  }

  /** The tools, for whoever lays them out. */
  get bubble() {
    return this.#tools?.bubble;
  }

  get strip() {
    return this.#tools?.strip;
  }

  #open(given) {
    const isSame = given.id === this.#data?.id;
    this.#data = given;
    this.#before = given.hertz;
    this.#now = this.#with(given.changes);
    this.#history.open(given.id, given.edits);
    if (!isSame) this.selection = null;
    this.#build();
    this.#feed();
    if (!this.#history.isRendered) this.#ask();
    if (!isSame) this.#prepared = new Set();
    this.#prepare(this.#notes().find((note) => note.end_s > this.roll.seconds) ?? { start_s: 0, end_s: SHORTEST_S }); // loads all it needs
    this.#show();
  }

  #with(changes) {
    const curve = this.#before.slice();
    for (const { first, hertz } of changes) hertz.forEach((one, frame) => (curve[first + frame] = one));
    return curve;
  }

  #answer({ version, changes, isRefused }) {
    if (isRefused) {
      if (this.#tried) return this.#ask();
      return refused();
    }
    if (version !== this.#version) return; // something newer is on its way
    this.#with(changes).forEach((hertz, frame) => (this.#now[frame] = hertz)); // the roll has this very array
    this.#follow();
  }

  #ask(edits = this.edits) {
    this.#tried = edits === this.edits ? null : edits;
    tell(this, "changed", { id: this.#data.id, edits, version: ++this.#version });
  }

  /** Have what is selected played, with these edits. */
  #preview(edits) {
    if (!this.selection) return;
    document.dispatchEvent(new CustomEvent("timbre-play", { detail: { player: this } }));
    tell(this, "previewed", { id: this.#data.id, edits, start_s: this.selection.start, end_s: this.selection.end, version: ++this.#previews });
  }

  /** Have what is about to be touched prepared, once, so that it is heard sooner. */
  #prepare({ start_s, end_s }) {
    const [start, end] = [start_s, Math.min(end_s, this.#data.duration_s)].map((one) => Math.round(100 * one) / 100), key = `${start} ${end}`;
    if (this.#prepared.has(key) || end - start < SHORTEST_S) return;
    this.#prepared.add(key);
    tell(this, "expected", { id: this.#data.id, edits: this.edits, start_s: start, end_s: end });
  }

  /** Prepare what is found once the pointer or the selection has rested. */
  #rest(found) {
    clearTimeout(this.#resting);
    this.#resting = setTimeout(() => {
      if (this.#drag) return this.#rest(found);
      const stretch = this.#data && found();
      if (stretch) this.#prepare(stretch);
    }, REST_MS);
  }

  /** Play a stretch of the edited take: {url}. */
  async hear({ url }) {
    const sound = await openSound(url, []).catch(() => null); // no waveform of it is shown
    this.#sounding?.stop();
    this.#sounding = this.#data && sound;
    await this.#sounding?.start(0);
  }

  /** Have all rendered once there is a pause. */
  #follow() {
    clearTimeout(this.#soon);
    this.#soon = setTimeout(() => this.#drag || this.#tried || this.#order(), PAUSE_MS);
  }

  #order() {
    const edits = !this.#data || this.#data.isBusy ? null : this.#history.order();
    if (edits) tell(this, "ordered", { id: this.#data.id, edits });
  }

  // ---- actions

  select(start, end) {
    const last = this.#data.duration_s;
    if (start === null) this.selection = null;
    else {
      const [from, to] = [Math.max(0, Math.min(start, end)), Math.min(last, Math.max(start, end))].map((one) => Math.round(one * 100) / 100);
      this.selection = { start: Math.max(0, Math.min(from, last - SHORTEST_S)), end: Math.min(last, Math.max(to, from + SHORTEST_S)) };
      this.#rest(() => this.selection && { start_s: this.selection.start, end_s: this.selection.end });
    }
    this.#show();
  }

  selectAll() {
    this.select(0, this.#data.duration_s);
  }

  /** Select the note before (-1) or after (1) the selection, or the cursor. */
  selectNote(step) {
    const notes = this.#notes();
    const { start, end } = this.selection ?? { start: this.roll.seconds, end: this.roll.seconds };
    const found = step > 0 ? notes.find((note) => note.start_s >= end - 0.02) : notes.findLast((note) => note.end_s <= start + 0.02);
    if (found) this.#selectAndLook(found.start_s, found.end_s);
  }

  selectNoteAt(seconds) {
    const found = this.#noteAt(seconds);
    if (found) this.select(found.start_s, found.end_s);
  }

  #noteAt(seconds) {
    return this.#notes().find(({ start_s, end_s }) => start_s <= seconds && seconds <= end_s);
  }

  /** Go to the next place that is probably an octave off. */
  nextPlace() {
    const places = this.#places(), from = this.selection?.start ?? this.roll.seconds - 1e-6;
    const next = places.find(({ start_s }) => Math.round(100 * start_s) / 100 > from) ?? places[0];
    if (next) this.#selectAndLook(next.start_s, next.end_s);
  }

  /** Correct the selected place, or this one. */
  correct(place = this.#selectedPlace()) {
    this.select(place.start_s, place.end_s);
    this.apply({ tool: "octave", by: place.by });
  }

  #places() {
    return openPlaces(this.#data.octaves ?? [], this.#before, this.#now, this.#data.step_s);
  }

  #selectedPlace() {
    const { start, end } = this.selection ?? {};
    return this.#places().find(({ start_s, end_s }) => Math.abs(start_s - start) < 0.02 && Math.abs(end_s - end) < 0.02);
  }

  /** Edit the selection: {tool, ...}. */
  apply(edit) {
    if (!this.selection) return;
    const now = this.#edited(edit);
    if (edit.tool === "shift") this.#guess((hertz) => hertz * 2 ** (edit.semitones / 12));
    this.#step(now, STEPS[edit.tool]);
  }

  /** Return the edits with one more. */
  #edited(edit) {
    const whole = { tool: edit.tool, start_s: this.selection.start, end_s: this.selection.end, ...edit };
    const edits = this.edits, last = edits.at(-1);
    const goesOn = edit.tool === "shift" && last?.tool === "shift" && last.start_s === whole.start_s && last.end_s === whole.end_s;
    if (!goesOn) return [...edits, whole];
    const semitones = Math.round(1000 * Math.min(24, Math.max(-24, last.semitones + edit.semitones))) / 1000;
    return semitones === 0 ? edits.slice(0, -1) : [...edits.slice(0, -1), { ...last, semitones }];
  }

  /** How far the selection was moved by itself, in semitones. */
  get #shifted() {
    const { start, end } = this.selection ?? {}, last = this.edits.at(-1);
    return last?.tool === "shift" && last.start_s === start && last.end_s === end ? last.semitones : 0;
  }

  /** Move the selection so far from where it was. */
  shiftTo(semitones) {
    const by = Math.round(1000 * (semitones - this.#shifted)) / 1000;
    if (by) this.apply({ tool: "shift", semitones: by });
  }

  /** Change one of SHAPES of each note of the selection; isDone: false while a slider is dragged. */
  shape(change, isDone = true) {
    if (!this.selection) return;
    const edits = this.edits.slice();
    for (const { start, end } of this.#selectedNotes()) {
      const known = edits.findLastIndex((one) => isShape(one, start, end));
      const whole = { tool: "note", start_s: start, end_s: end, ...edits[known], ...change };
      edits.splice(known < 0 ? edits.length : known, 1, whole);
    }
    if (isDone) return this.#step(edits, SHAPES[Object.keys(change)[0]].name);
    this.#ask(edits);
    this.#preview(edits);
  }

  /** Make two notes of the selected one, at the cursor or in its middle. */
  split() {
    const [{ start, end }, ...others] = this.#selectedNotes();
    if (others.length || end - start < 2 * SHORTEST_S) return;
    const at = this.roll.seconds, isIn = at > start + SHORTEST_S && at < end - SHORTEST_S, middle = Math.round(100 * (isIn ? at : (start + end) / 2)) / 100;
    const own = this.edits.findLast((one) => isShape(one, start, end)), left = this.edits.filter((one) => one !== own);
    const half = (start_s, end_s) => ({ ...own, tool: "note", start_s, end_s });
    this.#step([...left, half(start, middle), half(middle, end)], tr("Split note"));
    this.select(start, middle);
  }

  /** Make one note of the selected ones, shaped as the first. */
  merge() {
    const notes = this.#selectedNotes(), [start, end] = [notes[0].start, notes.at(-1).end];
    const within = (one) => notes.some((note) => isShape(one, note.start, note.end));
    const first = this.edits.find((one) => isShape(one, start, notes[0].end));
    this.#step([...this.edits.filter((one) => !within(one)), { ...first, tool: "note", start_s: start, end_s: end }], tr("Merge notes"));
    this.select(start, end);
  }

  /** The notes within the selection, {start, end}; without any, the selection itself. */
  #selectedNotes() {
    const { start, end } = this.selection, last = this.#data.duration_s;
    const within = this.#notes().filter((note) => note.start_s >= start - 0.02 && note.end_s <= end + 0.02);
    const placed = within.map((note) => ({ start: Math.round(100 * note.start_s) / 100, end: Math.round(100 * Math.min(note.end_s, last)) / 100 }));
    return placed.length ? placed : [this.selection];
  }

  setNote(midi) {
    if (this.selection) this.apply({ tool: "draw", points: [[this.selection.start, midi]] });
  }

  removeAll() {
    if (this.edits.length) this.#step([], tr("Revert"));
  }

  #step(edits, name) {
    const before = this.edits, { id } = this.#data;
    if (JSON.stringify(edits) === JSON.stringify(before)) return this.#ask(); // a slider is back where it was
    did(name, () => this.#restore(id, before), () => this.#restore(id, edits));
    this.#restore(id, edits);
    this.#preview(edits);
  }

  /** Return to edits of a take; false where another one is open. */
  #restore(id, edits) {
    if (this.#data?.id !== id) return false;
    this.#history.now = edits;
    this.#ask();
    this.#show();
  }

  /** Show about what the curve will be, until the answer is there. */
  #guess(moved) {
    const [first, stop] = this.#frames();
    for (let i = first; i <= stop; i++) this.#now[i] = moved(this.#now[i]);
  }

  #frames({ start, end } = this.selection) {
    return [Math.round(start / this.#data.step_s), Math.min(Math.round(end / this.#data.step_s), this.#now.length - 1)];
  }

  #selectAndLook(start, end) {
    this.select(start, end);
    const { start: from, end: to, span } = this.roll.plot;
    if (start < from || end > to) this.roll.show((start + end - span) / 2, (start + end + span) / 2);
  }

  #key = (event) => {
    if (event.target.matches("input:not([type=range]), select")) return;
    const isCommand = event.ctrlKey || event.metaKey;
    const onStage = event.target.closest(".roll-stage"), shifts = onStage && this.selection;
    const shift = (semitones) => () => this.apply({ tool: "shift", semitones });
    const acts = isCommand
      ? { a: () => this.selectAll() }
      : event.altKey
        ? {
            arrowup: shift(FINE),
            arrowdown: shift(-FINE),
            arrowleft: () => this.selectNote(-1),
            arrowright: () => this.selectNote(1),
          }
        : {
            arrowup: shifts && shift(1),
            arrowdown: shifts && shift(-1),
            "[": onStage && (() => this.select(this.roll.seconds, Math.max(this.selection?.end ?? 0, this.roll.seconds + SHORTEST_S))),
            "]": onStage && (() => this.select(Math.min(this.selection?.start ?? Infinity, this.roll.seconds - SHORTEST_S), this.roll.seconds)),
            escape: this.selection && (() => this.select(null)),
          };
    const act = acts[event.key.toLowerCase()];
    if (!act) return;
    event.preventDefault();
    event.stopPropagation();
    act();
  };

  // ---- the pointer: taken from the roll

  #grasp(place, event) {
    if (this.#drag) {
      this.#release(null); // a second finger cancels the first
      return false;
    }
    if (place.hertz === null || event.button > 0) return false;
    const stage = this.#stage();
    stage.setPointerCapture(event.pointerId);
    output().resume(); // which takes a while, and it is soon heard
    stage.focus({ preventScroll: true });
    const reach = event.pointerType === "touch" ? TOUCH : 1;
    this.#drag = { ...this.#task(place, reach), pointer: event.pointerId, from: place, isStill: true, reach };
    if (this.#drag.note) this.#prepare(this.#drag.note);
    event.preventDefault();
    return true;
  }

  /** Return what a press here begins. */
  #task(place, reach) {
    const { plot } = this.roll;
    if (this.#tools.draws) return { does: "draw", points: [place] };
    const octave = placeAt(plot, this.#places(), this.#now, this.#data.step_s, place);
    if (octave) return { does: "select", fixed: place.seconds, octave };
    if (this.selection) {
      const { start, end } = this.selection;
      const edges = [[start, end], [end, start]].map(([edge, other]) => ({ away: Math.abs(plot.x(edge) - place.x), other }));
      const nearest = edges[0].away < edges[1].away ? edges[0] : edges[1];
      if (nearest.away < EDGE * reach) return { does: "select", fixed: nearest.other };
      if (place.seconds > start && place.seconds < end && this.#isNear(place, reach)) return { does: "shift", semitones: 0 };
    }
    const note = this.#noteAt(place.seconds);
    if (note && this.#isNear(place, reach)) return { does: "shift", semitones: 0, note };
    return { does: "select", fixed: place.seconds };
  }

  #isNear(place, reach) {
    const { plot } = this.roll;
    const frame = Math.round(place.seconds / this.#data.step_s);
    const around = this.#now.slice(Math.max(0, frame - 6), frame + 7);
    return around.some((hertz) => Math.abs(plot.y(hertz) - place.y) < NEAR * reach);
  }

  #moved = (event) => {
    const drag = this.#drag;
    if (!drag) return this.#hover(event);
    if (event.pointerId !== drag.pointer) return;
    const { left, top } = this.#stage().getBoundingClientRect();
    const { plot } = this.roll, { box } = plot;
    const x = Math.min(Math.max(event.clientX - left, box.x), box.x + box.width);
    const y = Math.min(Math.max(event.clientY - top, box.y), box.y + box.height);
    const place = { x, y, seconds: plot.seconds(x), hertz: plot.hertz(y) };
    drag.isStill &&= Math.hypot(x - drag.from.x, y - drag.from.y) < STILL * drag.reach;
    if (drag.isStill) return;
    if (drag.does === "select") this.select(drag.fixed, place.seconds);
    else if (drag.does === "shift") {
      this.#take(drag);
      const exact = toMidi(place.hertz) - toMidi(drag.from.hertz), semitones = event.altKey ? Math.round(100 * exact) / 100 : Math.round(exact);
      if (semitones && semitones !== drag.semitones) this.#preview(this.#edited({ tool: "shift", semitones }));
      drag.semitones = semitones;
    } else drag.points.push(place);
    this.roll.redrawOver();
  };

  /** Prepare the note under the pointer: it may be dragged next. */
  #hover({ clientX }) {
    if (!this.#data || this.#tools.draws) return;
    const note = this.#noteAt(this.roll.plot.seconds(clientX - this.#stage().getBoundingClientRect().left));
    if (note) this.#rest(() => note);
  }

  #released = (event) => {
    if (!this.#drag || event.pointerId !== this.#drag.pointer) return;
    this.#release(event.type === "pointerup" ? this.#drag : null);
  };

  #release(drag) {
    const { isStill, from } = this.#drag;
    this.#drag = null;
    this.#follow();
    if (!drag) this.#show();
    else if (isStill && drag.octave) this.correct(drag.octave);
    else if (isStill) {
      this.#take(drag);
      this.roll.seek(from.seconds);
    }
    else if (drag.does === "shift" && drag.semitones) this.apply({ tool: "shift", semitones: drag.semitones });
    else if (drag.does === "draw") this.#drawn(drag.points);
    this.roll.redraw();
  }

  /** Select the note that is dragged, once. */
  #take(drag) {
    if (drag.note) this.select(drag.note.start_s, drag.note.end_s);
    drag.note = null;
  }

  /** Apply a curve drawn in either direction; of points at the same time the last counts. */
  #drawn(points) {
    const at = new Map();
    for (const { seconds, hertz } of points) {
      const note = Math.min(HIGHEST_NOTE, Math.max(LOWEST_NOTE, toMidi(hertz)));
      at.set(Math.round(seconds * 200) / 200, Math.round(note * 1000) / 1000);
    }
    const drawn = [...at].sort(([a], [b]) => a - b);
    const last = this.#data.duration_s;
    if (drawn.at(-1)[0] - drawn[0][0] < SHORTEST_S) return;
    this.select(drawn[0][0], drawn.at(-1)[0]);
    const { start, end } = this.selection;
    const within = drawn.filter(([seconds]) => seconds >= start && seconds <= Math.min(end, last));
    if (within.length) this.apply({ tool: "draw", points: within });
  }

  // ---- what is seen

  #stage() {
    return this.roll.querySelector(".roll-stage");
  }

  #build() {
    if (this.#tools) return;
    this.roll.grasp = (place, event) => this.#grasp(place, event);
    this.roll.paintOver = (context, plot, colours) => this.#paint(context, plot, colours);
    this.#tools = new PitchTools(this, this.#data.tools);
    this.replaceChildren(...(this.screen ? [this.screen] : [this.strip, this.roll, this.bubble]));
    this.addEventListener("keydown", this.#key, { capture: true });
  }

  /** Give the roll back. */
  #leave() {
    if (this.#tools) {
      delete this.roll.grasp;
      delete this.roll.paintOver;
      this.#stage().style.touchAction = "";
    }
    this.#sounding?.stop();
    clearTimeout(this.#soon);
    this.#order(); // as if there had been a pause
    this.#data = this.#tools = this.#drag = this.#tried = this.#sounding = this.selection = null;
    this.replaceChildren();
  }

  #feed() {
    const { id, duration_s, step_s, confidence } = this.#data;
    const curve = (label, colour, hertz) => ({ label, colour, step_s, hertz, confidence });
    this.roll.data = {
      ...this.#backdrop, shown: [...(this.#backdrop.shown ?? []), "notes"], notes: this.#blobs(), id: `pitch-${id}`, duration_s, isClose: true, label: tr("Pitch of the take"), hint: HINT,
      curves: [curve(tr("As converted"), BEFORE_COLOUR, this.#before), curve(tr("Edited"), NOW_COLOUR, this.#now)],
    };
    const stage = this.#stage();
    if (stage.dataset.pitch) return;
    stage.dataset.pitch = "there";
    stage.setAttribute("aria-description", `${HINT} ${KEYS}`);
    stage.addEventListener("pointermove", this.#moved);
    for (const name of ["pointerup", "pointercancel"]) stage.addEventListener(name, this.#released);
    stage.addEventListener("dblclick", (event) => {
      const { left } = stage.getBoundingClientRect();
      if (this.#tools && !this.#tools.draws) this.selectNoteAt(this.roll.plot.seconds(event.clientX - left));
    });
  }

  #show() {
    if (!this.#tools) return;
    const [first, stop] = this.selection ? this.#frames() : [0, -1];
    const voiced = [];
    for (let i = first; i <= stop; i++) if (this.#data.confidence[i] > VOICED) voiced.push(this.#now[i]);
    const middle = voiced.sort((a, b) => a - b)[voiced.length >> 1];
    if (middle) this.#tools.propose(toMidi(middle));
    if (this.roll.data) this.roll.data.notes = this.#blobs();
    const notes = this.selection ? this.#selectedNotes() : [], [note] = notes;
    this.#tools.show({
      selection: this.selection,
      where: this.#where(middle),
      shift: this.#shifted,
      shape: note && (this.#tried ?? this.edits).findLast((one) => isShape(one, note.start, note.end)),
      notes: notes.length,
      places: this.#places().length,
      isPlace: Boolean(this.#selectedPlace()),
      hasEdits: this.edits.length > 0,
    });
    this.#stage().style.touchAction = "none"; // a finger draws, drags and selects
    this.roll.redraw();
  }

  #where(middle) {
    if (!this.selection) return this.#data.isBusy ? tr("Rendering…") : "";
    const { start, end } = this.selection, place = this.#selectedPlace();
    const [from, to] = [clock(start, 2), clock(end, 2)];
    if (place) return tr("{from} to {to}, {note}", { from, to, note: describe(place, this.#now, this.#data.step_s) });
    if (!middle) return tr("{from} to {to}, unvoiced", { from, to });
    const note = noteWithCents(toMidi(middle));
    return tr("{from} to {to}, {note}", { from, to, note });
  }

  /** Return the notes of the take, and what edits made of them; until they are known, stretches without a rest or a leap. */
  #notes() {
    const made = this.edits.filter(({ tool }) => tool === "note"), isIn = (note) => made.some((one) => one.start_s < note.end_s - 0.02 && one.end_s > note.start_s + 0.02);
    const found = this.#backdrop.notes?.length ? this.#backdrop.notes : this.#stretchesOfNotes();
    return [...found.filter((note) => !isIn(note)), ...made].sort((one, other) => one.start_s - other.start_s);
  }

  #stretchesOfNotes() {
    const { confidence, step_s: step } = this.#data, found = [];
    let first = null;
    for (let i = 0; i <= this.#now.length; i++) {
      const goesOn = i < this.#now.length && confidence[i] > VOICED && (first === null || Math.abs(12 * Math.log2(this.#now[i] / this.#now[i - 1])) < LEAP);
      if (goesOn) first ??= i;
      else if (first !== null) {
        if ((i - first) * step > SHORTEST_S) found.push({ start_s: first * step, end_s: (i - 1) * step });
        first = null;
      }
    }
    return found;
  }

  /** The notes as they are now. */
  #blobs() {
    return this.#notes().flatMap(({ start_s, end_s }) => {
      const [first, stop] = this.#frames({ start: start_s, end: end_s });
      const sung = this.#now.slice(first, stop + 1).filter((_, i) => this.#data.confidence[first + i] > VOICED).sort((a, b) => a - b);
      if (!sung.length) return [];
      const exact = toMidi(sung[sung.length >> 1]), midi = Math.round(exact);
      return [{ start_s, end_s, midi, cents: 100 * (exact - midi) }];
    });
  }

  #paint(context, plot, colours) {
    if (!this.#data) return;
    const { box } = plot;
    clipped(context, box, () => {
      context.fillStyle = context.strokeStyle = colours.accent;
      context.globalAlpha = 0.9;
      for (const { start_s, end_s } of this.#history.pending(this.#tried ?? undefined)) context.fillRect(plot.x(start_s), box.y, Math.max(plot.x(end_s) - plot.x(start_s), 2), 4);
      this.#placeBubble(plot);
      paintPlaces(context, plot, this.#places(), this.#now, this.#data.step_s, colours);
      context.fillStyle = context.strokeStyle = colours.accent;
      if (this.selection) this.#paintSelection(context, plot);
      if (this.#drag?.does === "shift" && this.#drag.semitones) this.#paintShift(context, plot, colours);
      if (this.#drag?.does === "draw" && this.#drag.points.length > 1) paintLine(context, this.#drag.points);
    });
  }

  /** Put the bubble beside what is selected, out of the way while that is dragged. */
  #placeBubble(plot) {
    this.bubble.toggleAttribute("data-still", Boolean(this.#drag));
    if (!this.selection) return;
    const [first, stop] = this.#frames(), sung = this.#now.slice(first, stop + 1).filter((_, i) => this.#data.confidence[first + i] > VOICED);
    const [top, bottom] = sung.length ? [Math.max(...sung), Math.min(...sung)].map((hertz) => plot.y(hertz)) : [plot.box.y + plot.box.height / 2, plot.box.y + plot.box.height / 2];
    this.#tools.place({ left: plot.x(this.selection.start), right: plot.x(this.selection.end), top, bottom }, this.roll);
  }

  #paintSelection(context, plot) {
    const { box } = plot;
    const [left, right] = [plot.x(this.selection.start), plot.x(this.selection.end)];
    context.globalAlpha = 0.14;
    context.fillRect(left, box.y, right - left, box.height);
    context.globalAlpha = 0.9;
    context.lineWidth = 1.5;
    for (const x of [left, right]) {
      line(context, x, box.y, x, box.y + box.height);
      context.beginPath();
      context.arc(x, box.y + box.height / 2, 4, 0, 2 * Math.PI);
      context.fill();
    }
  }

  #paintShift(context, plot, colours) {
    const [first, stop] = this.#frames();
    const { step_s, confidence } = this.#data, { semitones } = this.#drag;
    const moved = { step_s, offset_s: first * step_s, semitones, hertz: this.#now.slice(first, stop + 1), confidence: confidence.slice(first, stop + 1) };
    const blobs = this.#blobs().filter(({ start_s, end_s }) => start_s < this.selection.end && end_s > this.selection.start);
    drawNotes(context, plot, blobs.map((note) => ({ ...note, midi: note.midi + semitones })), colours, colours.accent);
    drawCurve(context, plot, moved, colours.accent, colours, 3);
    const middle = [...moved.hertz].sort((a, b) => a - b)[moved.hertz.length >> 1];
    const said = ntr("{shift} semitone", "{shift} semitones", { shift: signed(semitones, 2) });
    context.globalAlpha = 1;
    context.font = `600 12px ${colours.font}`;
    context.textAlign = "center";
    const [x, y] = [plot.x((this.selection.start + this.selection.end) / 2), plot.y(middle * 2 ** (semitones / 12)) - 14];
    outlined(context, said, x, y, colours.ink, colours);
  }
}

function isShape({ tool, start_s, end_s }, start, end) {
  return tool === "note" && start_s === start && end_s === end;
}

function paintLine(context, points) {
  context.globalAlpha = 1;
  context.lineWidth = 3;
  context.lineJoin = context.lineCap = "round";
  context.beginPath();
  for (const { x, y } of points) context.lineTo(x, y);
  context.stroke();
}

customElements.define("timbre-pitch-editor", PitchEditor);

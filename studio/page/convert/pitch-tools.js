// The tools of the pitch editor: selection, edits, undo and redo.
//
// Built once for an editor, whose methods they call; `show` updates them.

import { icon, make } from "./dom.js";
import { noteName } from "./roll-drawing.js";
import { fixed, ntr, tr } from "./texts.js";

const NAMES = { shift: tr("Shift"), note: tr("Note"), smooth: tr("Smooth"), octave: tr("Fix octave"), snap: tr("Snap to notes"), draw: tr("Draw") };
const SHAPES = { vibrato: tr("Vibrato (%)"), drift: tr("Drift (%)"), centre: tr("Centre (cents)"), slope: tr("Slope (cents)") };
const SHAPE_STEPS = { vibrato: 5, drift: 5, centre: 1, slope: 5 };
const FURTHEST_CENTS = 200; // that a slider goes
const LOWEST_NOTE = 30, HIGHEST_NOTE = 96; // that can be chosen from the list
const MIDDLE_C = 60;
const TYPED_S = 0.5; // length of a selection of which only one end was typed

export class PitchTools {
  chosen = "shift";
  #editor;
  #parts = {};
  #options = {}; // of each tool
  #shapes = {}; // sliders, by what they change
  element;

  constructor(editor, tools) {
    this.#editor = editor;
    // typed beyond its other end, the selection moves and keeps its length: the other end is typed next
    const from = this.#seconds(tr("From"), tr("From (seconds)"), (seconds) => {
      const { start, end } = editor.selection ?? { start: seconds, end: seconds + TYPED_S };
      editor.select(seconds, seconds < end ? end : seconds + end - start);
    });
    const to = this.#seconds(tr("to"), tr("To (seconds)"), (seconds) => {
      const { start, end } = editor.selection ?? { start: seconds - TYPED_S, end: seconds };
      editor.select(seconds > start ? start : seconds - (end - start), seconds);
    });
    const all = button(tr("All"), tr("Select the whole take (Ctrl+A)"), () => editor.selectAll());
    const none = button(tr("None"), tr("Clear the selection (Escape)"), () => editor.select(null));
    const before = button(icon("M16 4v16L5 12z"), tr("Previous note (Alt+Left)"), () => editor.selectNote(-1), tr("Previous note"));
    const after = button(icon("M8 4v16l11-8z"), tr("Next note (Alt+Right)"), () => editor.selectNote(1), tr("Next note"));
    const where = make("p", { class: "pitch-where", role: "status" });
    const stretch = group(tr("Selection"), from.label, to.label, make("span", { class: "pitch-unit" }, "s"), before, after, all, none);
    const kinds = make("div", { class: "pitch-group", role: "radiogroup", "aria-label": tr("Tool") });
    for (const [name, { meaning }] of Object.entries(tools)) {
      const one = make("button", { type: "button", class: "pitch-tool", role: "radio", title: meaning, onclick: () => this.choose(name) }, NAMES[name] ?? name);
      one.addEventListener("keydown", (event) => this.#walk(event, Object.keys(tools)));
      kinds.append(one);
      this.#options[name] = { radio: one, place: make("div", { class: "pitch-group pitch-options", hidden: true }), meaning };
    }
    this.#build(tools);
    const undo = button(icon("M11 6V2L5 7.500l6 5.500V9a5 5 0 1 1-5 5H3a8 8 0 1 0 8-8z"), tr("Undo (Ctrl+Z)"), () => editor.undo(), tr("Undo"));
    const redo = button(icon("M13 6V2l6 5.500-6 5.500V9a5 5 0 1 0 5 5h3a8 8 0 1 1-8-8z"), tr("Redo (Ctrl+Shift+Z)"), () => editor.redo(), tr("Redo"));
    const away = button(tr("Revert"), tr("Discard the edits: the take as converted"), () => editor.removeAll());
    const render = make("button", { type: "button", class: "pitch-render", onclick: () => editor.render() }, tr("Apply"));
    const extent = make("span", { class: "pitch-extent" });
    const next = button("", tr("Go to the next place whose pitch is probably an octave off"), () => editor.nextPlace());
    const correct = button(tr("Correct octave"), tr("Move this place to the other octave, or click its mark"), () => editor.correct());
    const octaves = group(tr("Octave errors"), next, correct);
    next.classList.add("pitch-places");
    this.#parts = { from, to, none, where, undo, redo, away, render, extent, kinds, octaves, next, correct };
    const steps = group(tr("Edits"), undo, redo, away, render);
    steps.classList.add("pitch-steps");
    const rows = [[kinds, steps], [...Object.values(this.#options).map(({ place }) => place), extent, stretch, octaves, where]];
    this.element = make("div", { class: "pitch-tools" }, rows.map((row) => make("div", { class: "pitch-row" }, row)));
    this.choose(this.chosen, false);
  }

  choose(name, focuses = false) {
    this.chosen = name;
    for (const [other, { radio, place }] of Object.entries(this.#options)) {
      const isIt = other === name;
      radio.setAttribute("aria-checked", isIt);
      radio.tabIndex = isIt ? 0 : -1;
      place.hidden = !isIt;
      if (isIt && focuses) radio.focus();
    }
    this.#editor.toolChosen(name);
  }

  /** Show the editor's state: {selection, where, canUndo, canRedo, isRendered, hasEdits, seconds, isBusy}. */
  show(state) {
    const { from, to, none, where, undo, redo, away, render, extent, octaves, next, correct } = this.#parts;
    for (const [input, value] of [[from.input, state.selection?.start], [to.input, state.selection?.end]]) {
      if (document.activeElement !== input) input.value = value === undefined ? "" : value.toFixed(2);
    }
    none.disabled = !state.selection;
    where.textContent = state.where;
    octaves.hidden = !state.places;
    next.textContent = ntr("Octave? {places} place", "Octave? {places} places", { places: state.places });
    for (const [name, slider] of Object.entries(this.#shapes)) slider.show(state.shape?.[name], Boolean(state.selection));
    undo.disabled = !state.canUndo;
    redo.disabled = !state.canRedo;
    away.disabled = !state.hasEdits;
    render.disabled = state.isRendered || state.isBusy;
    render.textContent = state.isBusy ? tr("Rendering…") : tr("Apply");
    extent.textContent = state.isRendered ? "" : state.seconds > 0 ? tr("{seconds} s to re-render.", { seconds: fixed(state.seconds, 1) }) : tr("The take will be restored as converted.");
    for (const { place } of Object.values(this.#options)) {
      for (const one of place.querySelectorAll("button, .pitch-by")) one.disabled = !state.selection;
    }
    correct.hidden = !state.isPlace;
  }

  #build(tools) {
    const editor = this.#editor;
    const apply = (edit) => () => editor.apply(edit());
    const { shift, note, smooth, octave, snap, draw } = this.#options;
    const shifted = (semitones, label, title) => button(label, title, apply(() => ({ tool: "shift", semitones })));
    const by = number(tr("Semitones"), tools.shift.settings.semitones, "", 0.1);
    Object.assign(by.input, { className: "pitch-by", title: tr("Shift by this many semitones") });
    by.input.addEventListener("change", () => {
      if (by.input.value) editor.apply({ tool: "shift", semitones: by.value() });
      by.input.value = "";
    });
    shift.place.append(
      shifted(-12, "−12", tr("Down an octave")), shifted(-1, "−1", tr("Down a semitone (Down)")), shifted(-0.1, "−0.1", tr("Down 10 cents (Alt+Down)")),
      shifted(0.1, "+0.1", tr("Up 10 cents (Alt+Up)")), shifted(1, "+1", tr("Up a semitone (Up)")), shifted(12, "+12", tr("Up an octave")),
      by.label, hint(tr("Or drag a note up or down.")),
    );
    for (const [name, label] of Object.entries(SHAPES)) {
      this.#shapes[name] = slider(label, tools.note.settings[name], SHAPE_STEPS[name], (value) => editor.shape({ [name]: value }));
      note.place.append(this.#shapes[name].label);
    }
    const over = number(tr("Milliseconds"), tools.smooth.settings.milliseconds, tools.smooth.settings.milliseconds.default, 10);
    smooth.place.append(over.label, button(tr("Smooth"), tools.smooth.meaning, apply(() => ({ tool: "smooth", milliseconds: over.value() }))), hint(tools.smooth.settings.milliseconds.meaning));
    const fixed = (value, label, title) => button(label, title, apply(() => ({ tool: "octave", by: value })));
    octave.place.append(
      fixed("auto", tr("Find and fix"), tools.octave.meaning), fixed(-1, tr("Octave down"), tr("Pitch detected an octave too high")),
      fixed(1, tr("Octave up"), tr("Pitch detected an octave too low")), hint(tr("For octave jumps that were not sung. The analysis is corrected too.")),
    );
    const scale = make("select", { "aria-label": tr("Scale") }, ...tools.snap.settings.scale.words.map((word) => make("option", { value: word }, nameOfScale(word))));
    const strength = number(tr("Strength (%)"), { minimum: 0, maximum: 100 }, 100, 5);
    snap.place.append(
      make("label", {}, tr("Scale") + " ", scale), strength.label,
      button(tr("Snap"), tools.snap.meaning, apply(() => ({ tool: "snap", strength: strength.value() / 100, scale: scale.value }))), hint(tr("Vibrato and glides are kept.")),
    );
    const notes = make("select", { "aria-label": tr("Note") });
    for (let midi = HIGHEST_NOTE; midi >= LOWEST_NOTE; midi--) notes.append(make("option", { value: midi, selected: midi === MIDDLE_C }, noteName(midi)));
    draw.place.append(
      hint(tr("Draw the new curve on the picture.")), make("label", {}, tr("Or one note:") + " ", notes),
      button(tr("Set note"), tr("One steady note, without vibrato"), () => editor.setNote(Number(notes.value))),
    );
  }

  /** Propose a note for "Set note". */
  propose(midi) {
    const select = this.#options.draw.place.querySelector("select");
    if (document.activeElement !== select) select.value = Math.min(HIGHEST_NOTE, Math.max(LOWEST_NOTE, Math.round(midi)));
  }

  #seconds(name, label, changed) {
    const input = make("input", { type: "number", min: 0, step: 0.01, "aria-label": label });
    let before = input.value;
    input.addEventListener("focus", () => (before = input.value));
    input.addEventListener("change", () => {
      if (Number.isFinite(input.valueAsNumber)) changed(input.valueAsNumber);
      else input.value = before; // not a number
    });
    return { input, label: make("label", {}, name, " ", input) };
  }

  #walk(event, names) {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (!step || event.altKey) return;
    event.preventDefault();
    this.choose(names[(names.indexOf(this.chosen) + step + names.length) % names.length], true);
  }
}

function nameOfScale(word) {
  const [note, mode] = word.split(" ");
  return mode === "major" ? tr("{note} major", { note }) : mode === "minor" ? tr("{note} minor", { note }) : tr("chromatic");
}

function group(label, ...children) {
  return make("div", { class: "pitch-group", role: "group", "aria-label": label }, ...children);
}

function button(text, title, does, label = null) {
  return make("button", { type: "button", class: "pitch-button", title, "aria-label": label, onclick: does }, text);
}

function hint(text) {
  return make("span", { class: "pitch-hint help-text" }, text);
}

/** A slider in hundredths of a setting, whose default a double click brings back. */
function slider(name, { minimum, maximum, default: usual, meaning }, step, changed) {
  const [least, most] = [minimum, maximum].map((limit) => Math.max(-FURTHEST_CENTS, Math.min(FURTHEST_CENTS, 100 * limit)));
  const input = make("input", { type: "range", min: least, max: most, step, "aria-label": name, title: meaning });
  const shown = make("output", { translate: "no" });
  const say = () => (shown.textContent = fixed(input.valueAsNumber, 0));
  const set = (value) => changed(value / 100);
  input.addEventListener("input", say);
  input.addEventListener("change", () => set(input.valueAsNumber));
  input.addEventListener("dblclick", () => set(100 * usual));
  const show = (value = usual, isOn = true) => {
    input.value = String(100 * value);
    input.disabled = !isOn;
    say();
  };
  show(usual, false);
  return { show, label: make("label", { class: "pitch-slider" }, name, " ", input, shown) };
}

function number(name, { minimum, maximum }, value, step) {
  const input = make("input", { type: "number", min: minimum, max: maximum, step, value });
  const within = () => Math.min(maximum, Math.max(minimum, Number.isFinite(input.valueAsNumber) ? input.valueAsNumber : value));
  input.addEventListener("change", () => input.value && (input.value = within()));
  return { input, label: make("label", {}, name, " ", input), value: within };
}

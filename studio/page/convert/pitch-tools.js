// The tools of the pitch editor: a bubble at what is selected, and a strip of those that need no selection.
//
// Built once for an editor, whose methods they call; `show` updates them.

import { icon, make } from "./dom.js";
import { menu } from "./menu.js";
import { noteName } from "./roll-drawing.js";
import { fixed, ntr, tr } from "./texts.js";

// of a note: what is changed in so many units of the setting, as `sign` says them
export const SHAPES = {
  vibrato: { name: tr("Vibrato"), sign: "%", unit: 0.01, step: 5, furthest: 200 },
  drift: { name: tr("Drift"), sign: "%", unit: 0.01, step: 5, furthest: 200 },
  formant_shift_semitones: { name: tr("Formant"), sign: "st", unit: 1, step: 0.1, furthest: 6 },
  level_db: { name: tr("Level"), sign: "dB", unit: 1, step: 0.5, furthest: 12 },
  centre: { name: tr("Centre"), sign: "ct", unit: 0.01, step: 1, furthest: 200 },
  slope: { name: tr("Slope"), sign: "ct", unit: 0.01, step: 5, furthest: 200 },
};
const IN_MENU = ["centre", "slope"];
const LOWEST_NOTE = 30, HIGHEST_NOTE = 96; // that can be chosen from the list
const MIDDLE_C = 60;
const TYPED_S = 0.5; // length of a selection of which only one end was typed
const ABOVE = 30, BELOW = 14, BESIDE = 6; // pixels between the bubble and what it is of

export class PitchTools {
  #editor;
  #parts = {};
  #shapes = {}; // sliders, by what they change
  bubble;
  strip;

  constructor(editor, tools) {
    this.#editor = editor;
    const pitch = number(tr("Pitch (semitones)"), tools.shift.settings.semitones, 0, 0.1);
    pitch.input.title = tr("How far it is moved: up and down by a semitone, with Alt by 10 cents. Or drag a note.");
    pitch.input.addEventListener("change", () => editor.shiftTo(pitch.value()));
    const shifted = (semitones, label, title) => button(label, title, () => editor.apply({ tool: "shift", semitones }));
    const down = shifted(-1, "−", tr("Down a semitone (Down)")), up = shifted(1, "+", tr("Up a semitone (Up)"));
    for (const [name, shape] of Object.entries(SHAPES)) {
      this.#shapes[name] = slider(shape, tools.note.settings[name], (value, isDone) => editor.shape({ [name]: value }, isDone));
    }
    const split = button(icon("M11 3h2v18h-2zM3 8l5 4-5 4zM21 8l-5 4 5 4z"), tr("Split the note at the cursor"), () => editor.split(), tr("Split"));
    const merge = button(icon("M3 10h7V7l5 5-5 5v-3H3zM17 4h2v16h-2z"), tr("Merge the selected notes into one"), () => editor.merge(), tr("Merge"));
    const more = menu("pitch-more", tr("More"));
    more.append(make("div", { class: "pitch-menu" }, this.#further(tools)));
    const sliders = Object.entries(this.#shapes).filter(([name]) => !IN_MENU.includes(name)).map(([, { label }]) => label);
    this.bubble = make("div", { class: "pitch-bubble", role: "toolbar", "aria-label": tr("Tools for what is selected"), hidden: true },
      make("span", { class: "pitch-group" }, down, pitch.label, up), sliders, make("span", { class: "pitch-group" }, split, merge, more));

    const draw = button(tr("Draw"), tools.draw.meaning, () => this.#turn(draw));
    const all = button(tr("All"), tr("Select the whole take (Ctrl+A)"), () => editor.selectAll());
    const next = button("", tr("Go to the next place whose pitch is probably an octave off"), () => editor.nextPlace());
    const correct = button(tr("Correct octave"), tr("Move this place to the other octave, or click its mark"), () => editor.correct());
    const away = button(tr("Revert"), tr("Discard the edits: the take as converted"), () => editor.removeAll());
    const where = make("p", { class: "pitch-where", role: "status" });
    draw.setAttribute("aria-pressed", false);
    next.classList.add("pitch-places");
    this.strip = make("div", { class: "pitch-strip", role: "group", "aria-label": tr("Edits") }, draw, all, away, next, correct, where);
    this.#parts = { ...this.#parts, pitch, draw, split, merge, next, correct, away, where };
  }

  /** Whether a curve is drawn, instead of notes being selected and moved. */
  get draws() {
    return this.#parts.draw.getAttribute("aria-pressed") === "true";
  }

  /** Show the editor's state: {selection, where, shift, shape, notes, places, isPlace, hasEdits}. */
  show({ selection, where, shift, shape, notes, places, isPlace, hasEdits }) {
    const { from, to, pitch, split, merge, next, correct, away } = this.#parts;
    for (const [input, value] of [[from, selection?.start.toFixed(2)], [to, selection?.end.toFixed(2)], [pitch.input, shift]]) {
      if (document.activeElement !== input) input.value = value ?? "";
    }
    for (const [name, one] of Object.entries(this.#shapes)) one.show(shape?.[name]);
    this.bubble.hidden = !selection;
    this.#parts.where.textContent = where;
    next.hidden = !places;
    next.textContent = `${tr("Octave?")} ${places}`;
    next.ariaLabel = ntr("Octave? {places} place", "Octave? {places} places", { places });
    correct.hidden = !isPlace;
    split.disabled = notes !== 1;
    merge.disabled = notes < 2;
    away.disabled = !hasEdits;
  }

  /** Put the bubble above what is selected, or below it: between x `left` and `right`, y `top` and `bottom` of the roll. */
  place({ left, right, top, bottom }, roll) {
    const { bubble } = this, { offsetWidth: width, offsetHeight: height } = bubble, { box } = roll.plot;
    const x = Math.min(Math.max((left + right - width) / 2, box.x + BESIDE), Math.max(box.x + box.width, roll.clientWidth) - width - BESIDE);
    const y = top - height - ABOVE >= box.y ? top - height - ABOVE : Math.min(bottom + BELOW, box.y + box.height - height);
    Object.assign(bubble.style, { left: `${roll.offsetLeft + Math.max(0, x)}px`, top: `${roll.offsetTop + Math.max(box.y, y)}px` });
  }

  /** Propose a note for "Set note". */
  propose(midi) {
    const { notes } = this.#parts;
    if (document.activeElement !== notes) notes.value = Math.min(HIGHEST_NOTE, Math.max(LOWEST_NOTE, Math.round(midi)));
  }

  #turn(draw) {
    draw.setAttribute("aria-pressed", !this.draws);
    this.#editor.select(null);
  }

  /** The tools that are used less. */
  #further(tools) {
    const editor = this.#editor, apply = (edit) => () => editor.apply(edit());
    // typed beyond its other end, the selection moves and keeps its length: the other end is typed next
    const from = seconds(tr("From"), tr("From (seconds)"), (at) => {
      const { start, end } = editor.selection ?? { start: at, end: at + TYPED_S };
      editor.select(at, at < end ? end : at + end - start);
    });
    const to = seconds(tr("to"), tr("To (seconds)"), (at) => {
      const { start, end } = editor.selection ?? { start: at - TYPED_S, end: at };
      editor.select(at > start ? start : at - (end - start), at);
    });
    const over = number(tr("Milliseconds"), tools.smooth.settings.milliseconds, tools.smooth.settings.milliseconds.default, 10);
    const octave = (by, label, title) => button(label, title, apply(() => ({ tool: "octave", by })));
    const scale = make("select", { "aria-label": tr("Scale") }, ...tools.snap.settings.scale.words.map((word) => make("option", { value: word }, nameOfScale(word))));
    const strength = number(tr("Strength (%)"), { minimum: 0, maximum: 100 }, 100, 5);
    const notes = make("select", { "aria-label": tr("Note") });
    for (let midi = HIGHEST_NOTE; midi >= LOWEST_NOTE; midi--) notes.append(make("option", { value: midi, selected: midi === MIDDLE_C }, noteName(midi)));
    Object.assign(this.#parts, { from: from.input, to: to.input, notes });
    return [
      [from.label, to.label, make("span", { class: "pitch-unit" }, "s")],
      IN_MENU.map((name) => this.#shapes[name].label),
      [octave(-1, tr("Octave down"), tr("Pitch detected an octave too high")), octave(1, tr("Octave up"), tr("Pitch detected an octave too low")), octave("auto", tr("Find and fix"), tools.octave.meaning)],
      [make("label", {}, tr("Scale") + " ", scale), strength.label, button(tr("Snap"), tools.snap.meaning, apply(() => ({ tool: "snap", strength: strength.value() / 100, scale: scale.value })))],
      [over.label, button(tr("Smooth"), tools.smooth.meaning, apply(() => ({ tool: "smooth", milliseconds: over.value() })))],
      [make("label", {}, tr("Or one note:") + " ", notes), button(tr("Set note"), tr("One steady note, without vibrato"), () => editor.setNote(Number(notes.value)))],
    ].map((row) => make("div", { class: "pitch-group" }, row));
  }
}

function seconds(name, label, changed) {
  const input = make("input", { type: "number", min: 0, step: 0.01, "aria-label": label });
  let before = input.value;
  input.addEventListener("focus", () => (before = input.value));
  input.addEventListener("change", () => {
    if (Number.isFinite(input.valueAsNumber)) changed(input.valueAsNumber);
    else input.value = before; // not a number
  });
  return { input, label: make("label", {}, name, " ", input) };
}

function nameOfScale(word) {
  const [note, mode] = word.split(" ");
  return mode === "major" ? tr("{note} major", { note }) : mode === "minor" ? tr("{note} minor", { note }) : tr("chromatic");
}

function button(text, title, does, label = null) {
  return make("button", { type: "button", class: "pitch-button", title, "aria-label": label, onclick: does }, text);
}

/** A slider of one of SHAPES, whose default a double click brings back. changed(value, isDone) */
function slider({ name, sign, unit, step, furthest }, { minimum, maximum, default: usual, meaning }, changed) {
  const [least, most] = [minimum, maximum].map((limit) => Math.max(-furthest, Math.min(furthest, limit / unit)));
  const input = make("input", { type: "range", min: least, max: most, step, "aria-label": name, title: meaning });
  const shown = make("output", { translate: "no" });
  const say = () => (input.ariaValueText = shown.textContent = `${fixed(input.valueAsNumber, step < 1 ? 1 : 0)} ${sign}`);
  const set = (value, isDone) => changed(Math.round(1000 * value * unit) / 1000, isDone);
  input.addEventListener("input", () => (say(), set(input.valueAsNumber, false)));
  input.addEventListener("change", () => set(input.valueAsNumber, true));
  input.addEventListener("dblclick", () => set(usual / unit, true));
  const show = (value = usual) => {
    input.value = String(value / unit);
    say();
  };
  show();
  return { show, label: make("label", { class: "pitch-slider" }, make("span", {}, name), input, shown) };
}

function number(name, { minimum, maximum }, value, step) {
  const input = make("input", { type: "number", min: minimum, max: maximum, step, value });
  const within = () => Math.min(maximum, Math.max(minimum, Number.isFinite(input.valueAsNumber) ? input.valueAsNumber : value));
  input.addEventListener("change", () => input.value && (input.value = within()));
  return { input, label: make("label", {}, make("span", {}, name), " ", input), value: within };
}

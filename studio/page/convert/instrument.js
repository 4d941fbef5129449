// <timbre-instrument>: a recording with its takes and edits as lanes of one timeline, which is the recording's: one
// player, one picture with waveform, spectrogram and pitch as layers, and the pitch editor as a mode of it.
//
// It has no data of its own: each <timbre-part> brings it one of
//   recording: {id, label, url, duration_s, roll, trim: {start_s, stop_s} or null}
//   takes:     {id, recording, start_s, before, chosen, tracks: [as of <timbre-player>, and transpose]}: made of the
//              recording with the id `recording` from `start_s` on; before: the address of what was converted
//   pitch:     {roll}: what <timbre-roll> shows of the chosen take
//   company:   [{name, label, title, url}], to be heard beside the chosen lane; a song brings its own with its takes, and
//              of each track `first_s`, how much earlier than its recording it begins
//   harmonies: {start_s, lanes: [{name, label, title, url, pan, gain_db}]}: beside these, from `start_s` on
//   offset:    how many seconds later than its backing the recording is to begin; null to find it. A song says in `offset_s`
//              of its takes where it was
//   comp:      the takes and phrases to choose among, as of <timbre-comp>
//   parts:     which voices sing which parts of the recording, as regions.js writes it
//   away:      true: the recording was put away, or another one is read; its picture stays, pale, until the next one is
//              there; null: there is none that a browser could have kept the picture of
//   auditions: [{id: of a voice, url or null, isDone}]: the recording's phrase in all voices, which the cards play
//   song:      the id of the recording that is there, once nothing of an earlier song is beside it; kept as data-song
//   welcome:   takes of a sample, as above, its roll, and of each lane a waveform {step_s, high}: shown until there is a recording
//   editor:    data of <timbre-pitch-editor>, and `heard`; while there is any, that is the mode
//   heard:     {url}: how what is being edited sounds
// Tells what <timbre-player> and <timbre-pitch-editor> tell, `trimmed` {start_s, stop_s} (both null for the whole), `edit`
// {isOn}, `moved` {offset_s} (null for what was found), `comped` {choice}, `removed` {name} of the company, and `voiced`: other voices
// sing the parts of the recording, see its `parts`.
// While it comps, a click in the lane of a take chooses it for that phrase (see comping.js), and so does C at the cursor.
// Keys beside those of a player: B switches between the two lanes chosen last, E edits the pitch, Ctrl+Z undoes what was done
// last of all that edit-steps.js is told of, Ctrl+Shift+Z or Ctrl+Y does it again.

import { BACKING, BackingOffset } from "./backing-offset.js";
import { icon, isTyped, make, tell } from "./dom.js";
import { draggedOut } from "./drag-out.js";
import { Steps } from "./edit-steps.js";
import { keptFaders } from "./faders.js";
import "./key-steps.js";
import { Loop, phraseOf } from "./loop.js";
import { menu } from "./menu.js";
import { Mixer, VOCAL } from "./mixer.js";
import { PartVoices } from "./part-voices.js";
import { PhraseLanes } from "./phrase-lanes.js";
import "./pitch-editor.js";
import { Player } from "./player.js";
import { VOICED } from "./regions.js";
import { ZOOM } from "./roll.js";
import { openSound } from "./sound.js";
import { tr } from "./texts.js";
import { Trim } from "./trim.js";

const ID = "instrument", READING = "reading";
const PICTURE = "timbre-picture"; // where the browser keeps it
const GUTTER = 80, MIXED_GUTTER = 98, WIDE_GUTTER = 200, NARROW_GUTTER = 48; // left of the lanes, for their names, and for faders
const STRIP = 32, MIXED_STRIP = 34, WIDE_STRIP = 40, NARROW_STRIP = 44; // height of a lane
const LAYERS = { waveform: [tr("Waveform"), tr("Show the waveform")], spectrogram: [tr("Spectrogram"), tr("Show the spectrogram")], pitch: [tr("Pitch"), tr("Show the pitch")] };
const KEYS = tr("Space plays. 0 to 9 choose a lane, B goes back to the lane before, at the same position. L repeats, E edits the pitch. Arrow keys on the picture move the cursor, Enter plays from there; + and − zoom.");
const WELCOME = tr("Press play or the space bar, and change the lane: one performance in three voices."), DROP = tr("Drop your own vocal anywhere.");
const TOLD = ["changed", "expected", "ordered", "previewed", "wanted"]; // by the editor
const UNDO = "M11 6V2L5 7.500l6 5.500V9a5 5 0 1 1-5 5H3a8 8 0 1 0 8-8z", REDO = "M13 6V2l6 5.500-6 5.500V9a5 5 0 1 0 5 5h3a8 8 0 1 1-8-8z";

class Instrument extends Player {
  #parts = {};
  #before = 0; // the lane chosen before
  #last = 0;
  #shown = null; // the id of the takes that are
  #layers = new Set(["pitch"]); // the lanes have the waveform
  #waveforms = new Map(); // by url
  #roll = make("timbre-roll", {});
  #editor = make("timbre-pitch-editor", {});
  #screen = make("div", { class: "screen" });
  #display = menu("display", tr("Display"));
  #trim = new Trim(this.#roll, () => this.duration, (end) => this.#trimmed(end), (kept) => tell(this, "trimmed", kept));
  #voices = new PartVoices(this.#roll, this.#screen, () => this.#parts.recording && { ...this.#parts.recording, first_s: this.#first }, () => tell(this, "voiced"));
  #comp = new PhraseLanes(this.#roll, () => this.data.tracks, (index, seconds) => (this.choose(index), this.#roll.seek(seconds)), (said) => this.#showComping(said));
  #backing = new BackingOffset(this.#roll, () => this.#stripOf(BACKING), () => this.#draw(), (offset_s) => this.#moved(offset_s));
  #mixer = new Mixer(this, () => this.#mixed());
  #loop = new Loop(this.#roll, (loop) => (this.repeats = Boolean(loop)));
  #steps = new Steps(() => this.#showSteps(), (again) => this.#reopen(again));
  #edited = null; // key of the take that was in the editor last
  #again = null; // to be done once it is there
  #narrow = matchMedia("(max-width: 600px)");
  #wide = matchMedia("(min-width: 1500px)");

  constructor() {
    super();
    customElements.upgrade(this.#roll);
    customElements.upgrade(this.#editor);
    Object.assign(this.#editor, { roll: this.#roll, screen: this.#screen });
    this.#roll.resized = () => this.data && this.#place();
    for (const name of TOLD) this.#editor.addEventListener(`tell-${name}`, (event) => tell(this, name, event.detail));
    this.heard = [...this.heard, ...this.#steps.heard, [document, "keydown", this.#shortcut], [document, "change", this.#given], [document, "drop", this.#given], [document, "timbre-view", this.#viewed], [document, "timbre-time", this.#timed], [document, "timbre-picked", (event) => this.#comp.follow(event.detail)], [document, VOICED, ({ detail }) => (this.#voices.written = detail.parts)]];
    for (const one of [this.#narrow, this.#wide]) one.addEventListener("change", () => this.#draw());
  }

  connectedCallback() {
    super.connectedCallback();
    const parts = document.querySelectorAll("timbre-part"), kept = localStorage.getItem(PICTURE);
    if (kept && !this.data) {
      Object.assign(this.#parts, JSON.parse(kept));
      this.#compose();
      this.toggleAttribute("data-away", true);
    }
    for (const part of parts) part.bring();
  }

  /** The page has none for it, and says so whenever that is: its parts may have been here before. */
  set data(given) {}

  get data() {
    return super.data;
  }

  /** Which voices sing the parts of the recording, as regions.js writes it. */
  get parts() {
    return this.#voices.written;
  }

  /** Take a part: {of, data}. */
  take({ of, data }) {
    const before = this.#parts;
    if (of === "auditions") return document.dispatchEvent(new CustomEvent("timbre-auditions", { detail: data }));
    if (of === "heard") return data && this.#isEditing() && this.#editor.hear(data);
    if (of === "song") return data && (this.dataset.song = data);
    if (of === "away" && data) return this.toggleAttribute("data-away", true);
    if (of === "away") return this.hasAttribute("data-away") && this.#forget();
    if (of === "recording") this.toggleAttribute("data-away", false);
    if (of === "recording" && data?.id !== before.recording?.id) {
      this.#loop.forget();
      if (before.recording) this.#steps.forget();
    }
    if (of === "parts") return (this.#voices.written = data);
    if (of === "comp") return (this.#comp.data = data);
    this.#parts = { ...before, [of]: data };
    if (of === "recording" && data) this.#parts.welcome = null;
    if (of === "welcome") this.dataset.settled = ""; // all that this browser had here has come back
    if (of === "offset") this.#backing.chosen = data;
    if (of === "harmonies" || of === "offset") this.#mixed(); // what was mixed is without them
    if (of === "pitch") return this.#draw();
    if ((of === "company" && !before.company?.length && !data?.length) || (of === "harmonies" && !before.harmonies && !data)) return;
    if (of === "editor") {
      const wasOn = this.#isEditing(before), lanes = before.editor?.heard?.length;
      if (data && !data.hertz) this.#parts.editor = { ...before.editor, ...data };
      this.#editor.data = data;
      if (wasOn && this.#isEditing() && lanes === this.#parts.editor.heard?.length) return this.#draw();
    }
    if (of === "recording") this.#trim.kept = data?.trim ? { start: data.trim.start_s, stop: data.trim.stop_s } : null;
    this.#compose();
    // what was edited again has another key, and may be there before the editor has it, which is closed by then
    if (of === "takes" && this.#edited && !this.data?.tracks.some(({ key }) => key === this.#edited)) this.#edited = this.data?.tracks[this.chosen]?.key ?? null;
    if (of === "editor" && data?.hertz) this.#opened();
  }

  // ---- lanes

  /** The takes, if they are of this recording. */
  #takes() {
    const { recording, takes, welcome } = this.#parts;
    if (!recording && !takes) return welcome;
    return takes && (!recording || !takes.recording || takes.recording === recording.id) ? takes : null;
  }

  get #isWelcome() {
    return Boolean(this.#parts.welcome) && this.#takes() === this.#parts.welcome;
  }

  #isEditing(parts = this.#parts) {
    return Boolean(parts.editor?.hertz);
  }

  /** Where the chosen take begins. */
  get #offset() {
    return this.data?.tracks[this.chosen]?.offset_s ?? 0;
  }

  /** Where the recording begins: a song may begin before it. */
  get #first() {
    return this.data?.tracks[0]?.offset_s ?? 0;
  }

  /** What is 0 in the picture: an editor shows its take alone. */
  get #origin() {
    return this.#isEditing() ? this.#offset : 0;
  }

  /** The lane to be chosen of takes that are shown for the first time, which may be after they came; null for others. */
  #proposed() {
    const { takes } = this.#parts, isShown = takes && this.#takes() === takes, isNew = isShown && takes.id !== this.#shown;
    this.#shown = isShown ? takes.id : null;
    return isNew ? (takes.chosen ?? null) : null;
  }

  #compose(chosen = this.#proposed()) {
    const { recording, editor } = this.#parts, takes = this.#takes(), offset = this.#backing;
    offset.found = takes?.offset_s ?? null;
    const first = recording ? { label: recording.label, url: recording.url } : takes && { label: tr("Original"), url: takes.before, waveform: takes.waveform };
    const start = recording ? (takes?.start_s ?? 0) : 0, begins = (takes?.tracks ?? []).map((track) => start - (track.first_s ?? 0));
    const isMixed = Boolean(takes?.company?.length), beside = isMixed ? takes.company : (this.#parts.company ?? []);
    const home = isMixed ? begins[0] : 0, of = (lane) => (lane.name === BACKING ? home - (isMixed ? offset.shift : offset.now) : home);
    const earliest = Math.min(0, ...begins, ...beside.map(of));
    if (first) first.offset_s = -earliest;
    const made = (takes?.tracks ?? []).map((track, index) => ({ ...track, offset_s: begins[index] - earliest }));
    const isThere = made.some(({ task, take }) => `${task}-${take}` === editor?.id); // the take that was edited
    const converted = this.#isEditing() && editor.heard?.length > 1 && !isThere ? [{ ...editor.heard[0], offset_s: start - earliest }] : [];
    const tracks = [...(first?.url ? [first] : []), ...made, ...converted];
    const id = `${ID} ${recording?.id ?? takes?.recording ?? takes?.id}`; // the same before and after the recording arrives
    const { harmonies } = this.#parts;
    const lanes = [
      ...beside.map((lane) => ({ ...lane, ...faderOf(lane, recording?.id ?? takes?.recording, isMixed && takes.id), begins: of(lane) - earliest, isMixed })),
      ...(takes && harmonies ? harmonies.lanes.map((lane) => ({ ...lane, key: keyOfHarmony(lane), usual: { pan: lane.pan, gain_db: lane.gain_db, mute: false }, begins: harmonies.start_s - earliest, isMixed: true })) : []),
    ];
    const channels = this.#isWelcome || !(made.length || lanes.length) ? [] : tracks.map((track) => (track === first ? channelOfRecording(track, id, made) : channelOf(track, id)));
    Object.assign(this.#mixer, { isAlone: this.#isEditing() }).set(channels, this.#isWelcome ? [] : lanes);
    this.#mixer.keepShift(BACKING, offset.shift);
    this.toggleAttribute("data-company", this.#mixer.isThere);
    this.toggleAttribute("data-editing", this.#isEditing());
    this.toggleAttribute("data-welcome", this.#isWelcome);
    this.toggleAttribute("data-recording", Boolean(recording));
    this.toggleAttribute("data-takes", Boolean(takes) && !this.#isWelcome);
    super.data = tracks.length ? { id, tracks, chosen: chosen ?? Math.min(this.chosen, tracks.length - 1) } : null;
    if (chosen !== null) this.choose(chosen, false);
    this.#remember();
  }

  /** Show the waveform of a file as soon as it is given, until the page has read it. */
  #given = async ({ target, dataTransfer }) => {
    const [file] = target.closest?.("#convert-drop") ? (target.files ?? dataTransfer?.files ?? []) : [], url = file && URL.createObjectURL(file);
    const sound = url && (await openSound(url).catch(() => null));
    if (!sound?.waveform) return;
    this.#parts = { ...this.#parts, takes: null, welcome: null, recording: { id: READING, label: tr("Original"), url, duration_s: sound.duration, roll: null, trim: null } };
    this.toggleAttribute("data-away", true);
    this.#compose(0);
  };

  #forget() {
    Object.assign(this.#parts, { recording: null, takes: null });
    this.toggleAttribute("data-away", false);
    this.#compose();
  }

  /** Keep what is seen in this browser, so that a reload shows it at once, and not an empty place until the page has found it. */
  #remember() {
    const { recording, takes } = this.#parts;
    if (recording?.id === READING) return;
    if (!recording && !takes) return localStorage.removeItem(PICTURE);
    try {
      localStorage.setItem(PICTURE, JSON.stringify({ recording, takes }));
    } catch {
      localStorage.removeItem(PICTURE); // there is no room for it
    }
  }

  get duration() {
    const { recording } = this.#parts;
    return recording ? Math.max(recording.duration_s + this.#first, this.chosen ? super.duration : 0) : super.duration;
  }

  get stretch() {
    const { start, stop } = super.stretch, selected = this.#isEditing() && this.repeats ? this.#editor.selection : null;
    if (selected) return { start: selected.start + this.#offset, stop: selected.end + this.#offset };
    const loop = this.repeats && !this.#isEditing() ? this.#loop.kept : null;
    if (loop) return { start: Math.max(loop.start, start), stop: Math.min(loop.stop, stop) };
    const trim = this.chosen === 0 && !this.#isEditing() ? this.#trim.kept : null;
    return trim ? { start: trim.start + this.#first, stop: Math.min(trim.stop + this.#first, stop) } : { start, stop };
  }

  /** A few seconds of the recording, in its own time: {start_s, stop_s}; null without one. */
  get phrase() {
    const { recording } = this.#parts, marked = this.#loop.kept ?? this.#trim.kept;
    const own = marked && { start: Math.max(0, marked.start - this.#first), stop: marked.stop - this.#first };
    return recording && phraseOf(recording.duration_s, own, this.#waveforms.get(recording.url));
  }

  choose(index, tells = true) {
    super.choose(index, tells && !this.#isEditing()); // the editor stays with its take
  }

  changed() {
    if (this.chosen !== this.#last) [this.#before, this.#last] = [this.#last, this.chosen];
    this.#mixer.show(); // another one is heard
    this.#draw();
  }

  #swap() {
    const count = this.data.tracks.length;
    this.choose(this.#before < count && this.#before !== this.chosen ? this.#before : this.chosen ? 0 : count - 1);
  }

  // ---- keys

  #shortcut = (event) => {
    const isCommand = event.ctrlKey || event.metaKey;
    if (!this.data || !this.checkVisibility() || isTyped(event.key, event.target, isCommand)) return;
    if (!this.contains(event.target) && /^( |[0-9]|l|L)$/.test(event.key)) this.key(event);
    if (event.defaultPrevented || event.altKey) return;
    const act = isCommand ? { z: () => (event.shiftKey ? this.#steps.redo() : this.#steps.undo()), y: () => this.#steps.redo() }[event.key.toLowerCase()] : { b: () => this.#swap(), e: () => this.#edit(), c: this.#comp.isOn && (() => this.#comp.pick(this.chosen, this.#roll.seconds)) }[event.key.toLowerCase()];
    if (!act) return;
    event.preventDefault();
    act();
  };

  #timed = ({ detail: { id } }) => id === this.data?.id && this.#mixer.measure();

  #viewed = (event) => {
    if (event.detail.group === ID && this.data) this.#placeHandles();
  };

  #edit() {
    const isOn = this.#isEditing();
    if (!isOn && !this.data?.tracks[this.chosen]?.downloads) return;
    if (isOn) this.take({ of: "editor", data: null });
    tell(this, "edit", { isOn: !isOn });
  }

  #opened() {
    const again = this.#again;
    this.#edited = this.data.tracks[this.chosen]?.key;
    this.#again = null;
    again?.();
  }

  /** Open the editor with the take that was in it last, for a step that was done there. */
  #reopen(again) {
    const lane = this.data?.tracks.findIndex(({ key }) => key && key === this.#edited) ?? -1;
    if (lane < 0 || this.#isEditing()) return;
    this.#again = again;
    this.choose(lane);
    this.#edit();
  }

  #showSteps() {
    const { undo, redo } = this.#steps.names;
    for (const [kind, what, label] of [["undo", undo, undo ? tr("Undo: {undo} (Ctrl+Z)", { undo }) : tr("Undo (Ctrl+Z)")], ["redo", redo, redo ? tr("Redo: {redo} (Ctrl+Shift+Z)", { redo }) : tr("Redo (Ctrl+Shift+Z)")]]) {
      const button = this.querySelector(`.step.${kind}`);
      if (!button) continue;
      button.disabled = !what;
      button.title = button.ariaLabel = label;
    }
  }

  // ---- what is seen

  /** Says how wide the transport is, in whatever language, to what stands beside it in the page's bar. */
  #makesRoom = new ResizeObserver(([{ target }]) => target.closest("#convert")?.style.setProperty("--transport", `${/** @type {HTMLElement} */ (target).offsetWidth}px`));

  drawn(bar, wave) {
    wave.remove();
    const edit = this.#button(tr("Edit pitch"), tr("Edit the pitch of the chosen take (E)"), () => this.#edit(), true, "edit");
    edit.setAttribute("aria-pressed", this.#isEditing());
    const comp = this.#button(tr("Comp"), tr("Choose the best take of each phrase: click it in its lane, or press C at the cursor"), () => this.#turnComping(), true, "comp");
    const build = this.#button(tr("Build comp"), tr("Make one take of the chosen phrases"), () => tell(this, "comped", this.#comp.ordered), true, "build");
    bar.classList.add("transport");
    this.#makesRoom.disconnect();
    this.#makesRoom.observe(bar);
    bar.append(this.#button("A/B", tr("Go back to the lane before, at the same position (B)"), () => this.#swap(), this.data.tracks.length > 1), edit, comp);
    const steps = [[UNDO, "undo"], [REDO, "redo"]].map(([shape, kind]) => this.#button(icon(shape), "", () => this.#steps[kind](), false, `step ${kind}`));
    const mixer = this.#button(tr("Mixer"), tr("Level, place and mute of each lane"), () => this.#openMixer(!this.hasAttribute("data-mixes")), true, "mixer");
    const view = make("div", { class: "view" }, make("span", { class: "zooms steps" }, steps), this.#mixer.isThere ? mixer : null,
      ...Object.entries(LAYERS).map(([name, [label, title]]) => this.#layer(name, label, title)),
      make("span", { class: "zooms" }, [["−", tr("Zoom out"), 1 / ZOOM], ["+", tr("Zoom in"), ZOOM]].map(([text, title, by]) => this.#button(text, title, () => this.#roll.zoom(by), true, "zoom"))), this.#display, this.#isEditing() ? this.#editor.strip : null);
    view.hidden = this.#isWelcome;
    for (const [row, label] of [[bar, tr("Transport")], [view, tr("View")]]) {
      row.setAttribute("role", "toolbar");
      row.setAttribute("aria-label", label);
    }
    const lanes = this.querySelector(".tracks");
    lanes?.setAttribute("aria-label", tr("Lanes"));
    this.data.tracks.forEach((track, index) => track.file && draggedOut(lanes.children[index], track, () => this.#save(index)));
    this.#screen.replaceChildren(view, this.#roll, ...(lanes ? [lanes] : []), ...(this.#isEditing() ? [this.#editor.bubble] : this.#trim.handles));
    if (this.#isWelcome) bar.before(make("p", { class: "welcome" }, make("b", {}, WELCOME), " ", DROP));
    if (this.#isEditing()) bar.after(this.#editor);
    else bar.after(this.#screen);
    if (this.#mixer.isThere) this.#screen.append(this.#channels());
    const whole = make("button", { type: "button", class: "download", onclick: () => this.#trim.useWhole() }, tr("Use the whole recording"));
    const foot = make("div", { class: "foot" }, make("div", { class: "picked", hidden: true }, make("span", { role: "status" }), build), make("div", { class: "trim" }, make("span", { class: "kept", role: "status" }), whole));
    this.append(foot, make("p", { class: "help-text" }, KEYS));
    bar.append(this.querySelector(".downloads"));
    this.#draw();
    this.#display.append(this.#roll.tools);
    this.#openMixer(this.hasAttribute("data-mixes"));
    this.#showComping();
    this.#showSteps();
  }

  /** The preferred format as a button, the others in a menu beside it. */
  offered(first, ...others) {
    if (!first) return [];
    const formats = menu("formats", icon("M5 8l7 9 7-9z"));
    formats.firstChild.ariaLabel = tr("Other formats");
    const stem = ({ label, name, url }) => make("a", { class: "download", href: url, download: `${name}.wav` }, label, " (wav)");
    const { song, url } = this.data.tracks[this.chosen];
    const stems = song ? [{ label: tr("Vocal"), name: VOCAL, url }, ...this.#mixer.lanes].filter((lane) => lane.url).map(stem) : [];
    formats.append(make("div", { class: "choices" }, others, stems));
    return [make("span", { class: "what" }, tr("Export")), first, formats];
  }

  /** Download a lane in the preferred format. */
  #save(index) {
    this.choose(index);
    this.querySelector(".downloads > .download")?.click();
  }

  #button(text, title, act, isThere = true, kind = "") {
    return make("button", { type: "button", class: `tool ${kind}`, title, "aria-label": /\w/.test(text) ? null : title, disabled: !isThere, onclick: act }, text);
  }

  #layer(name, label, title) {
    const made = this.#button(label, title, () => {
      const isOn = made.getAttribute("aria-pressed") !== "true";
      made.setAttribute("aria-pressed", isOn);
      this.#layers[isOn ? "add" : "delete"](name);
      this.#draw();
    });
    made.setAttribute("aria-pressed", this.#layers.has(name));
    return made;
  }

  /** Feed the picture. */
  #draw() {
    if (!this.data) return;
    const { recording, pitch } = this.#parts, origin = this.#origin;
    const isRecording = this.chosen === 0 && !this.#isEditing();
    const track = this.data.tracks[this.chosen], isOfLane = this.#isEditing() || pitch?.of === track.key;
    const sample = this.#isWelcome ? this.#parts.welcome.roll : null;
    const found = sample ? transposed(sample, track.transpose) : isRecording ? recording?.roll : isOfLane ? pitch?.roll : null;
    const isFound = Boolean(found) || this.#isEditing(); // until the take is analysed, what it was asked to sing is shown
    const roll = isFound ? found : recording?.roll && transposed(recording.roll, track.transpose);
    const layers = [...this.#layers].filter((layer) => isFound || layer !== "spectrogram");
    this.#open();
    const waves = this.data.tracks.map(({ url, offset_s = 0 }) => {
      const waveform = this.#waveforms.get(url);
      return waveform ? { ...waveform, offset_s: offset_s - origin, gain: this.#gain() } : null;
    });
    const edit = this.querySelector(".edit");
    if (edit) edit.disabled = !this.#isEditing() && !this.data.tracks[this.chosen].downloads;
    const isMixed = this.#mixer.isThere, alone = this.data.tracks.length === 1, hasLanes = !alone || Boolean(recording);
    const backdrop = {
      ...moved(roll, this.#offset - origin), follows: this.data.id, origin_s: origin, isClose: true, loudness: null,
      shown: roll?.shown ?? ["notes"], layers: roll || isFound ? layers : ["waveform"], wave: waves[this.chosen], label: tr("Position"), id: this.data.id, group: ID,
      ...this.#sizes(isMixed),
      colour: track.avatar?.colour ?? "var(--range)",
      strips: hasLanes ? waves.map((waveform, index) => ({ waveform, isChosen: index === this.chosen, colour: this.data.tracks[index].avatar?.colour, label: this.#narrow.matches || (alone && !isMixed) ? labelOf(this.data.tracks[index]) : null })).concat(this.#beside()) : [],
    };
    if (this.#isEditing()) this.#editor.backdrop = backdrop;
    else {
      const gestures = [this.#loop, this.#comp, this.#backing, this.#voices], painted = [...(isRecording ? [this.#trim] : []), this.#voices, this.#comp, this.#loop];
      this.#roll.paintOver = (...given) => painted.forEach((one) => one.paint(...given));
      this.#roll.grasp = (place, event) => gestures.some((one) => one.begin(place, event));
      const curves = (backdrop.curves ?? []).map((curve, index, all) => ({ ...curve, isSung: isFound && index === all.length - 1 }));
      this.#roll.data = { ...backdrop, curves, duration_s: this.duration || 0.01 };
    }
    this.#place();
  }

  /** How wide and how high the heads of the lanes are. */
  #sizes(isMixed) {
    const [gutter, stripHeight] = this.#narrow.matches ? [NARROW_GUTTER, NARROW_STRIP] : !isMixed ? [GUTTER, STRIP] : this.#wide.matches ? [WIDE_GUTTER, WIDE_STRIP] : [MIXED_GUTTER, MIXED_STRIP];
    return { gutter, stripHeight };
  }

  /** The strips of what is heard beside the chosen lane. */
  #beside() {
    return this.#mixer.lanes.map(({ name, url, label, begins, avatar: face }) => {
      const waveform = this.#waveforms.get(url);
      return { waveform: waveform && { ...waveform, offset_s: begins - this.#origin + (name === BACKING ? this.#backing.pulled : 0), gain: 120 / Math.max(1, waveform.most) }, colour: face?.colour, label: this.#narrow.matches ? tr(label) : null };
    });
  }

  #channels() {
    const { takes, lanes } = this.#mixer;
    const made = [...takes, ...lanes.map((lane) => (lane.name === BACKING ? { ...lane, grip: this.#backing.grip(lane) } : lane))].map((lane) => this.#mixer.channel(lane, lane.title ? () => tell(this, "removed", { name: lane.name }) : null));
    made.forEach((channel, index) => (channel.style.gridRow = index + 1));
    return make("div", { class: "channels", onkeydown: ({ key }) => key === "Escape" && this.#openMixer(false) }, made);
  }

  /** Where there is no room for it in the lanes' heads, the mixer is a sheet over the picture. */
  #openMixer(isOpen) {
    this.toggleAttribute("data-mixes", isOpen);
    this.querySelector(".mixer")?.setAttribute("aria-expanded", isOpen);
  }

  /** A mix that was made is of other faders now. */
  #mixed() {
    for (const track of [this.data, this.#parts.takes].flatMap((one) => one?.tracks ?? [])) track.downloads &&= track.downloads.map(({ label }) => ({ label }));
    if (this.data) this.offerAgain();
  }

  get wishes() {
    const { faders } = this.#mixer, shift_s = this.#backing.shift;
    return { ...(faders ? { faders } : {}), ...(shift_s ? { shift_s } : {}) };
  }

  starting(sound) {
    this.#mixer.lead(sound);
  }

  started(_sound, offset) {
    const { voice } = this.data.tracks[this.chosen];
    if (voice) document.dispatchEvent(new CustomEvent("timbre-heard", { detail: { voice } }));
    this.#mixer.start(offset);
  }

  stopped() {
    this.#mixer.stop();
  }

  /** Open all tracks, one after the other, for their waveforms. */
  async #open() {
    const all = [...(this.data?.tracks ?? []), ...this.#mixer.lanes.filter(({ url }) => url)];
    for (const track of all) {
      if (this.#waveforms.has(track.url)) continue;
      this.#waveforms.set(track.url, track.waveform ? mirrored(track.waveform) : null);
      if (track.waveform) continue; // it is fetched when it is played
      const sound = await (this.data?.tracks.includes(track) ? this.sound(track) : this.#mixer.sound(track.url)).catch(() => null);
      if (!sound?.waveform) continue;
      this.#waveforms.set(track.url, sound.waveform);
      this.#draw();
    }
  }

  /** What makes the loudest lane as high as its place; the same for all, so that levels can be compared. */
  #gain() {
    return 120 / Math.max(1, ...this.data.tracks.map(({ url }) => this.#waveforms.get(url)?.most ?? 1));
  }

  // ---- gestures on the lanes

  /** The index of the strip of what is heard beside the chosen lane, by its name; -1 where it is not. */
  #stripOf(name) {
    const place = this.#mixer.lanes.findIndex((lane) => lane.name === name);
    return place < 0 ? -1 : this.data.tracks.length + place;
  }

  #moved(offset_s) {
    this.take({ of: "offset", data: offset_s });
    if (this.isPlaying) this.seek(this.seconds);
    tell(this, "moved", { offset_s });
  }

  #turnComping() {
    this.#comp.isOn = !this.#comp.isOn;
    if (this.#comp.isOn && this.#isEditing()) this.#edit();
  }

  #showComping(said = null) {
    const comp = this.querySelector(".comp"), { isOn, canComp, canBuild } = this.#comp;
    if (!comp) return;
    comp.hidden = !canComp;
    comp.setAttribute("aria-pressed", isOn);
    this.querySelector(".picked").hidden = !isOn;
    this.querySelector(".build").disabled = !canBuild;
    if (said) this.querySelector(".picked span").textContent = said;
  }

  #trimmed(end) {
    this.#placeHandles();
    this.#roll.redrawOver();
    if (end === "start") this.seek(this.#trim.kept?.start ?? 0);
  }

  /** Put the lanes' names beside their lanes, and the handles where they belong. */
  #place() {
    const [first] = this.#roll.strips, lanes = this.#screen.querySelector(".tracks");
    const top = this.#roll.offsetTop;
    const channels = this.#screen.querySelector(".channels");
    for (const column of [lanes, channels]) if (first && column) Object.assign(column.style, { top: `${top + first.y}px`, width: `${first.x - 4}px`, gridAutoRows: `${first.height}px` });
    this.#placeHandles();
  }

  #placeHandles() {
    this.#trim.place(!this.#isWelcome && this.#first === 0 && this.#parts.recording?.id !== READING);
    const told = this.querySelector(".trim");
    if (!told) return;
    told.hidden = !this.#trim.kept || this.#isEditing();
    this.querySelector(".kept").textContent = this.#trim.said;
  }
}

/** A take as the mixer has it, under a name of its own. */
function channelOf(track, id) {
  const key = track.key ?? `${track.label} ${id}`;
  return { ...track, key, name: `take-${key}`, label: labelOf(track), begins: track.offset_s ?? 0, isTake: true };
}

/** The recording as the mixer has it, which is in a project by its conversions. */
function channelOfRecording(track, id, made) {
  const also = [...new Set(made.map(({ task }) => task))].filter(Boolean).map((task) => `${task} recording`);
  return { ...channelOf(track, id), key: `recording ${id}`, name: "recording", also };
}

/** What is beside a recording has the fader that it had there, until it is moved in a song, whose id is `task`. */
function faderOf({ name }, recording, task) {
  const key = `${name} ${recording}`;
  return task ? { key: `${task} ${name}`, song: task, next: key, usual: keptFaders()[key] } : { key };
}

/** A harmony is the first take of its task. */
function keyOfHarmony({ name }) {
  return `${name.slice("harmony-".length)} 1`;
}

function labelOf({ label, names }) {
  return names?.some(Boolean) ? label : tr(label);
}

/** A waveform with both of its sides. */
function mirrored({ step_s, high }) {
  return { step_s, high, low: high.map((one) => -one), most: Math.max(...high) };
}

/** The notes of a recording so many semitones higher: what is to be sung of it. */
function transposed({ duration_s, curves = [], notes = [] }, semitones = 0) {
  return {
    duration_s, shown: ["notes"], curves: curves.slice(0, 1).map((curve) => ({ ...curve, colour: "var(--wave)", semitones })), notes: notes.map((note) => ({ ...note, midi: note.midi + semitones })),
  };
}

/** What a roll shows, so many seconds later. */
function moved(roll, seconds) {
  if (!roll || !seconds) return roll ?? {};
  const later = (one, ...names) => one && { ...one, ...Object.fromEntries(names.map((name) => [name, (one[name] ?? 0) + seconds])) };
  const picture = (one) => one && { ...later({ end_s: roll.duration_s, ...one }, "start_s", "end_s"), tiles: one.tiles?.map((tile) => later(tile, "start_s", "end_s")) };
  return {
    ...roll, picture: picture(roll.picture), pictures: roll.pictures?.map(picture),
    notes: roll.notes?.map((note) => later(note, "start_s", "end_s")), curves: roll.curves?.map((curve) => later(curve, "offset_s")),
    waveform: later(roll.waveform, "offset_s"),
  };
}

/** Invisible; brings the instrument a part of its data: {of, data}. */
class Part extends HTMLElement {
  #given = null;

  set data(given) {
    this.#given = given;
    this.bring();
  }

  bring() {
    if (this.#given) document.querySelector("timbre-instrument")?.take(this.#given);
  }
}

customElements.define("timbre-part", Part);
customElements.define("timbre-instrument", Instrument);

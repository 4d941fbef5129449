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
//   welcome:   takes of a sample, as above, and its roll: shown until there is a recording
//   editor:    data of <timbre-pitch-editor>, and `heard`; while there is any, that is the mode
// Tells what <timbre-player> and <timbre-pitch-editor> tell, `trimmed` {start_s, stop_s} (both null for the whole), `edit`
// {isOn}, `moved` {offset_s} (null for what was found), `comped` {choice}, `removed` {name} of the company, and `voiced` {parts}:
// which voices sing the parts of the recording, as `parts` has it.
// While it comps, a click in the lane of a take chooses it for that phrase (see comping.js), and so does C at the cursor.
// Keys beside those of a player: B switches between the two lanes chosen last, E edits the pitch.

import { avatar } from "./avatar.js";
import { Choice } from "./comping.js";
import { drag, make, tell } from "./dom.js";
import { Company, VOCAL } from "./company.js";
import { menu } from "./menu.js";
import { Player } from "./player.js";
import "./pitch-editor.js";
import { drawRegion, painted, read, regionsOf, voiceMenu, write } from "./regions.js";
import { ZOOM } from "./roll.js";
import { fixed, ntr, tr } from "./texts.js";

const ID = "instrument", BACKING = "backing";
const SHORTEST_S = 0.5; // that is left when trimming
const DRAWN = 6; // pixels of a part, at least
const SNAP = 9; // pixels around what was found
const STEP_S = 0.1, FINE_STEP_S = 0.01;
const PATIENCE_MS = 400; // after the last key
const GUTTER = 168, NARROW_GUTTER = 48; // left of the lanes, for their names
const STRIP = 44; // height of a lane
const LAYERS = { waveform: [tr("Waveform"), tr("Show the waveform")], spectrogram: [tr("Spectrogram"), tr("Show the spectrogram")], pitch: [tr("Pitch"), tr("Show the pitch")] };
const KEYS = tr("Space plays. 0 to 9 choose a lane, B goes back to the lane before, at the same position. L repeats, E edits the pitch. Arrow keys on the picture move the cursor, Enter plays from there; + and − zoom.");
const WELCOME = tr("Press play or the space bar, and change the lane: one performance in three voices."), DROP = tr("Drop your own vocal anywhere.");
const TOLD = ["changed", "ordered", "wanted"]; // by the editor

class Instrument extends Player {
  #parts = {};
  #trim = null;
  #waits = 0;
  #before = 0; // the lane chosen before
  #last = 0;
  #layers = new Set(["waveform", "pitch"]);
  #waveforms = new Map(); // by url
  #roll = make("timbre-roll", {});
  #editor = make("timbre-pitch-editor", {});
  #screen = make("div", { class: "screen" });
  #display = menu("display", tr("Display"));
  #voices = []; // of the parts of the recording: [{start, voice}]
  #comp = null; // a Choice, where there are takes and phrases to choose among
  #isComping = false;
  #pulled = 0; // seconds by which the backing is dragged
  #drawn = null; // the part that is drawn: {from, to}
  #company = new Company(() => this.#mixed());
  #narrow = matchMedia("(max-width: 600px)");

  constructor() {
    super();
    customElements.upgrade(this.#roll);
    customElements.upgrade(this.#editor);
    Object.assign(this.#editor, { roll: this.#roll, screen: this.#screen });
    this.#roll.resized = () => this.data && this.#place();
    for (const name of TOLD) this.#editor.addEventListener(`tell-${name}`, (event) => tell(this, name, event.detail));
    this.heard = [...this.heard, [document, "keydown", this.#shortcut], [document, "timbre-view", this.#viewed], [document, "timbre-time", this.#timed], [document, "timbre-picked", this.#picked]];
    this.#narrow.addEventListener("change", () => this.#draw());
  }

  connectedCallback() {
    super.connectedCallback();
    for (const part of document.querySelectorAll("timbre-part")) part.bring();
  }

  /** The page has none for it, and says so whenever that is: its parts may have been here before. */
  set data(given) {}

  get data() {
    return super.data;
  }

  /** Take a part: {of, data}. */
  take({ of, data }) {
    const before = this.#parts;
    if (of === "parts") {
      this.#voices = read(data ?? "");
      return this.#roll.redrawOver();
    }
    if (of === "comp") return this.#compare(data);
    this.#parts = { ...before, [of]: data };
    if (of === "recording" && data) this.#parts.welcome = null;
    if (of === "harmonies" || of === "offset") this.#mixed(true); // what was mixed is without them
    if (of === "pitch") return this.#draw();
    if ((of === "company" && !before.company?.length && !data?.length) || (of === "harmonies" && !before.harmonies && !data)) return;
    if (of === "editor") {
      const wasOn = this.#isEditing(before), lanes = before.editor?.heard?.length;
      if (data && !data.hertz) this.#parts.editor = { ...before.editor, ...data };
      this.#editor.data = data;
      if (wasOn && this.#isEditing() && lanes === this.#parts.editor.heard?.length) return this.#draw();
    }
    if (of === "recording") this.#trim = data?.trim ? { start: data.trim.start_s, stop: data.trim.stop_s } : null;
    this.#compose(of === "takes" && data && data.id !== before.takes?.id && this.#takes() ? data.chosen : null);
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

  #compose(chosen = null) {
    const { recording, editor } = this.#parts, takes = this.#takes();
    const first = recording ? { label: recording.label, url: recording.url } : takes && { label: tr("Recording"), url: takes.before };
    const start = recording ? (takes?.start_s ?? 0) : 0, begins = (takes?.tracks ?? []).map((track) => start - (track.first_s ?? 0));
    const isMixed = Boolean(takes?.company?.length), beside = isMixed ? takes.company : (this.#parts.company ?? []);
    const home = isMixed ? begins[0] : 0, of = (lane) => (lane.name === BACKING ? home - (isMixed ? this.#shift : this.#offsetNow) : home);
    const earliest = Math.min(0, ...begins, ...beside.map(of));
    if (first) first.offset_s = -earliest;
    const made = (takes?.tracks ?? []).map((track, index) => ({ ...track, offset_s: begins[index] - earliest }));
    const isThere = (lane) => made.some(({ url }) => fileOf(url) === fileOf(lane.url)); // the take that was edited
    const converted = this.#isEditing() && editor.heard?.length > 1 && !isThere(editor.heard[0]) ? [{ ...editor.heard[0], offset_s: start - earliest }] : [];
    const tracks = [...(first?.url ? [first] : []), ...made, ...converted];
    const id = `${ID} ${recording?.id ?? takes?.recording ?? takes?.id}`; // the same before and after the recording arrives
    const { harmonies } = this.#parts;
    const lanes = [...beside.map((lane) => ({ ...lane, begins: of(lane) - earliest })), ...(takes && harmonies ? harmonies.lanes.map((lane) => ({ ...lane, begins: harmonies.start_s - earliest })) : [])];
    this.#company.set(this.#isWelcome ? [] : lanes);
    this.toggleAttribute("data-company", this.#company.isThere);
    this.toggleAttribute("data-editing", this.#isEditing());
    this.toggleAttribute("data-welcome", this.#isWelcome);
    this.toggleAttribute("data-takes", Boolean(takes) && !this.#isWelcome);
    super.data = tracks.length ? { id, tracks, chosen: chosen ?? Math.min(this.chosen, tracks.length - 1) } : null;
    if (chosen !== null) this.choose(chosen, false);
  }

  /** How many seconds later than in its mix a song's vocal is to begin. */
  get #shift() {
    const found = this.#takes()?.offset_s ?? null, { offset = null } = this.#parts;
    return found === null || offset === null ? 0 : offset - found;
  }

  get duration() {
    const { recording } = this.#parts;
    return recording ? Math.max(recording.duration_s + this.#first, this.chosen ? super.duration : 0) : super.duration;
  }

  get stretch() {
    const { start, stop } = super.stretch, selected = this.#isEditing() && this.repeats ? this.#editor.selection : null;
    if (selected) return { start: selected.start + this.#offset, stop: selected.end + this.#offset };
    const trim = this.chosen === 0 && !this.#isEditing() ? this.#trim : null;
    return trim ? { start: trim.start + this.#first, stop: Math.min(trim.stop + this.#first, stop) } : { start, stop };
  }

  choose(index, tells = true) {
    super.choose(index, tells && !this.#isEditing()); // the editor stays with its take
  }

  changed() {
    if (this.chosen !== this.#last) [this.#before, this.#last] = [this.#last, this.chosen];
    this.#draw();
  }

  #swap() {
    const count = this.data.tracks.length;
    this.choose(this.#before < count && this.#before !== this.chosen ? this.#before : this.chosen ? 0 : count - 1);
  }

  // ---- keys

  #shortcut = (event) => {
    const isFree = event.target === document.body || this.contains(event.target);
    if (!isFree || !this.data || !this.checkVisibility() || event.target.matches("input, select")) return;
    if (event.target === document.body && /^( |[0-9]|l|L)$/.test(event.key)) this.key(event);
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
    const act = { b: () => this.#swap(), e: () => this.#edit(), c: this.#isComping && (() => this.#pickAt(this.chosen, this.#roll.seconds)) }[event.key.toLowerCase()];
    if (!act) return;
    event.preventDefault();
    act();
  };

  #timed = ({ detail: { id, playing } }) => id === this.data?.id && playing && this.#company.isThere && this.#company.measure(this);

  #viewed = (event) => {
    if (event.detail.group === ID && this.data) this.#placeHandles();
  };

  #edit() {
    const isOn = this.#isEditing();
    if (!isOn && !this.data?.tracks[this.chosen]?.downloads) return;
    if (isOn) this.take({ of: "editor", data: null });
    tell(this, "edit", { isOn: !isOn });
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
    const view = make("div", { class: "view" },
      ...Object.entries(LAYERS).map(([name, [label, title]]) => this.#layer(name, label, title)),
      make("span", { class: "zooms" }, [["−", tr("Zoom out"), 1 / ZOOM], ["+", tr("Zoom in"), ZOOM]].map(([text, title, by]) => this.#button(text, title, () => this.#roll.zoom(by), true, "zoom"))), this.#display);
    view.hidden = this.#isWelcome;
    for (const [row, label] of [[bar, tr("Transport")], [view, tr("View")]]) {
      row.setAttribute("role", "toolbar");
      row.setAttribute("aria-label", label);
    }
    const lanes = this.querySelector(".tracks");
    lanes?.setAttribute("aria-label", tr("Lanes"));
    this.#screen.replaceChildren(this.#roll, view, ...(lanes ? [lanes] : []), ...(this.#isEditing() ? [] : ["start", "stop"].map((end) => this.#handle(end))));
    if (this.#isWelcome) bar.before(make("p", { class: "welcome" }, make("b", {}, WELCOME), " ", DROP));
    if (this.#isEditing()) bar.after(this.#editor);
    else bar.after(this.#screen);
    if (this.#company.isThere) this.#screen.append(this.#channels());
    const whole = make("button", { type: "button", class: "download", onclick: () => this.#keep(null, true) }, tr("Use the whole recording"));
    const foot = make("div", { class: "foot" }, make("div", { class: "picked", hidden: true }, make("span", { role: "status" }), build), make("div", { class: "trim" }, make("span", { class: "kept", role: "status" }), whole));
    this.append(foot, make("p", { class: "help-text" }, KEYS));
    bar.append(this.querySelector(".downloads"));
    this.#draw();
    this.#display.append(this.#roll.tools);
    this.#showComping();
  }

  /** The preferred format as a button, the others in a menu beside it. */
  offered(first, ...others) {
    if (!first) return [];
    const formats = menu("formats", "\u25be");
    formats.firstChild.ariaLabel = tr("Other formats");
    const stem = ({ label, name, url }) => make("a", { class: "download", href: url, download: `${name}.wav` }, label, " (wav)");
    const { song, url } = this.data.tracks[this.chosen];
    const stems = song ? [{ label: tr("Vocal"), name: VOCAL, url }, ...this.#company.lanes].filter((lane) => lane.url).map(stem) : [];
    formats.append(make("div", { class: "choices" }, others, stems));
    return [make("span", { class: "what" }, tr("Export")), first, formats];
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
    const alone = this.data.tracks.length === 1, hasLanes = !alone || Boolean(recording);
    const backdrop = {
      ...moved(roll, this.#offset - origin), follows: this.data.id, origin_s: origin, isClose: true, loudness: null,
      shown: roll?.shown ?? ["notes"], layers: roll || isFound ? layers : ["waveform"], wave: waves[this.chosen], label: tr("Position"), id: this.data.id, group: ID,
      gutter: this.#narrow.matches ? NARROW_GUTTER : GUTTER, stripHeight: STRIP,
      colour: track.avatar?.colour ?? "var(--range)",
      strips: hasLanes ? waves.map((waveform, index) => ({ waveform, isChosen: index === this.chosen, colour: this.data.tracks[index].avatar?.colour, label: this.#narrow.matches || (alone && !this.#company.isThere) ? labelOf(this.data.tracks[index]) : null })).concat(this.#beside()) : [],
    };
    if (this.#isEditing()) this.#editor.backdrop = backdrop;
    else {
      this.#roll.paintOver = (context, plot, colours) => {
        this.#dim(context, plot, colours);
        this.#paintVoices(context, plot, colours);
        if (this.#isComping) this.#paintPhrases(context, plot, colours);
      };
      this.#roll.grasp = (place, event) => this.#beginPick(place, event) || this.#beginMove(place, event) || this.#beginVoice(place, event);
      const curves = (backdrop.curves ?? []).map((curve, index, all) => ({ ...curve, isSung: isFound && index === all.length - 1 }));
      this.#roll.data = { ...backdrop, curves, duration_s: this.duration || 0.01 };
    }
    this.#place();
  }

  /** The strips of what is heard beside the chosen lane. */
  #beside() {
    return this.#company.lanes.map(({ name, url, label, begins, avatar: face }) => {
      const waveform = this.#waveforms.get(url);
      return { waveform: waveform && { ...waveform, offset_s: begins - this.#origin + (name === BACKING ? this.#pulled : 0), gain: 120 / Math.max(1, waveform.most) }, colour: face?.colour, label: this.#narrow.matches ? tr(label) : null };
    });
  }

  #channels() {
    const made = this.#company.lanes.map((lane) => this.#company.channel(lane.name === BACKING ? { ...lane, grip: this.#grip(lane) } : lane, lane.title ? () => tell(this, "removed", { name: lane.name }) : null));
    const vocal = this.#company.channel({ name: VOCAL, label: tr("Vocal"), title: null, url: true }, null, this.data.tracks.length === 1);
    made.forEach((channel, index) => (channel.style.gridRow = this.data.tracks.length + index + 1));
    return make("div", { class: "channels" }, vocal, made);
  }

  /** A mix that was made is of other faders now. */
  #mixed(isMixed = Boolean(this.#parts.harmonies)) {
    for (const track of [this.data, this.#parts.takes].flatMap((one) => one?.tracks ?? [])) if (track.downloads && (track.song || isMixed)) track.downloads = track.downloads.map(({ label }) => ({ label }));
    if (this.data) this.offerAgain();
  }

  get wishes() {
    return this.#company.isThere ? { faders: this.#company.faders, ...(this.#shift ? { shift_s: this.#shift } : {}) } : {};
  }

  starting(sound) {
    this.#company.lead(sound);
  }

  started(sound, offset, goesOn) {
    if (!goesOn && !this.#isEditing()) this.#company.start(sound, offset);
  }

  stopped() {
    this.#company.stop();
  }

  /** Open all tracks, one after the other, for their waveforms. */
  async #open() {
    const all = [...(this.data?.tracks ?? []), ...this.#company.lanes.filter(({ url }) => url)];
    for (const track of all) {
      if (this.#waveforms.has(track.url)) continue;
      this.#waveforms.set(track.url, null);
      const sound = await (this.data?.tracks.includes(track) ? this.sound(track) : this.#company.sound(track.url)).catch(() => null);
      if (!sound?.waveform) continue;
      this.#waveforms.set(track.url, sound.waveform);
      this.#draw();
    }
  }

  /** What makes the loudest lane as high as its place; the same for all, so that levels can be compared. */
  #gain() {
    return 120 / Math.max(1, ...this.data.tracks.map(({ url }) => this.#waveforms.get(url)?.most ?? 1));
  }

  /** Dim what is not converted. */
  #dim(context, plot, colours) {
    if (!this.#trim || this.chosen) return;
    const { box } = plot, { start, stop } = this.#ends(), right = box.x + box.width;
    const [left, end] = [start, stop].map((seconds) => Math.min(Math.max(plot.x(seconds), box.x), right));
    context.fillStyle = colours.ground;
    context.globalAlpha = 0.7;
    context.fillRect(box.x, box.y, left - box.x, box.height);
    context.fillRect(end, box.y, right - end, box.height);
    context.globalAlpha = 1;
  }

  // ---- voices of parts, drawn on the lane of the recording

  #lane() {
    return this.#parts.recording ? this.#roll.strips[0] : null;
  }

  #paintVoices(context, plot, colours) {
    const lane = this.#lane();
    if (!lane) return;
    const placed = ({ start, end, voice }) => ({ voice, start: start + this.#first, end: end + this.#first });
    for (const region of regionsOf(this.#voices, this.#parts.recording.duration_s)) drawRegion(context, plot, lane, placed(region), colours);
    if (!this.#drawn) return;
    const [start, end] = [this.#drawn.from, this.#drawn.to].sort((one, other) => one - other);
    drawRegion(context, plot, lane, placed({ start, end, voice: null }), colours);
  }

  /** Draw a part, or offer another voice for one that is pressed; a press elsewhere is the roll's. */
  #beginVoice({ x, y, seconds }, event) {
    const lane = this.#lane(), at = seconds - this.#first;
    this.#screen.querySelector(".voice-menu")?.remove();
    if (!lane || x < lane.x || y < lane.y || y > lane.y + lane.height || event.pointerType === "touch") return false;
    const stage = this.#roll.querySelector(".roll-stage"), { left } = stage.getBoundingClientRect();
    this.#drawn = { from: at, to: at };
    const to = (moved) => {
      this.#drawn.to = Math.min(Math.max(this.#roll.plot.seconds(moved.clientX - left) - this.#first, 0), this.#parts.recording.duration_s);
      this.#roll.redrawOver();
    };
    const drop = () => {
      const [start, end] = [this.#drawn.from, this.#drawn.to].sort((one, other) => one - other);
      const found = regionsOf(this.#voices, this.#parts.recording.duration_s).find((one) => one.start <= at && at < one.end);
      const isDrawn = (end - start) * this.#roll.plot.pixelsPerSecond > DRAWN;
      if (isDrawn) this.#offerVoices(start, end, x, lane);
      else if (found) this.#offerVoices(found.start, found.end, x, lane);
      this.#drawn = isDrawn ? this.#drawn : null;
      if (!isDrawn) this.#roll.seek(seconds);
    };
    drag(event, stage, to, drop);
    return true;
  }

  #offerVoices(start, end, x, lane) {
    const choose = (voice) => {
      if (voice) this.#voices = painted(this.#voices, start, end, voice);
      this.#drawn = null;
      offered.remove();
      this.#roll.redrawOver();
      if (voice) tell(this, "voiced", { parts: write(this.#voices) });
    };
    const offered = voiceMenu(choose, avatar);
    Object.assign(offered.style, { left: `${Math.min(x, this.#screen.clientWidth - 190)}px`, bottom: `${this.#screen.clientHeight - this.#roll.offsetTop - lane.y + 4}px` });
    this.#screen.append(offered);
    offered.firstChild.focus();
  }

  // ---- phrases of takes, chosen in their lanes

  #compare(data) {
    if (data && this.#comp) this.#comp.data = data;
    else this.#comp = data && new Choice(data);
    if (!this.#comp?.canComp) this.#comp = null;
    this.#isComping &&= Boolean(this.#comp);
    this.#showComping();
    if (this.data) this.#roll.redrawOver();
  }

  #picked = ({ detail }) => {
    this.#comp?.follow(detail);
    this.#showComping();
    if (this.#isComping) this.#roll.redrawOver();
  };

  #turnComping() {
    this.#isComping = !this.#isComping;
    if (this.#isComping && this.#isEditing()) this.#edit();
    this.#showComping();
    this.#roll.redrawOver();
  }

  #showComping() {
    const comp = this.querySelector(".comp");
    if (!comp) return;
    comp.hidden = !this.#comp;
    comp.setAttribute("aria-pressed", this.#isComping);
    this.querySelector(".picked").hidden = !this.#isComping;
    this.querySelector(".build").disabled = !this.#comp?.canBuild;
  }

  #paintPhrases(context, plot, colours) {
    const lanes = this.#roll.strips;
    this.data.tracks.forEach(({ task, take, offset_s = 0 }, index) => {
      const lane = lanes[index];
      if (!task || !lane) return;
      for (const phrase of this.#comp.phrases) {
        const [left, right] = [phrase.start, phrase.end].map((seconds) => Math.min(Math.max(plot.x(seconds + offset_s), lane.x), lane.x + lane.width));
        const isChosen = phrase.task === task && phrase.take === take;
        context.fillStyle = isChosen ? colours.accent : colours.ground;
        context.globalAlpha = isChosen ? 0.16 : 0.6;
        context.fillRect(left, lane.y, right - left - 1, lane.height);
        context.globalAlpha = 1;
        if (isChosen) context.fillRect(left, lane.y + lane.height - 3, right - left - 1, 3);
      }
    });
  }

  /** Choose a phrase that is pressed, or all that are swept over. */
  #beginPick({ x, y, seconds }, event) {
    const index = this.#isComping ? this.#roll.strips.findIndex((lane) => x >= lane.x && y >= lane.y && y <= lane.y + lane.height) : -1;
    if (!this.data.tracks[index]?.task) return false;
    const stage = this.#roll.querySelector(".roll-stage"), { left } = stage.getBoundingClientRect();
    const to = (moved) => this.#pickAt(index, this.#roll.plot.seconds(moved.clientX - left));
    drag(event, stage, to);
    this.#pickAt(index, seconds);
    this.choose(index);
    this.#roll.seek(Math.max(0, this.#phraseAt(index, seconds).start + (this.data.tracks[index].offset_s ?? 0)));
    return true;
  }

  #phraseAt(index, seconds) {
    const at = seconds - (this.data.tracks[index].offset_s ?? 0), { phrases } = this.#comp;
    return phrases.find(({ start, end }) => start <= at && at < end) ?? phrases[0];
  }

  #pickAt(index, seconds) {
    const track = this.data.tracks[index];
    if (!track.task) return;
    const { start } = this.#phraseAt(index, seconds);
    const said = this.#comp.pick(this.#comp.phrases.findIndex((one) => one.start === start), track);
    if (said) this.querySelector(".picked span").textContent = said;
  }

  // ---- the backing, moved against the recording

  /** Move the backing by dragging its lane, which snaps to where it was found. */
  #beginMove({ x, y, seconds }, event) {
    const place = this.#company.lanes.findIndex(({ name }) => name === BACKING), lane = this.#roll.strips[this.data.tracks.length + place];
    if (place < 0 || !lane || x < lane.x || y < lane.y || y > lane.y + lane.height || event.pointerType === "touch") return false;
    const from = event.clientX;
    const to = (moved) => {
      const pulled = (moved.clientX - from) / this.#roll.plot.pixelsPerSecond, found = this.#found;
      const isNear = found !== null && Math.abs(this.#offsetNow - pulled - found) * this.#roll.plot.pixelsPerSecond < SNAP;
      this.#pulled = isNear ? this.#offsetNow - found : pulled;
      this.#draw();
    };
    const drop = () => {
      const offset = this.#offsetNow - this.#pulled, isMoved = this.#pulled !== 0;
      this.#pulled = 0;
      if (isMoved) this.#moveTo(offset);
      else this.#roll.seek(seconds);
    };
    drag(event, this.#roll.querySelector(".roll-stage"), to, drop);
    return true;
  }

  /** A handle for the keyboard: arrows move the backing, Home puts it where it was found. */
  #grip({ label }) {
    const handle = make("i", { class: "grip", role: "slider", tabindex: 0, "aria-label": tr("Offset of {label}", { label }), "aria-valuenow": this.#offsetNow.toFixed(2), title: tr("Drag the lane, or use the arrow keys here; Home for where it was found"),
      onkeydown: (event) => {
        const step = event.shiftKey ? STEP_S : FINE_STEP_S, by = { ArrowLeft: step, ArrowDown: step, ArrowRight: -step, ArrowUp: -step }[event.key];
        if (!by && event.key !== "Home") return;
        event.preventDefault();
        event.stopPropagation();
        this.#moveTo(by ? this.#offsetNow + by : null);
        this.querySelector(".grip")?.focus();
      } }, "\u22ee\u22ee");
    const seconds = fixed(this.#offsetNow, 2);
    handle.ariaValueText = this.#parts.offset == null ? tr("Auto, {seconds} s", { seconds }) : tr("{seconds} s", { seconds });
    return handle;
  }

  /** Where the song was found to begin in its backing; null until that is known. */
  get #found() {
    return this.#takes()?.offset_s ?? null;
  }

  get #offsetNow() {
    return this.#parts.offset ?? this.#found ?? 0;
  }

  #moveTo(offset) {
    const exact = offset === null ? null : Math.round(1000 * offset) / 1000;
    const isFound = exact === null || (this.#found !== null && Math.abs(exact - this.#found) < 0.0005);
    const offset_s = isFound ? null : exact;
    this.take({ of: "offset", data: offset_s });
    if (this.isPlaying) this.seek(this.seconds);
    tell(this, "moved", { offset_s });
  }

  /** Put the lanes' names beside their lanes, and the handles where they belong. */
  #place() {
    const [first] = this.#roll.strips, lanes = this.#screen.querySelector(".tracks");
    const top = this.#roll.offsetTop;
    const channels = this.#screen.querySelector(".channels");
    for (const column of [lanes, channels]) if (first && column) Object.assign(column.style, { top: `${top + first.y}px`, width: `${first.x - 4}px`, gridAutoRows: `${first.height}px` });
    if (channels) channels.firstChild.style.gridRow = this.chosen + 1;
    this.#placeHandles();
  }

  #placeHandles() {
    const { plot } = this.#roll, ends = this.#ends();
    for (const handle of this.#screen.querySelectorAll(".handle")) {
      const seconds = ends[handle.classList.contains("start") ? "start" : "stop"], { box } = plot;
      handle.hidden = !this.duration || this.#isWelcome || this.#first > 0 || seconds < plot.start - 1e-6 || seconds > plot.end + 1e-6;
      Object.assign(handle.style, { left: `${plot.x(seconds)}px`, top: `${this.#roll.offsetTop + box.y}px`, height: `${box.height}px` });
      handle.setAttribute("aria-valuemax", this.duration.toFixed(2));
      handle.setAttribute("aria-valuenow", seconds.toFixed(2));
      handle.setAttribute("aria-valuetext", ntr("{seconds} second", "{seconds} seconds", { seconds: fixed(seconds, 2) }));
    }
    const { start, stop } = ends, trim = this.querySelector(".trim");
    if (!trim) return;
    trim.hidden = !this.#trim || this.#isEditing();
    this.querySelector(".kept").textContent = this.#trim
      ? tr("Only {start} s to {stop} s will be converted ({start2} s).", { start: fixed(start, 1), stop: fixed(stop, 1), start2: fixed((stop - start), 1) })
      : "";
  }

  // ---- trimming

  #handle(end) {
    return make("i", {
      class: `handle ${end}`, role: "slider", tabindex: 0, "aria-label": end === "start" ? tr("Start") : tr("End"), "aria-valuemin": 0,
      onkeydown: (event) => this.#nudge(event, end),
      onblur: () => this.#waits && this.#tell(),
      onpointerdown: (event) => this.#drag(event, end),
    });
  }

  #drag(event, end) {
    event.stopPropagation();
    event.target.focus();
    const { left } = this.#screen.getBoundingClientRect();
    drag(event, event.target, (moved) => this.#move(end, this.#roll.plot.seconds(moved.clientX - left)), () => this.#tell());
  }

  #nudge(event, end) {
    const step = event.shiftKey ? FINE_STEP_S : STEP_S, now = this.#ends()[end];
    const places = { ArrowLeft: now - step, ArrowDown: now - step, ArrowRight: now + step, ArrowUp: now + step, Home: 0, End: this.duration };
    if (!(event.key in places)) return;
    event.preventDefault();
    event.stopPropagation();
    this.#move(end, places[event.key]);
    clearTimeout(this.#waits);
    this.#waits = setTimeout(() => this.#tell(), PATIENCE_MS);
  }

  #ends() {
    return { start: this.#trim?.start ?? 0, stop: Math.min(this.#trim?.stop ?? Infinity, this.duration) };
  }

  #move(end, seconds) {
    const { start, stop } = this.#ends(), shortest = Math.min(SHORTEST_S, this.duration);
    if (end === "start") {
      this.#keep({ start: Math.max(0, Math.min(seconds, stop - shortest)), stop });
      this.seek(this.#trim?.start ?? 0);
    } else this.#keep({ start, stop: Math.min(this.duration, Math.max(seconds, start + shortest)) });
  }

  #keep(trim, tells = false) {
    const isWhole = trim && trim.start < FINE_STEP_S && trim.stop > this.duration - FINE_STEP_S;
    this.#trim = isWhole ? null : trim;
    this.#placeHandles();
    this.#roll.redrawOver();
    if (tells) this.#tell();
  }

  #tell() {
    clearTimeout(this.#waits);
    this.#waits = 0;
    const [start_s, stop_s] = [this.#trim?.start, this.#trim?.stop].map((seconds) => (seconds === undefined ? null : Math.round(seconds * 1000) / 1000));
    tell(this, "trimmed", { start_s, stop_s });
  }
}

/** What a link leads to: links to the same file differ in when they expire. */
function fileOf(url) {
  return new URL(url, location.href).pathname;
}

function labelOf({ label, names }) {
  return names?.some(Boolean) ? label : tr(label);
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

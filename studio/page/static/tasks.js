// <timbre-tasks>: tasks as a list; each opens to show its settings, sounds, errors and actions.
//
// data: {tasks: [{id, title, is_name: whether the title is nothing but names, avatar, kind, detail: [texts], state, label,
// progress, message, error, created_s, took, facts: [[name, value]], compared: [[name, value]] in which it may differ from
// another, player: data of <timbre-player>, note, actions: [{name, label,
// question}], beside: such actions in the row itself, rows: for a project, its conversions as such tasks, the newest first, more: how many it has besides}],
// open: id or null, empty: text, select: whether rows can be selected, to compare two and to delete several; not those
// that are active}.
// An action with a question asks for confirmation. Sends `asked` {id, action}, for several {ids, action: "delete"}, for
// all rows of a project {id, action: "all"}, `download` {id, index, label} of the player, and `unfolded` {ids} of the rows that
// are open, where a take has no waveform yet.
// A row stays open and playing while its data are unchanged.

import { avatar } from "./avatar.js";
import { Listener, icon, iconButton, make, row, tell, when, wholeTime } from "./dom.js";
import { keptFaders } from "./faders.js";
import { Listening } from "./listening.js";
import { waveform } from "./player.js";
import { ALERT, ARROW, CHECK, MINUS, PLAY, STOP, WAITING } from "./shapes.js";
import { tr } from "./texts.js";

const MARKS = { queued: WAITING, running: PLAY, completed: CHECK, failed: ALERT, cancelled: MINUS };
const SIGNED = /^[+\u2212]/;

class Tasks extends Listener {
  #listening = new Listening(this, () => this.#all.forEach((row) => row.mark(this.#listening.playing)));
  heard = this.#listening.heard;
  #rows = new Map(); // id -> Row
  #opened = null; // the row last opened by the data
  #list = make("ul");
  #empty = make("p", { class: "empty" });
  #bar = make("div", { class: "actions several", role: "group", "aria-label": tr("Selected"), hidden: true });
  #shown = ""; // by the bar: the selected ids, and "?" with a question

  /** @param {import("./types").TasksData | null} given */
  set data(given) {
    const tasks = given?.tasks ?? [];
    const place = this.#all.findIndex((row) => row.item.contains(document.activeElement));
    this.#rows = shown(tasks, this.#rows, this, given?.select);
    settle(this.#list, [...this.#rows.values()].map((row) => row.item));
    if (place >= 0 && !this.#list.contains(document.activeElement)) {
      this.#all[Math.min(place, this.#all.length - 1)]?.item.querySelector("button").focus(); // the focused row is gone
    }
    this.#empty.textContent = tasks.length ? "" : (given?.empty ?? "");
    if (!this.#list.isConnected) this.append(this.#bar, this.#list, this.#empty);
    this.showSelected();
    if (given?.open && given.open !== this.#opened) this.#rows.get(given.open)?.open(true);
    this.#opened = given?.open ?? null;
  }

  /** All rows, those of a project after it. */
  get #all() {
    return [...this.#rows.values()].flatMap((row) => [row, ...row.within]);
  }

  disconnectedCallback() {
    super.disconnectedCallback();
    this.#listening.quiet();
  }

  /** Ask for the waveforms of what is seen now. */
  unfold() {
    tell(this, "unfolded", { ids: this.#all.filter((row) => row.isOpen).map(({ id }) => id) });
  }

  /** Play the chosen take of a task, or stop it. */
  play(id, { tracks, chosen }) {
    this.#listening.toggle(id, tracks[chosen].url);
  }

  showSelected(isAsking = false) {
    const chosen = this.#all.filter((row) => row.isSelected);
    const named = chosen.map((row) => row.id).join(" ");
    if (!isAsking && named && [named, `${named}?`].includes(this.#shown)) return; // focus stays while the list is refreshed
    this.#shown = isAsking ? `${named}?` : named;
    this.#bar.hidden = !chosen.length;
    const clear = () => {
      for (const row of chosen) row.select(false);
      this.showSelected();
      this.querySelector(".task-head")?.focus();
    };
    const erase = () => {
      const ids = chosen.map((row) => row.id);
      clear();
      tell(this, "asked", { action: "delete", ids });
    };
    const button = (name, label, act) => make("button", { type: "button", class: name, onclick: act }, label);
    const count = chosen.length;
    if (!isAsking) {
      const all = () => { for (const row of this.#all) row.select(true); this.showSelected(); };
      this.#bar.replaceChildren(make("span", { role: "status" }, tr("{count} selected", { count })), button("delete", tr("Delete"), () => this.showSelected(true)),
        button("all", tr("Select all"), all), button("none", tr("Clear"), clear), ...difference(chosen));
      return;
    }
    const keep = button("keep", tr("Keep them"), () => { this.#shown = ""; this.showSelected(); this.#bar.querySelector(".delete")?.focus(); });
    const question = tr("Delete these {count}, with recordings and takes?", { count });
    this.#bar.replaceChildren(make("span", { role: "status" }, question), button("sure", tr("Delete"), erase), keep);
    keep.focus();
  }
}

class Row {
  #owner;
  /** @type {import("./types").Task} */
  #task = null;
  #head;
  #inside;
  #is_open = false;
  #box;
  #choice;
  #rows = new Map(); // of a project: id -> Row
  #list = make("ul", { class: "within" });
  #changes = make("span", { class: "changes" });
  #beside = make("div", { class: "actions beside" });
  #play = iconButton("play", PLAY, tr("Play"), () => this.#owner.play(this.#task.id, this.#task.player));

  constructor(owner) {
    this.#owner = owner;
    this.#head = make("button", { type: "button", class: "task-head", "aria-expanded": "false", onclick: () => this.#turn() });
    this.#inside = make("div", { class: "inside", hidden: true });
    this.#box = make("input", { type: "checkbox", onchange: () => owner.showSelected() });
    this.#choice = make("label", { class: "choice", hidden: true }, this.#box);
    this.item = make("li", { class: "task" }, make("div", { class: "line" }, this.#choice, this.#play, this.#head, this.#beside), this.#inside);
  }

  get id() {
    return this.#task.id;
  }

  get task() {
    return this.#task;
  }

  /** The rows of a project. */
  get within() {
    return [...this.#rows.values()];
  }

  /** Show whether its take is playing. */
  mark(playing) {
    const plays = playing !== null && playing === this.#task.id;
    this.item.classList.toggle("playing", plays);
    this.#play.setAttribute("aria-pressed", plays);
    this.#play.querySelector("path").setAttribute("d", plays ? STOP : PLAY);
  }

  get isOpen() {
    return this.#is_open;
  }

  get isSelected() {
    return this.#box.checked;
  }

  select(isSelected) {
    this.#box.checked = isSelected && !this.#box.disabled;
  }

  show(given, canSelect) {
    const { rows, more, ...task } = given;
    this.#choice.hidden = !canSelect || Boolean(rows);
    this.#box.disabled = Boolean(rows) || task.state === "queued" || task.state === "running";
    if (this.#box.disabled || !canSelect) this.#box.checked = false;
    const name = task.title;
    this.#box.ariaLabel = tr("Select {name}", { name });
    if (rows) this.#showWithin(task, rows, more, canSelect);
    if (JSON.stringify(task) === JSON.stringify(this.#task)) return;
    const before = this.#task;
    this.#task = task;
    this.item.dataset.state = task.state;
    this.item.dataset.task = task.id;
    this.#play.hidden = !task.player;
    this.#play.ariaLabel = tr("Play {name}", { name });
    this.#showHead();
    this.#beside.replaceChildren(...(task.beside ?? []).map((action) => this.#button(action, `${action.label}: ${name}`)));
    if (this.#is_open) this.#showInside(before);
  }

  /** Show in what it differs from the one before it. */
  compare(older) {
    const found = differences(older?.compared, this.#task.compared).filter(([name]) => name !== tr("Voice")); // its title says
    this.#changes.title = found.length ? tr("Changed since the take before") : "";
    this.#changes.replaceChildren(...found.map(changed));
  }

  #showWithin(task, rows, more, canSelect) {
    this.item.className = "group";
    this.#rows = shown(rows, this.#rows, this.#owner, canSelect);
    this.within.forEach((row, place, all) => row.compare(all.slice(place + 1).find((one) => one.task.compared.length)?.task));
    const all = () => tell(this.#owner, "asked", { id: task.id, action: "all" });
    const further = more ? make("li", {}, make("button", { type: "button", class: "further", onclick: all }, tr("Show all {more}", { more: rows.length + more }))) : null;
    settle(this.#list, [...this.within.map((row) => row.item), ...(further ? [further] : [])]);
    if (!this.#list.isConnected) this.item.append(this.#list);
  }

  open(isOpen) {
    this.#is_open = isOpen;
    this.#head.setAttribute("aria-expanded", isOpen);
    this.#inside.hidden = !isOpen;
    if (isOpen) this.#showInside(null);
    else this.#inside.replaceChildren(); // which also stops the sound
  }

  #turn() {
    this.open(!this.#is_open);
    if (this.#is_open && this.#task.player?.tracks.some(({ outline }) => outline?.length === 0)) this.#owner.unfold();
  }

  #showHead() {
    const isName = this.#task.is_name ? "no" : null;
    const { state, label, title, kind, detail, created_s, took, progress, message, player } = this.#task;
    const active = state === "running" || state === "queued";
    this.#head.setAttribute("style", this.#task.avatar ? `--voice: ${this.#task.avatar.colour}` : "");
    this.#head.replaceChildren(
      make("span", { class: "mark", "aria-hidden": "true" }, icon(MARKS[state] ?? WAITING)),
      waveform("outline", player?.tracks[player.chosen]?.outline),
      make("span", { class: "what" }, avatar(this.#task.avatar, "face"), make("span", { class: "title", translate: isName }, title),
        make("span", { class: "kind" }, row([kind, ...(detail ?? []).map((text) => isolated(text))], " · ")), this.#changes),
      make("span", { class: "label" }, label),
      make("time", { datetime: new Date(created_s * 1000).toISOString(), title: wholeTime(created_s) }, when(created_s)),
      make("span", { class: "took" }, took ?? ""),
    );
    if (!active) return;
    const share = Math.round(100 * (progress ?? 0));
    const bar = make("i", { style: `width:${share}%` });
    const named = { role: "progressbar", "aria-valuemin": 0, "aria-valuemax": 100, "aria-valuenow": share, "aria-label": title, translate: isName };
    if (state === "running") this.#head.append(make("span", { class: "share", ...named }, bar));
    if (message) this.#head.append(make("span", { class: "message" }, message));
  }

  #showInside(before) {
    const { error, facts, player, note, actions } = this.#task;
    const old = this.#inside.querySelector("timbre-player");
    const sounds = player ? (old ?? this.#player()) : null;
    const same = JSON.stringify(before?.player) === JSON.stringify(player);
    const parts = [
      error ? make("p", { class: "error" }, error) : null,
      note ? make("p", { class: "note" }, note) : null,
      sounds,
      facts?.length ? make("dl", {}, facts.map(([name, value]) => make("div", {}, make("dt", {}, name), make("dd", {}, value)))) : null,
      actions?.length ? this.#actions(actions) : null,
    ].filter(Boolean);
    const asking = this.#inside.querySelector(".question");
    if (before && asking && JSON.stringify(before.actions) === JSON.stringify(actions)) parts[parts.length - 1] = asking;
    settle(this.#inside, parts);
    if (sounds && !(old && same)) customElements.whenDefined("timbre-player").then(() => { sounds.data = player; });
  }

  #player() {
    const player = document.createElement("timbre-player");
    player.addEventListener("tell-download", ({ detail }) => tell(this.#owner, "download", { ...detail, id: this.#task.id }));
    return player;
  }

  #actions(actions) {
    return make("div", { class: "actions" }, actions.map((action) => this.#button(action)));
  }

  #button(action, label = null) {
    return make("button", { type: "button", class: action.name, "aria-label": label, onclick: () => this.#asked(action) }, action.label);
  }

  #asked(action) {
    if (!action.question) return this.#tell(action);
    const yes = make("button", { type: "button", class: "sure", onclick: () => this.#tell(action) }, action.label);
    const no = make("button", { type: "button", onclick: () => this.#leave(action) }, tr("Cancel"));
    const question = make("div", { class: "actions question", role: "group", "aria-label": action.question },
      make("span", {}, action.question), yes, no);
    question.addEventListener("keydown", (event) => { if (event.key === "Escape") this.#leave(action); });
    this.#inside.querySelector(".actions").replaceWith(question);
    no.focus();
  }

  #leave(action) {
    this.#inside.querySelector(".question")?.replaceWith(this.#actions(this.#task.actions));
    this.#inside.querySelector(`.actions .${action.name}`)?.focus();
  }

  #tell(action) {
    for (const button of this.#inside.querySelectorAll(".actions button")) button.disabled = true; // against a second click
    tell(this.#owner, "asked", { id: this.#task.id, action: action.name, ...(["export", "daw"].includes(action.name) ? { faders: keptFaders() } : {}) });
    setTimeout(() => this.#inside.querySelector(".question") ? this.#leave(action) : this.#again(), 3000);
  }

  #again() {
    for (const button of this.#inside.querySelectorAll(".actions button")) button.disabled = false;
  }
}

/** Show tasks in the rows that they had, or in new ones; return these by their ids. */
function shown(tasks, before, owner, canSelect) {
  return new Map(tasks.map((task) => {
    const row = before.get(task.id) ?? new Row(owner);
    row.show(task, canSelect);
    return [task.id, row];
  }));
}

/** A text that keeps its own order among those of another direction; what has a sign begins with it. */
function isolated(text, attributes = {}) {
  return make("bdi", { dir: SIGNED.test(text) ? "ltr" : null, ...attributes }, text);
}

/** In what a conversion differs from an older one: [[name, before, after]]. */
function differences(older, newer) {
  const before = new Map(older ?? []);
  return (newer ?? []).filter(([name, value]) => before.has(name) && before.get(name) !== value).map(([name, value]) => [name, before.get(name), value]);
}

function changed([name, before, after]) {
  const value = (text) => isolated(text, { class: "value", translate: name === tr("Voice") ? "no" : null });
  return make("span", { class: "change" }, make("span", { class: "name" }, name), " ", value(before), " ", make("span", { class: "to", role: "img", "aria-label": tr("changed to") }, icon(ARROW)), " ", value(after));
}

/** What changed between two selected conversions; nothing for any others. */
function difference(rows) {
  const done = rows.map((row) => row.task).filter((task) => task.compared?.length).sort((one, other) => one.created_s - other.created_s);
  if (rows.length !== 2 || done.length !== 2) return [];
  const found = differences(done[0].compared, done[1].compared);
  const said = found.length ? found.map(changed) : [make("span", {}, tr("nothing but chance"))];
  return [make("span", { class: "changes", role: "status" }, make("span", { class: "name" }, tr("What changed:")), " ", ...said)];
}

// Set the children of a node, without moving those already in place: a moved one loses its focus and its sound.
function settle(node, children) {
  const wanted = new Set(children);
  for (const child of Array.from(node.children)) if (!wanted.has(child)) child.remove();
  children.forEach((child, place) => {
    if (node.children[place] !== child) node.insertBefore(child, node.children[place] ?? null);
  });
}

customElements.define("timbre-tasks", Tasks);

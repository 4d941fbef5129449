// <timbre-tasks>: tasks as a list; each opens to show its settings, sounds, errors and actions.
//
// data: {tasks: [{id, title, is_name: whether the title is nothing but names, kind, detail: [texts], state, label, progress, message, error, created_s, took, facts: [[name, value]],
// player: data of <timbre-player>, note, actions: [{name, label, question}], fixed}], open: id or null, empty: text,
// select: whether rows can be selected, to delete several at once; not those that are active or fixed}.
// An action with a question asks for confirmation. Sends `asked` {id, action}, for several {ids, action: "delete"}, and `download` {id, index, label} of the
// player.
// A row stays open and playing while its data are unchanged.

import { Listener, iconButton, make, row, tell, when, wholeTime } from "./dom.js";
import { Listening } from "./listening.js";
import { tr } from "./texts.js";

const PLAY = "M7 4.5v15l13-7.5z", STOP = "M6 6h12v12H6z";
const MARKS = { queued: "⋯", running: "▸", completed: "✓", failed: "!", cancelled: "–" };

class Tasks extends Listener {
  #listening = new Listening(this, () => this.#rows.forEach((row, id) => row.mark(this.#listening.playing === id)));
  heard = this.#listening.heard;
  #rows = new Map(); // id -> Row
  #opened = null; // the row last opened by the data
  #list = make("ul");
  #empty = make("p", { class: "empty" });
  #bar = make("div", { class: "actions several", role: "group", "aria-label": tr("Selected"), hidden: true });
  #shown = ""; // by the bar: the selected ids, and "?" with a question

  set data(given) {
    const tasks = given?.tasks ?? [];
    const kept = new Map();
    for (const task of tasks) {
      const row = this.#rows.get(task.id) ?? new Row(this);
      row.show(task, given.select);
      kept.set(task.id, row);
    }
    const place = [...this.#rows.values()].findIndex((row) => row.item.contains(document.activeElement));
    this.#rows = kept;
    const items = [...kept.values()].map((row) => row.item);
    settle(this.#list, items);
    if (place >= 0 && !this.#list.contains(document.activeElement)) {
      items[Math.min(place, items.length - 1)]?.querySelector("button").focus(); // the focused row is gone
    }
    this.#empty.textContent = tasks.length ? "" : (given?.empty ?? "");
    if (!this.#list.isConnected) this.append(this.#bar, this.#list, this.#empty);
    this.showSelected();
    if (given?.open && given.open !== this.#opened) this.#rows.get(given.open)?.open(true);
    this.#opened = given?.open ?? null;
  }

  disconnectedCallback() {
    super.disconnectedCallback();
    this.#listening.quiet();
  }

  /** Play the chosen take of a task, or stop it. */
  play(id, { tracks, chosen }) {
    this.#listening.toggle(id, tracks[chosen].url);
  }

  showSelected(isAsking = false) {
    const chosen = [...this.#rows].filter(([, row]) => row.isSelected);
    const named = chosen.map(([id]) => id).join(" ");
    if (!isAsking && named && [named, `${named}?`].includes(this.#shown)) return; // focus stays while the list is refreshed
    this.#shown = isAsking ? `${named}?` : named;
    this.#bar.hidden = !chosen.length;
    const clear = () => {
      for (const [, row] of chosen) row.select(false);
      this.showSelected();
      this.querySelector(".task-head")?.focus();
    };
    const erase = () => {
      const ids = chosen.map(([id]) => id);
      clear();
      tell(this, "asked", { action: "delete", ids });
    };
    const button = (name, label, act) => make("button", { type: "button", class: name, onclick: act }, label);
    const count = chosen.length;
    if (!isAsking) {
      const all = () => { for (const row of this.#rows.values()) row.select(true); this.showSelected(); };
      this.#bar.replaceChildren(make("span", { role: "status" }, tr("{count} selected", { count })), button("delete", "Delete", () => this.showSelected(true)),
        button("all", tr("Select all"), all), button("none", tr("Clear"), clear));
      return;
    }
    const keep = button("keep", tr("Keep them"), () => { this.#shown = ""; this.showSelected(); this.#bar.querySelector(".delete")?.focus(); });
    const question = tr("Delete these {count}, with recordings and takes?", { count });
    this.#bar.replaceChildren(make("span", { role: "status" }, question), button("sure", "Delete", erase), keep);
    keep.focus();
  }
}

class Row {
  #owner;
  #task = null;
  #head;
  #inside;
  #is_open = false;
  #box;
  #choice;
  #play = iconButton("play", PLAY, tr("Play"), () => this.#owner.play(this.#task.id, this.#task.player));

  constructor(owner) {
    this.#owner = owner;
    this.#head = make("button", { type: "button", class: "task-head", "aria-expanded": "false", onclick: () => this.#turn() });
    this.#inside = make("div", { class: "inside", hidden: true });
    this.#box = make("input", { type: "checkbox", onchange: () => owner.showSelected() });
    this.#choice = make("label", { class: "choice", hidden: true }, this.#box);
    this.item = make("li", { class: "task" }, make("div", { class: "line" }, this.#choice, this.#play, this.#head), this.#inside);
  }

  /** Show whether its take is playing. */
  mark(plays) {
    this.#play.setAttribute("aria-pressed", plays);
    this.#play.querySelector("path").setAttribute("d", plays ? STOP : PLAY);
  }

  get isSelected() {
    return this.#box.checked;
  }

  select(isSelected) {
    this.#box.checked = isSelected && !this.#box.disabled;
  }

  show(task, canSelect) {
    this.#choice.hidden = !canSelect;
    this.#box.disabled = task.fixed || task.state === "queued" || task.state === "running";
    if (this.#box.disabled || !canSelect) this.#box.checked = false;
    const name = task.title;
    this.#box.ariaLabel = tr("Select {name}", { name });
    if (JSON.stringify(task) === JSON.stringify(this.#task)) return;
    const before = this.#task;
    this.#task = task;
    this.item.dataset.state = task.state;
    this.item.dataset.task = task.id;
    this.#play.hidden = !task.player;
    this.#play.ariaLabel = tr("Play {name}", { name });
    this.#showHead();
    if (this.#is_open) this.#showInside(before);
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
  }

  #showHead() {
    const isName = this.#task.is_name ? "no" : null;
    const { state, label, title, kind, detail, created_s, took, progress, message } = this.#task;
    const active = state === "running" || state === "queued";
    this.#head.replaceChildren(
      make("span", { class: "mark", "aria-hidden": "true" }, MARKS[state] ?? "?"),
      make("span", { class: "what" }, make("span", { class: "title", translate: isName }, title), make("span", { class: "kind" }, row([kind, ...(detail ?? [])], " · "))),
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
    const buttons = actions.map((action) =>
      make("button", { type: "button", class: action.name, onclick: () => this.#asked(action) }, action.label));
    return make("div", { class: "actions" }, buttons);
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
    tell(this.#owner, "asked", { id: this.#task.id, action: action.name });
    setTimeout(() => this.#inside.querySelector(".question") ? this.#leave(action) : this.#again(), 3000);
  }

  #again() {
    for (const button of this.#inside.querySelectorAll(".actions button")) button.disabled = false;
  }
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

// <timbre-report>: the check of a voice's recordings.
//
// data: the data report as the engine writes it (verdict, findings, recordings, total_s, usable_s, style, vocal_range,
// voice_type, level_db, snr_db, reverberation_s, bandwidth_hertz, ...).

import { icon, make, row } from "./dom.js";
import { ALERT, CHECK, CROSS } from "./shapes.js";
import { fixed, ntr, tr } from "./texts.js";

const VERDICTS = {
  pass: [CHECK, tr("Ready for training")],
  warn: [ALERT, tr("Usable, with warnings")],
  fail: [CROSS, tr("Not suitable for training")],
};
const STYLES = { melodic: tr("sung"), rhythmic: tr("rapped"), spoken: tr("spoken") };
const ORDER = { fail: 0, warn: 1, pass: 2 };
const FIRST = 12; // recordings listed at first

class Report extends HTMLElement {
  /** @param {import("./types").DataReport | null} report */
  set data(report) {
    this.replaceChildren(...(report ? [verdict(report), facts(report), ...findings(report.findings), recordings(report.recordings),
      ...leftOut(report.left_out ?? [])] : []));
  }
}

function verdict({ verdict, total_s: total, usable_s: usable, recordings }) {
  const [mark, words] = VERDICTS[verdict];
  const count = recordings.length;
  const amount = ntr("{usable} of usable voice in {count} recording ({total} in total)", "{usable} of usable voice in {count} recordings ({total} in total)", { count, usable: length(usable), total: length(total) });
  return make("div", { class: "verdict", "data-verdict": verdict, role: "status" },
    make("span", { class: "mark", "aria-hidden": "true" }, icon(mark)),
    make("div", {}, make("strong", {}, words), make("span", {}, amount)));
}

function facts(report) {
  const rows = [
    [tr("Detected"), detected(report)],
    [tr("Level"), spread(number(report.level_db, "dB", 0), report.level_spread_db)],
    [tr("Signal-to-noise ratio"), number(report.snr_db, "dB", 0)],
    [tr("Reverberation time"), number(report.reverberation_s, "s", 2)],
    [tr("Bandwidth"), report.bandwidth_hertz === null ? "" : tr("up to {bandwidth_hertz} kHz", { bandwidth_hertz: fixed((report.bandwidth_hertz / 1000), 1) })],
  ].filter(([, value]) => value);
  return make("dl", { class: "measured" }, rows.map(([label, value]) => make("div", {}, make("dt", {}, label), make("dd", {}, value))));
}

function detected({ style, vocal_range: range, voice_type: type }) {
  if (!range) return tr("no voice found");
  return row([STYLES[style] ?? style, tr("{range} to {range2}", { range: range[0], range2: range[1] }), style === "spoken" ? "" : type]);
}

function findings(found) {
  if (!found.length) return [make("p", { class: "nothing" }, tr("No problems found."))];
  return [make("h3", { class: "part" }, tr("Findings")), make("ul", { class: "plain findings" }, found.map(finding))];
}

function finding({ verdict, reason, remedy }) {
  const [mark, words] = VERDICTS[verdict];
  return make("li", { "data-verdict": verdict },
    make("span", { class: "mark", title: words }, icon(mark)),
    make("span", {}, reason, remedy ? make("em", {}, remedy) : null));
}

function recordings(all) {
  const sorted = [...all].sort((one, other) => ORDER[one.verdict] - ORDER[other.verdict]);
  const advised = new Set(); // one remedy for many recordings is said once
  const longest = Math.max(...all.map((one) => one.duration_s), 1);
  const count = { pass: 0, warn: 0, fail: 0, all: all.length };
  for (const one of all) count[one.verdict] += 1;
  const told = [count.fail && tr("{fail} unsuitable", { fail: count.fail }), count.warn && tr("{warn} with warnings", { warn: count.warn }), count.pass && tr("{pass} good", { pass: count.pass })];
  const list = make("ul", { class: "plain recordings" }, sorted.slice(0, FIRST).map((one) => recording(one, longest, advised)));
  const rest = sorted.slice(FIRST);
  const more = rest.length ? make("button", { type: "button", class: "more", onclick: () => {
    const next = list.childElementCount;
    list.append(...rest.map((one) => recording(one, longest, advised)));
    more.remove();
    list.children[next].tabIndex = -1;
    list.children[next].focus();
  } }, tr("Show all {all}", { all: count.all })) : null;
  return make("section", {}, make("h3", { class: "part" }, tr("Recordings"), " ", make("small", {}, row(told))), list, more);
}

/** A finding of a recording; its remedy only where it is the first to have it. */
function ofRecording({ reason, remedy }, advised) {
  const isNew = remedy && !advised.has(remedy);
  advised.add(remedy);
  return make("li", {}, reason, isNew ? [" ", make("em", {}, remedy)] : null);
}

function recording(one, longest, advised) {
  const [mark, words] = VERDICTS[one.verdict];
  const share = (seconds) => `${(100 * Math.min(seconds, longest)) / longest}%`;
  const bar = make("span", { class: "bar", "aria-hidden": "true" },
    make("i", { class: "whole", style: `width: ${share(one.duration_s)}` }),
    make("i", { class: "usable", style: `width: ${share(one.usable_s)}` }));
  const measures = [
    one.duration_s ? tr("{usable_s} of {duration_s}", { usable_s: length(one.usable_s), duration_s: length(one.duration_s) }) : "",
    number(one.level_db, "dB", 0),
    one.snr_db === null ? "" : tr("{snr_db} dB SNR", { snr_db: fixed(one.snr_db, 0) }),
    one.bandwidth_hertz ? tr("{bandwidth_hertz} kHz", { bandwidth_hertz: fixed((one.bandwidth_hertz / 1000), 1) }) : "",
  ];
  return make("li", { "data-verdict": one.verdict },
    make("span", { class: "mark", title: words }, icon(mark), make("span", { class: "unseen" }, " ", words, ": ")),
    make("div", { class: "what" },
      make("span", { class: "name", translate: "no" }, one.name), make("span", { class: "measures" }, row(measures, " · ")), bar,
      one.findings.length ? make("ul", { class: "plain found" }, one.findings.map((found) => ofRecording(found, advised))) : null));
}

// Files of the source that are not used, and why. Reports of earlier versions do not have them.
function leftOut(files) {
  if (!files.length) return [];
  return [make("h3", { class: "part" }, tr("Left out")), make("ul", { class: "plain found" }, files.map(({ name, reason }) =>
    make("li", {}, make("span", { class: "name", translate: "no" }, name), ": ", reason)))];
}

function number(value, unit, digits) {
  return value === null || value === undefined ? "" : `${fixed(value, digits)} ${unit}`;
}

function spread(level, db) {
  return db !== null && db >= 3 ? tr("{level}, varies by {db} dB between recordings", { level, db: fixed(db, 0) }) : level;
}

/** Write seconds with a suitable unit: 9.5 s, 83 s, 12.4 min. */
export function length(seconds) {
  if (seconds < 20) return `${fixed(seconds, 1)} s`;
  return seconds < 120 ? `${seconds.toFixed(0)} s` : tr("{seconds} min", { seconds: fixed((seconds / 60), 1) });
}

customElements.define("timbre-report", Report);

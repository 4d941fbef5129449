// <timbre-curves>: values from epoch to epoch, as one large chart of several to choose from, on which an epoch can be
// chosen.
//
// data: {epochs: the last on the axis, kept: best epoch or null, chosen: epoch or null, choices: [selectable epochs],
// charts: [{title, unit, lines: [{label, colour: "accent" | "range" | "good", points: [[epoch, value]], marks: bool}]}]}.
// Pointing at the chart shows the values there. A click or the arrow keys choose one of the choices: sends `chosen`
// {epoch}.

import { make, tell } from "./dom.js";
import { fixed, tr } from "./texts.js";

const AROUND = 50; // pixels of its height that are not of the chart: what is written above and below it
const LEFT = 44, RIGHT = 12, TOP = 18, BOTTOM = 30;
const TICKS = 4;

class Curves extends HTMLElement {
  /** @type {import("./types").CurvesData} */
  #data = null;
  #title = ""; // of the chart on display
  #tabs = make("div", { class: "charts", role: "group", "aria-label": tr("Curves") });
  #place = make("div", { class: "stage" });
  #size = ""; // "width height" when it was drawn
  #resized = new ResizeObserver(() => this.#size !== this.#measured().join(" ") && this.#draw());

  connectedCallback() {
    this.#resized.observe(this.#place);
  }

  disconnectedCallback() {
    this.#resized.disconnect();
  }

  /** @param {import("./types").CurvesData | null} given */
  set data(given) {
    this.#data = given?.charts?.length ? given : null;
    if (!this.#data) {
      this.replaceChildren();
      return;
    }
    if (!this.#place.isConnected) this.append(this.#tabs, this.#place);
    this.#draw();
  }

  /** Its width and the height that the page gives it. */
  #measured() {
    return [this.#place.clientWidth, this.#place.clientHeight].map(Math.round);
  }

  #draw() {
    if (!this.#data || !this.#measured()[0]) return; // drawn as soon as it has room
    this.#size = this.#measured().join(" ");
    const { charts } = this.#data;
    const shown = charts.find((chart) => chart.title === this.#title) ?? charts[0];
    const hadFocus = this.contains(document.activeElement) ? document.activeElement.closest("svg, button") : null;
    this.#tabs.hidden = charts.length < 2;
    this.#tabs.replaceChildren(...charts.map((chart) => make("button", { type: "button", class: "pill", "aria-pressed": String(chart === shown), onclick: () => this.#turn(chart.title) }, chart.title)));
    this.#place.replaceChildren(this.#chart(shown));
    if (hadFocus?.matches("svg")) this.#place.querySelector("svg").focus();
    else if (hadFocus) this.#tabs.querySelector("[aria-pressed=true]").focus();
  }

  #turn(title) {
    this.#title = title;
    this.#draw();
  }

  // ---- one chart

  #chart(chart) {
    const { epochs, kept, chosen, choices } = this.#data;
    const [width, whole] = this.#measured(), height = whole - AROUND;
    const across = (epoch) => LEFT + ((width - LEFT - RIGHT) * epoch) / Math.max(1, epochs);
    const marker = (kind, x) => make("line", { class: kind, x1: x, x2: x, y1: TOP - 4, y2: height - BOTTOM });
    const values = chart.lines.flatMap((line) => line.points.map(([, value]) => value)).filter(Number.isFinite);
    const ticks = niceTicks(Math.min(...values), Math.max(...values));
    const [low, high] = [ticks[0], ticks[ticks.length - 1]];
    const up = (value) => TOP + ((height - TOP - BOTTOM) * (high - value)) / (high - low || 1);
    const digits = digitsOf(ticks[1] - ticks[0]);
    const svg = make("svg", {
      viewBox: `0 0 ${width} ${height}`, height, role: choices?.length ? "slider" : "img", tabindex: choices?.length ? "0" : null,
      "aria-label": [chart.title, chart.unit].filter(Boolean).join(", "),
      "aria-valuemin": choices?.[0], "aria-valuemax": choices?.at(-1), "aria-valuenow": chosen ?? kept ?? choices?.at(-1),
      "aria-valuetext": sayAt(chart, chosen ?? kept ?? choices?.at(-1) ?? 0, digits),
    });
    svg.append(make("g", { class: "grid" }, ticks.map((tick) => [
      make("line", { x1: LEFT, x2: width - RIGHT, y1: up(tick), y2: up(tick) }),
      make("text", { x: LEFT - 6, y: up(tick) + 4, "text-anchor": "end" }, String(fixed(tick, digits))),
    ]).flat()));
    svg.append(make("g", { class: "grid" }, wholeTicks(epochs).map((tick) =>
      make("text", { x: across(tick), y: height - 15, "text-anchor": "middle" }, String(tick))),
      make("text", { x: width - RIGHT, y: height - 2, "text-anchor": "end" }, tr("epoch"))));
    if (Number.isFinite(kept)) {
      svg.append(marker("kept", across(kept)), make("g", { class: "grid" },
        make("text", { x: across(kept), y: TOP - 7, "text-anchor": across(kept) > width - 30 ? "end" : "middle" }, tr("best"))));
    }
    if (Number.isFinite(chosen) && chosen !== kept) svg.append(marker("chosen", across(chosen)));
    for (const line of chart.lines) svg.append(this.#line(line, across, up));
    const pointer = marker("pointer", 0);
    pointer.setAttribute("visibility", "hidden");
    svg.append(pointer);
    const said = make("output", { class: "said", translate: "no", "aria-hidden": "true" });
    this.#follow(svg, chart, width, across, pointer, said, digits);
    const alone = this.#data.charts.length < 2 ? make("strong", {}, chart.title) : null; // else its button says it
    const legend = make("figcaption", {}, alone, chart.unit ? make("span", { class: "unit" }, chart.unit) : null,
      make("span", { class: "legend" }, chart.lines.map((line) => make("span", { class: line.colour, "data-marks": Boolean(line.marks) }, line.label))));
    return make("figure", { class: "chart" }, legend, svg, said);
  }

  #line(line, across, up) {
    const points = line.points.filter(([, value]) => Number.isFinite(value));
    const path = points.map(([epoch, value], i) => `${i ? "L" : "M"}${across(epoch).toFixed(1)} ${up(value).toFixed(1)}`).join("");
    const dots = line.marks || points.length === 1
      ? points.map(([epoch, value]) => make("circle", { cx: across(epoch).toFixed(1), cy: up(value).toFixed(1), r: 3 })) : [];
    return make("g", { class: `line ${line.colour}` }, make("path", { d: path }), dots);
  }

  // ---- pointing and choosing

  #follow(svg, chart, width, across, pointer, said, digits) {
    const { epochs, choices } = this.#data;
    const epochAt = (event) => {
      const box = svg.getBoundingClientRect();
      return Math.max(0, Math.min(epochs, ((event.clientX - box.left - LEFT) / (width - LEFT - RIGHT)) * epochs));
    };
    svg.addEventListener("pointermove", (event) => {
      const epoch = nearest(chart.lines.flatMap((line) => line.points.map(([at]) => at)), epochAt(event));
      pointer.setAttribute("visibility", "visible");
      for (const end of ["x1", "x2"]) pointer.setAttribute(end, across(epoch));
      said.textContent = sayAt(chart, epoch, digits);
    });
    svg.addEventListener("pointerleave", () => {
      pointer.setAttribute("visibility", "hidden");
      said.textContent = "";
    });
    if (!choices?.length) return;
    svg.addEventListener("click", (event) => this.#choose(nearest(choices, epochAt(event))));
    svg.addEventListener("keydown", (event) => {
      const now = choices.indexOf(nearest(choices, this.#data.chosen ?? this.#data.kept ?? choices.at(-1)));
      const next = { ArrowLeft: now - 1, ArrowDown: now - 1, ArrowRight: now + 1, ArrowUp: now + 1, Home: 0, End: choices.length - 1 }[event.key];
      if (next === undefined) return;
      event.preventDefault();
      this.#choose(choices[Math.max(0, Math.min(choices.length - 1, next))]);
    });
  }

  #choose(epoch) {
    this.data = { ...this.#data, chosen: epoch };
    tell(this, "chosen", { epoch });
  }
}

function nearest(epochs, epoch) {
  return epochs.reduce((best, one) => (Math.abs(one - epoch) < Math.abs(best - epoch) ? one : best), epochs[0] ?? 0);
}

// The number of decimals that a step of ticks needs, up to 4: 3 for 0.025.
function digitsOf(step) {
  return [0, 1, 2, 3].find((digits) => Math.abs(step - step.toFixed(digits)) < 1e-3 * step) ?? 4;
}

// Write the values of a chart's lines at an epoch, or their last values before it.
function sayAt(chart, epoch, digits) {
  const said = chart.lines.map((line) => {
    const before = line.points.filter(([at, value]) => at <= epoch && Number.isFinite(value)).at(-1);
    return before ? `${line.label} ${fixed(before[1], digits + 2)}` : null;
  });
  return [tr("epoch {epoch}", { epoch }), ...said.filter(Boolean)].join(" · ");
}

// Round numbers that enclose low..high.
function niceTicks(low, high) {
  if (!Number.isFinite(low)) return [0, 1];
  const span = high - low || Math.abs(high) || 1;
  const raw = span / TICKS, power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 2.5, 5, 10].find((one) => one * power >= raw) * power;
  const first = Math.floor(low / step + 1e-9) * step;
  const ticks = [first];
  while (ticks.at(-1) < high - 1e-9 * step) ticks.push(first + step * ticks.length);
  return ticks.length > 1 ? ticks : [first, first + step];
}

function wholeTicks(last) {
  const step = Math.max(1, Math.round(niceTicks(0, last)[1]));
  const ticks = [];
  for (let tick = 0; tick <= last; tick += step) ticks.push(tick);
  return ticks;
}

customElements.define("timbre-curves", Curves);

// The avatar of a voice: its initials on its colour, over a small waveform. data as studio/actions/voices/cards.py has it:
// {colour, initials, bars: [0..1]}. Decorative: the voice's name stands beside it.

import { make } from "./dom.js";

const SIZE = 40, WIDTH = 4;

export function avatar(data, className = "avatar") {
  if (!data) return null;
  const step = SIZE / (data.bars.length + 1);
  const bars = data.bars.map((height, i) => {
    const tall = SIZE * 0.8 * height;
    return make("rect", { x: (i + 1) * step - WIDTH / 2, y: (SIZE - tall) / 2, width: WIDTH, height: tall, rx: WIDTH / 2, fill: "#000", "fill-opacity": 0.18 });
  });
  const letters = { x: SIZE / 2, y: SIZE / 2, "text-anchor": "middle", "dominant-baseline": "central", fill: "#fff", "font-size": 17, "font-weight": 700, translate: "no" };
  return make(
    "svg",
    { class: className, viewBox: `0 0 ${SIZE} ${SIZE}`, "aria-hidden": "true", focusable: "false" },
    make("rect", { width: SIZE, height: SIZE, rx: 10, fill: data.colour }),
    bars,
    make("text", letters, data.initials),
  );
}

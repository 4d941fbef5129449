"""The audio thread of <timbre-live> by itself: a service that answers with what it hears, sooner or later."""

from typing import Any

import numpy as np
import pytest

from studio.page.page_files import page_file

BLOCK, RESERVE, QUANTUM = 640, 512, 128
IN_TIME = 256  # frames that the service takes
RUN = """async ({ script, heard, beside, trips, options }) => {
  const { block, quantum } = options;
  const arrivals = [], told = [];
  const port = { postMessage: (message) => told.push(message) };
  let Live = null;
  const scope = {
    AudioWorkletProcessor: class { port = port; }, registerProcessor: (_, given) => { Live = given; },
    sampleRate: 48000,
  };
  globalThis.currentFrame = 0;
  new Function(...Object.keys(scope), script)(...Object.values(scope));
  const live = new Live({ processorOptions: options });
  let number = 0;
  const service = { postMessage: (message) => {
    const trip = number < trips.length ? trips[number] : trips.at(-1);
    number += 1;
    if (trip !== null) arrivals.push([currentFrame + quantum + trip, message]);
  } };
  port.onmessage({ data: { port: service } });
  const output = [], picked = [];
  for (; currentFrame < heard.length; currentFrame += quantum) {
    while (arrivals.length && arrivals[0][0] <= currentFrame) service.onmessage({ data: arrivals.shift()[1] });
    const left = new Float32Array(quantum), right = new Float32Array(quantum), taken = new Float32Array(quantum);
    const inputs = [heard, ...beside].map((one) => Float32Array.from(one.slice(currentFrame, currentFrame + quantum)));
    live.process([inputs], [[left, right], [taken]]);
    output.push(...left);
    picked.push(...taken);
  }
  const powers = told.filter((one) => one.powers).at(-1).powers;
  return { output, picked, powers, late: live.late, dropped: live.dropped, heard: live.heard, told: told.length };
}"""


@pytest.fixture(scope="module")
def run(browser):
    """Let the worklet hear samples while the service takes so many frames for each block; null loses a block."""
    page = browser.new_page()
    script = page_file("live-worklet.js").read_text(encoding="utf-8")
    options = {"block": BLOCK, "reserve": RESERVE, "quantum": QUANTUM}

    def answer(heard: np.ndarray, *trips: int | None, beside: Any = (), choice: str | int = "mix") -> dict[str, Any]:
        others = [one.tolist() for one in beside]
        given = {"script": script, "heard": heard.tolist(), "beside": others, "trips": trips}
        given |= {"options": options | {"choice": choice}}
        found = page.evaluate(RUN, given)
        return found | {"output": np.array(found["output"], np.float32)}

    yield answer
    page.close()


def sung(blocks: int) -> np.ndarray:
    """A sine without end."""
    return np.sin(np.arange(blocks * BLOCK) * 0.02).astype(np.float32) * 0.5


def test_live_worklet_delays_timely_sound_by_one_block_and_the_reserve(run):
    heard = sung(40)
    found = run(heard, IN_TIME)
    delay = BLOCK + RESERVE
    np.testing.assert_allclose(found["output"][2 * delay :], heard[delay:-delay], atol=1e-6)
    assert (found["late"], found["dropped"]) == (0, 0)
    assert found["heard"] == pytest.approx(delay / 48_000)
    assert found["told"] > 0


def test_live_worklet_does_not_count_a_block_just_in_time_as_late(run):
    heard = sung(40)
    found = run(heard, RESERVE - QUANTUM)  # it is there when the block before has ended
    assert found["late"] == 0
    delay = round(found["heard"] * 48_000)
    np.testing.assert_allclose(found["output"][2 * delay :], heard[delay:-delay], atol=1e-6)


def test_live_worklet_counts_a_late_block_and_lengthens_the_delay_without_a_click(run):
    heard = sung(40)
    found = run(heard, *[IN_TIME] * 10, RESERVE + 3 * QUANTUM, IN_TIME)
    assert found["late"] == 1
    grown = found["heard"] * 48_000 - (BLOCK + RESERVE)
    assert 0 < grown <= 5 * QUANTUM
    delay = BLOCK + RESERVE + round(grown)
    np.testing.assert_allclose(found["output"][-10 * BLOCK :], heard[-10 * BLOCK - delay : -delay], atol=1e-6)
    assert np.abs(np.diff(found["output"][2 * BLOCK + RESERVE :])).max() < 0.03  # the sine's own steps are 0.01


def test_live_worklet_removes_the_added_delay_in_silence(run):
    heard = sung(220)
    heard[200 * BLOCK : 210 * BLOCK] = 0.0
    found = run(heard, *[IN_TIME] * 10, RESERVE + 3 * QUANTUM, IN_TIME)
    assert found["late"] == 1
    assert found["heard"] == pytest.approx((BLOCK + RESERVE) / 48_000)


def test_live_worklet_keeps_the_longer_delay_while_blocks_need_it(run):
    heard = sung(220)
    heard[200 * BLOCK : 210 * BLOCK] = 0.0
    found = run(heard, *[IN_TIME] * 10, *[RESERVE + 3 * QUANTUM, IN_TIME] * 104, RESERVE + 3 * QUANTUM)
    assert found["late"] == 1
    assert found["heard"] * 48_000 > BLOCK + RESERVE


def test_live_worklet_counts_a_lost_block_as_late_and_keeps_its_delay(run):
    heard = sung(40)
    found = run(heard, *[IN_TIME] * 10, None, IN_TIME)
    delay = BLOCK + RESERVE
    assert found["late"] == 1
    np.testing.assert_allclose(found["output"][-10 * BLOCK :], heard[-10 * BLOCK - delay : -delay], atol=1e-6)


def test_live_worklet_drops_blocks_that_arrive_in_a_burst(run):
    late = [(8 - n) * BLOCK for n in range(8)]  # all at once
    found = run(sung(60), *[IN_TIME] * 10, *late, IN_TIME)
    assert found["dropped"] > 0
    assert found["heard"] * 48_000 < 4 * BLOCK + RESERVE


@pytest.mark.parametrize(("choice", "gain"), [(1, 1.0), (2, 0.5), ("mix", 0.75), (3, 1.0)])
def test_live_worklet_takes_the_chosen_input_or_the_mean_of_all(run, choice, gain):
    heard = sung(40)
    found = run(heard, IN_TIME, beside=[0.5 * heard], choice=choice)
    delay = BLOCK + RESERVE
    np.testing.assert_allclose(found["picked"], gain * heard, atol=1e-6)  # what its meter shows
    np.testing.assert_allclose(found["output"][2 * delay :], gain * heard[delay:-delay], atol=1e-6)


def test_live_worklet_measures_each_input(run):
    heard = sung(40)
    powers = run(heard, IN_TIME, beside=[0.1 * heard, 0 * heard])["powers"]
    assert powers[0] == pytest.approx(0.125, rel=0.1)
    assert powers[1] == pytest.approx(0.01 * powers[0], rel=1e-3)
    assert powers[2] == 0.0

from pathlib import Path

import pytest

from engine.errors import EngineError
from engine.research.benchmark.recordings import SAMPLES
from engine.research.benchmark.thread_costs import (
    HERE,
    Case,
    ThreadCost,
    TimedConversion,
    Trial,
    ask,
    cases_of,
    checkout_beside,
    measure_thread_costs,
    thread_tables,
    timing_process,
)

RECORDINGS = (SAMPLES / "speech.flac",)


def test_cases_are_clips_and_the_long_source_as_they_are_and_moved():
    names = [case.name for case in cases_of(Trial(RECORDINGS, "koguchi", (1,)))]
    assert names == ["3 s", "3 s, +3", "10 s", "10 s, +3", "300 s", "300 s, +3", "300 s stereo", "300 s stereo, +3"]


def test_thread_tables_have_a_line_for_each_number_of_threads_and_ratios():
    costs = [
        ThreadCost(checkout, threads, case, wall, 2 * wall, 600.0 + threads)
        for threads, walls in ((1, (0.12, 0.10)), (4, (0.03, 0.04)))
        for case in ("3 s", "300 s")
        for checkout, wall in zip(("here", "v0.18"), walls, strict=True)
    ]
    text = thread_tables(costs)
    tables = {part.splitlines()[0]: part for part in text.split("\n\n") if not part.startswith("|")}
    lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines()]
    assert ["4 threads, here", "0.0300", "0.0300"] in lines
    assert ["4 threads, v0.18", "0.0800", "0.0800"] in lines
    assert ["1 thread, here", "601", "601"] in lines
    assert ["4 threads, here", "0.25", "0.25"] in lines  # of the time with one
    assert ["4 threads, v0.18", "0.40", "0.40"] in lines
    assert ["4 threads", "0.75", "0.75"] in lines  # of the other's time
    assert list(tables) == [
        *("Seconds of work per second of sound", "The same of all cores together", "Peak memory of the process, MB"),
        *("Time as a share of that with 1 thread", "Time of here as a share of v0.18's"),
        "Processor time of here as a share of v0.18's",
    ]
    alone = thread_tables([cost for cost in costs if cost.checkout == "here"])
    assert "v0.18" not in alone
    assert "| 4 threads" in alone
    assert "card" not in alone
    with_card = thread_tables([ThreadCost("here", 1, "3 s", 0.01, 0.02, 600.0, 850.0)])
    assert "Memory of the card, MB" in with_card


def test_checkout_beside_refuses_a_folder_without_a_checkout(tmp_path):
    with pytest.raises(EngineError, match="holds no checkout: make one"):
        checkout_beside(tmp_path)
    assert checkout_beside(HERE) == (HERE.name, HERE)


@pytest.mark.system
def test_measure_thread_costs_measures_each_case_here_and_beside():
    trial = Trial(RECORDINGS, "koguchi", (1,), repeats=1, checkouts=(("here", HERE), ("beside", HERE)))
    costs = measure_thread_costs(trial, [Case("1 s", 1.0, 1, 0), Case("1 s stereo, +3", 1.0, 2, 3)])
    expected = [("here", "1 s"), ("beside", "1 s"), ("here", "1 s stereo, +3"), ("beside", "1 s stereo, +3")]
    assert [(cost.checkout, cost.case) for cost in costs] == expected
    for cost in costs:
        assert cost.wall_per_s > 0
        assert cost.processor_per_s > 0
        assert 100 < cost.peak_mb < 5000
        assert cost.card_mb == 0


@pytest.mark.system
def test_ask_says_what_went_wrong(tmp_path):
    wanted = TimedConversion(source=str(tmp_path / "absent.wav"), output="x.wav", transpose=0, device="cpu")
    with timing_process(HERE, 1, "koguchi") as process, pytest.raises(EngineError, match=r"absent\.wav"):
        ask(process, wanted)
    with timing_process(HERE, 1, Path("no-such-voice")) as process, pytest.raises(EngineError, match="has ended"):
        ask(process, wanted)

"""The benchmark's own arithmetic and tables; its figures need voices and minutes: `python -m engine.benchmark`."""

import json
import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace

import numpy as np
import pytest

from engine.errors import AudioError
from engine.evaluation.scores import Scores
from engine.research.benchmark import conversion as benchmark
from engine.research.benchmark.conversion import Results, results_as_json, results_as_text
from engine.research.benchmark.machine import peak_memory_mb
from engine.research.benchmark.quality import QualityRow, quality_means
from engine.research.benchmark.recordings import evenly_spaced, find_recordings
from engine.research.benchmark.thread_costs import ThreadCost
from engine.research.command import main
from engine.research.tables import table

RATE = 44_100


def scores(speaker_similarity: float, leak_db: float | None = None) -> Scores:
    zero = dict.fromkeys(Scores.__dataclass_fields__, 0.0)
    return Scores(**zero | {"speaker_similarity": speaker_similarity, "leak_db": leak_db})


@pytest.fixture
def rows() -> tuple[QualityRow, ...]:
    return (
        QualityRow("unconverted", "song", "ann", 0, scores(0.5)),
        QualityRow("unconverted", "talk", "bob", 0, scores(0.6)),
        QualityRow("copy synthesis", "song", "ann", 0, scores(0.5)),
        QualityRow("conversion", "song", "ann", 12, scores(0.7, leak_db=-70.0)),
        QualityRow("conversion", "talk", "ann", 0, scores(0.8)),
        QualityRow("conversion", "song", "bob", 0, scores(0.9, leak_db=-60.0)),
    )


@pytest.fixture
def results(rows) -> Results:
    machine = {"processor": "slide rule", "cores": 2, "threads": 2, "torch": "2.13.0", "load_before": 0.1}
    costs = (ThreadCost("here", 1, "10 s", 0.03, 0.06, 412.3), ThreadCost("here", 1, "3600 s", 0.02, 0.05, 519.8))
    return Results(machine, "the voices' previews", rows, {"ann": 0.25}, costs)


def test_quality_means_averages_by_output_voice_and_source(rows):
    means = quality_means(rows)
    assert means["by_output"]["unconverted"]["speaker_similarity"] == pytest.approx(0.55)
    assert means["by_output"]["conversion"]["speaker_similarity"] == pytest.approx(0.8)
    assert means["by_output"]["conversion"]["leak_db"] == pytest.approx(-65.0)
    assert means["by_voice"]["ann"]["speaker_similarity"] == pytest.approx(0.75)
    assert means["by_source"]["song"]["speaker_similarity"] == pytest.approx(0.8)
    assert means["by_source"]["talk"]["leak_db"] is None


def test_quality_means_has_shares_of_the_way_and_of_the_leak_of_conversions_with_a_control(rows):
    def of(output, voice, similarity, source):
        return QualityRow(output, "song", voice, 0, replace(scores(similarity), source_similarity=source))

    known = [of("unconverted", "eve", 0.5, 1.0), of("control", "eve", 0.9, 0.6), of("conversion", "eve", 0.7, 0.7)]
    means = quality_means(known)
    found = means["by_voice"]["eve"]
    assert (found["share_of_way"], found["share_of_leak"]) == (pytest.approx(0.5), pytest.approx(0.25))
    assert means["by_output"]["conversion"] == means["by_source"]["song"] == found
    assert means["by_output"]["control"]["share_of_leak"] == 0.0
    both = quality_means([*rows, *known])
    assert both["by_output"]["conversion"]["share_of_leak"] == pytest.approx(0.25)
    assert both["by_voice"]["ann"]["share_of_way"] is None
    assert both["by_voice"]["eve"] == found


def test_results_as_json_holds_every_row_and_no_nan(results):
    read = json.loads(results_as_json(results), parse_constant=pytest.fail)
    assert len(read["quality"]) == 6
    assert read["quality"][3]["scores"]["speaker_similarity"] == 0.7
    assert read["threads"][1]["peak_mb"] == 519.8
    assert read["means"]["by_voice"]["bob"]["speaker_similarity"] == 0.9


def test_results_as_text_shows_each_part(results):
    text = results_as_text(results)
    for expected in (
        "slide rule",
        "0.0300",
        "10 s",
        "3600 s",
        "520",
        "copy synthesis",
        "the voices' previews",
        "-65.0",
        "Equal error rate",
        "0.25",
    ):
        assert expected in text


def test_results_as_text_omits_parts_without_measurements(results):
    only_speed = Results(results.machine, results.compared_with, (), {}, results.threads)
    text = results_as_text(only_speed)
    assert "Quality" not in text
    assert "Equal error rate" not in text
    assert "Peak memory" in text
    assert json.loads(results_as_json(only_speed))["quality"] == []


def test_table_is_aligned_markdown():
    assert table(["", "a", "long name"], [["x", "1.25", "2"], ["wide cell", "-", "3"]]).splitlines() == [
        "|           |    a | long name |",
        "| --------- | ---: | --------: |",
        "| x         | 1.25 |         2 |",
        "| wide cell |    - |         3 |",
    ]


@pytest.mark.parametrize(("total", "places"), [(3, [0, 1, 2]), (4, [0, 1, 2, 3]), (10, [0, 3, 6, 9]), (1, [0])])
def test_evenly_spaced_reaches_both_ends(total, places):
    assert evenly_spaced(list(range(total)), 4) == places


def test_find_recordings_sorts_by_name_and_refuses_empty_and_missing_folders(tmp_path):
    for name in ("b.WAV", "a.flac", "notes.txt"):
        (tmp_path / name).touch()
    assert [path.name for path in find_recordings(tmp_path)] == ["a.flac", "b.WAV"]
    (tmp_path / "empty").mkdir()
    with pytest.raises(AudioError, match="no recording"):
        find_recordings(tmp_path / "empty")
    with pytest.raises(AudioError, match="no folder"):
        find_recordings(tmp_path / "absent")


def hold_and_measure(megabytes: int) -> tuple[float, float]:
    before = peak_memory_mb()
    held = np.ones(megabytes * 1_000_000, np.uint8)
    return before, peak_memory_mb() if held.any() else 0.0


@pytest.mark.system
def test_peak_memory_mb_counts_only_its_own_process():
    held_by_parent = np.ones(400_000_000, np.uint8)
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as child:
        before, after = child.submit(hold_and_measure, 200).result()
    assert held_by_parent.any()
    assert after - before == pytest.approx(200, abs=30)
    assert before < peak_memory_mb() - 300


@pytest.mark.parametrize(
    ("arguments", "sentence"), [(["--voices", "ann"], "There is no folder"), ([], "No voice is installed")]
)
def test_main_reports_missing_sources_or_voices_in_a_sentence(arguments, sentence, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(benchmark, "list_voices", lambda folder: [])
    assert main("benchmark", ["--sources", str(tmp_path / "absent"), *arguments]) == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert sentence in printed.err

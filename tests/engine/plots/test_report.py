from dataclasses import replace

import numpy as np
import pytest
from matplotlib.figure import Figure

from engine.datasets.findings import Verdict, finding
from engine.datasets.report import DataReport, RecordingReport
from engine.plots.report import VERDICT_COLOURS, VERDICT_WORDS, describe, plot_data_report
from engine.plots.style import RANGE_COLOUR

NOISE = finding("noise", "warn", "The voice is only 20 dB above the noise.")


def recording(number: int, verdict: Verdict = "pass") -> RecordingReport:
    return RecordingReport(
        name=f"take {number}.wav",
        fingerprint="0" * 64,
        verdict=verdict,
        findings=() if verdict == "pass" else (NOISE,),
        duration_s=10.0 + number % 3,
        voiced_s=6.0,
        usable_s=8.0,
        level_db=-20.0 - number % 4,
        snr_db=40.0 if number % 2 else None,
        bandwidth_hertz=20_000.0,
    )


def report_of(count: int) -> DataReport:
    recordings = tuple(recording(number, "warn" if number == 1 else "pass") for number in range(count))
    return DataReport(
        verdict="warn",
        findings=(finding("noise", "warn", "1 recording is noisy: take 1.wav."),),
        recordings=recordings,
        total_s=11.0 * count,
        voiced_s=6.0 * count,
        usable_s=8.0 * count,
        pitch_histogram={52: 3.0, 55: 9.0, 60: 4.5},
        vocal_range=("E3", "C4"),
        voice_type="tenor",
        style="melodic",
        level_db=-21.0,
        level_spread_db=1.1,
        snr_db=40.0,
        reverberation_s=0.2,
        bandwidth_hertz=20_000.0,
        stated_gender=None,
        stated_voice_type="soprano",
        stated_range=None,
    )


EMPTY = replace(
    report_of(0), verdict="fail", pitch_histogram={}, vocal_range=None, voice_type=None, style=None, findings=()
)


def pixels(figure: Figure) -> np.ndarray:
    figure.canvas.draw()
    return np.asarray(figure.canvas.buffer_rgba())[..., :3]


def texts(figure: Figure) -> str:
    return "\n".join(text.get_text() for axes in figure.axes for text in axes.texts)


def bars(figure: Figure) -> list[tuple[float, str]]:
    """Length and colour of what is usable of each recording."""
    container = figure.axes[0].containers[1]
    return [(bar.get_width(), bar.get_facecolor()) for bar in container]


def test_plot_data_report_draws_usable_seconds_in_the_colour_of_the_verdict():
    figure = plot_data_report(report_of(5))
    assert [label.get_text() for label in figure.axes[0].get_yticklabels()] == [f"take {n}.wav" for n in range(5)]
    assert [length for length, _ in bars(figure)] == [8.0] * 5
    colours = [colour for _, colour in bars(figure)]
    assert colours[1] != colours[0] == colours[2]
    assert {"4 pass", "1 warn", "0 fail"} <= set(texts(figure).split("\n"))


def test_data_report_shows_no_usable_seconds_for_a_near_duplicate():
    report = report_of(3)
    copy = replace(report.recordings[0], findings=(finding("near_duplicate", "warn", "It is a copy."),))
    figure = plot_data_report(replace(report, recordings=(copy, *report.recordings[1:])))
    assert [length for length, _ in bars(figure)] == [0.0, 8.0, 8.0]


def test_plot_data_report_draws_the_worst_of_many_recordings_first():
    report = report_of(400)
    worst = replace(recording(7, "fail"), usable_s=3.0)
    figure = plot_data_report(replace(report, recordings=(*report.recordings, worst)))
    figure.canvas.draw()
    heights = [bar.get_height() for bar in figure.axes[0].containers[1]]
    assert (len(heights), heights[0]) == (401, 3.0)
    assert "take 1.wav" not in [label.get_text() for label in figure.axes[0].get_yticklabels()]


def test_plot_data_report_draws_the_notes_over_the_stated_range():
    axes = plot_data_report(report_of(5)).axes[1]
    assert [bar.get_height() for bar in axes.containers[0]] == [3.0, 9.0, 4.5]
    labels = [text.get_text() for text in axes.get_legend().get_texts()]
    assert labels == ["stated: soprano C4 to C6", "measured: E3 to C4"]
    low, high = axes.get_xlim()
    assert low < 52
    assert high > 84
    (span,) = [patch for patch in axes.patches if patch.get_label().startswith("stated")]
    assert span.get_facecolor()[:3] == pytest.approx([int(RANGE_COLOUR[i : i + 2], 16) / 255 for i in (1, 3, 5)])


def test_plot_data_report_prefers_the_stated_range_to_the_voice_type():
    axes = plot_data_report(replace(report_of(5), stated_range=("A2", "A4"))).axes[1]
    assert axes.get_legend().get_texts()[0].get_text() == "stated: A2 to A4"


def test_plot_data_report_leaves_out_unknown_measures():
    level, noise, bandwidth = plot_data_report(report_of(6)).axes[2:5]
    assert [len(axes.collections[0].get_offsets()) for axes in (level, noise, bandwidth)] == [6, 3, 6]
    assert bandwidth.collections[0].get_offsets()[0].tolist() == [1.0, 20.0]


def test_plot_data_report_lists_the_worst_findings_first():
    many = [finding("noise", "warn", f"Reason {number}.") for number in range(12)]
    worst = finding("too_little", "fail", "There are only 3 s.")
    shown = texts(plot_data_report(replace(report_of(5), findings=(*many, worst))))
    assert shown.index("There are only 3 s.") < shown.index("Reason 0.")
    assert "and 5 more findings in the report" in shown
    assert worst.remedy in shown
    assert "No problems found" in texts(plot_data_report(replace(report_of(5), findings=())))


def test_data_report_title_gives_verdict_and_summary():
    report = report_of(5)
    assert describe(report) == "40.0 s usable of 55.0 s in 5 recordings, melodic, E3 to C4, tenor"
    title = plot_data_report(report).get_suptitle()
    assert title == f"{VERDICT_WORDS['warn']}\n{describe(report)}"
    assert describe(EMPTY) == "0.0 s usable of 0.0 s in 0 recordings, no voice found"
    assert set(VERDICT_WORDS) == set(VERDICT_COLOURS) == {"pass", "warn", "fail"}


@pytest.mark.system
@pytest.mark.parametrize("count", [1, 40, 41, 2000])
def test_plot_data_report_fits_any_number_of_recordings_on_one_page(count):
    picture = pixels(plot_data_report(report_of(count)))
    assert picture.shape == (990, 1320, 3)
    assert picture.mean() > 128  # dark on light


def test_plot_data_report_draws_an_empty_report():
    assert pixels(plot_data_report(EMPTY)).shape == (990, 1320, 3)
    unreadable = RecordingReport("x.wav", "", "fail", (finding("unreadable", "fail", "It cannot be read."),))
    assert pixels(plot_data_report(replace(EMPTY, recordings=(unreadable,)))).shape == (990, 1320, 3)


@pytest.mark.parametrize("name", ["a$b$^_{\\frac.wav", "日本語.wav", "x" * 300 + ".wav", "line\nend.wav", "\udcff.wav"])
def test_plot_data_report_draws_unusual_file_names_without_a_warning(name):
    report = report_of(3)
    findings = (finding("noise", "warn", f"1 of 3 recordings is noisy: {name}."),)
    strange = replace(report.recordings[0], name=name)
    figure = plot_data_report(replace(report, recordings=(strange, *report.recordings[1:]), findings=findings))
    assert pixels(figure).mean() > 128
    label = figure.axes[0].get_yticklabels()[0].get_text()
    assert len(label) <= 34
    assert label.endswith(".wav")


@pytest.mark.system
def test_plots_report_does_not_import_pyplot():
    import subprocess
    import sys

    code = "import sys, engine.plots.report; sys.exit('matplotlib.pyplot' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)

"""Plot the data report: each recording's usable seconds, the notes, level, noise and bandwidth, and the findings.

Figures are made outside pyplot, without a window or anything to close.
"""

import textwrap
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties, findfont, get_font
from matplotlib.ticker import MaxNLocator

from engine.analysis.vocal_range import SINGING_RANGES
from engine.datasets.findings import LIMITS, SEVERITY, Finding, Verdict
from engine.datasets.report import DataReport, RecordingReport
from engine.plots.style import (
    INK,
    LOUDNESS_COLOUR,
    PALE_INK,
    PITCH_COLOUR,
    RANGE_COLOUR,
    dress,
    duration_label,
    mark_notes,
    new_figure,
)
from engine.texts import ntr, tr
from engine.units import note_number

SIZE_INCHES = (12.0, 9.0)
VERDICT_COLOURS: dict[Verdict, str] = {"pass": LOUDNESS_COLOUR, "warn": "#d98e04", "fail": PITCH_COLOUR}
VERDICT_WORDS: dict[Verdict, str] = {
    "pass": tr("Suitable for training"),
    "warn": tr("Usable for training, with warnings"),
    "fail": tr("Not suitable for training"),
}
_MOST_NAMED = 40  # recordings; with more, the bars are vertical and without names
_FEWEST_ROWS = 8
_LONGEST_NAME = 34  # characters
_MOST_FINDINGS = 8
_LINE_LENGTH = 165  # characters across the picture
_MEASURES = (
    ("level_db", tr("level (dB)"), "level", 1.0),
    ("snr_db", tr("voice over noise (dB)"), "noise", 1.0),
    ("bandwidth_hertz", tr("bandwidth (kHz)"), "bandwidth", 1000.0),
)
_FULL_BANDWIDTH_KHZ = 22.05
_QUIETEST_DB = -70.0  # lowest level drawn; silence is shown there too


def plot_data_report(report: DataReport) -> Figure:
    """Plot the report on one page, for five recordings or two thousand.

    Parameters
    ----------
    report : DataReport
        As `examine_recordings` or `examined` returns it.

    Returns
    -------
    matplotlib.figure.Figure
        To show, or to save with `savefig`.

    Examples
    --------
    >>> from engine import examine_recordings
    >>> plot_data_report(examine_recordings(["recordings/one.flac"])).savefig("report.png")
    """
    figure = new_figure(*SIZE_INCHES)
    rows = figure.add_gridspec(2, 1, height_ratios=(5.0, 1.5))
    columns = rows[0].subgridspec(1, 2, width_ratios=(1.0, 1.15))
    right = columns[1].subgridspec(4, 1, height_ratios=(2.2, 1, 1, 1))
    usable_axes = figure.add_subplot(columns[0])
    pitch_axes = figure.add_subplot(right[0])
    first = figure.add_subplot(right[1])
    others = [figure.add_subplot(right[row], sharex=first) for row in (2, 3)]
    text_axes = figure.add_subplot(rows[1])
    _draw_usable(usable_axes, report)
    _draw_pitch(pitch_axes, report)
    for axes, (name, label, code, unit) in zip((first, *others), _MEASURES, strict=True):
        _draw_measure(axes, report.recordings, name, label, code, unit)
    first.tick_params(labelbottom=False)
    others[0].tick_params(labelbottom=False)
    others[1].set_xlabel("recording", color=INK, fontsize=9)
    _write_findings(text_axes, report.findings)
    for axes in (usable_axes, pitch_axes, first, *others):
        dress(axes, 8.5)
    title = f"{VERDICT_WORDS[report.verdict]}\n{describe(report)}"
    figure.suptitle(title, x=0.012, ha="left", color=VERDICT_COLOURS[report.verdict], fontsize=12.5, fontweight="bold")
    return figure


def describe(report: DataReport) -> str:
    """Describe the recordings in one line: amount, style, range and voice type."""
    count = len(report.recordings)
    amount = tr(
        "{usable_s} usable of {total_s}",
        usable_s=duration_label(report.usable_s),
        total_s=duration_label(report.total_s),
    )
    amount += " " + tr("in {count} recordings", count=count) if count != 1 else " in 1 recording"
    if report.vocal_range is None:
        return tr("{amount}, no voice found", amount=amount)
    low, high = report.vocal_range
    return tr(
        "{amount}, {style}, {low} to {high}, {voice_type}",
        amount=amount,
        style=report.style,
        low=low,
        high=high,
        voice_type=report.voice_type,
    )


def _draw_usable(axes: Axes, report: DataReport) -> None:
    recordings: Sequence[RecordingReport] = report.recordings
    named = len(recordings) <= _MOST_NAMED
    if not named:  # in the order of the files, single bad ones would not be visible
        recordings = sorted(recordings, key=lambda one: (-SEVERITY[one.verdict], -one.duration_s))
    places = np.arange(len(recordings)) + 1
    colours = [VERDICT_COLOURS[one.verdict] for one in recordings]
    whole = [one.duration_s for one in recordings]
    usable = [one.usable_s if one.usable else 0.0 for one in recordings]
    unused = np.equal(usable, 0.0)
    unused_places, unused_colours = places[unused], np.array(colours)[unused]
    if named:
        axes.barh(places, whole, color=PALE_INK, alpha=0.25)
        axes.barh(places, usable, color=colours)
        axes.set_yticks(places, [_shown(one.name) for one in recordings], parse_math=False)
        axes.set_ylim(max(len(recordings), _FEWEST_ROWS) + 0.7, 0.3)
        axes.set_xlabel("seconds", color=INK, fontsize=9)
        # recordings without a bar still have a verdict
        axes.scatter(0 * unused_places, unused_places, color=unused_colours, s=16, zorder=3, clip_on=False)
    else:
        axes.bar(places, whole, width=1.0, color=PALE_INK, alpha=0.25)
        axes.bar(places, usable, width=1.0, color=colours)
        axes.scatter(unused_places, 0 * unused_places, color=unused_colours, s=6, zorder=3, clip_on=False)
        axes.set_xlim(0.0, len(recordings) + 1.0)
        axes.set_xlabel(tr("recordings, worst first"), color=INK, fontsize=9)
        axes.set_ylabel("seconds", color=INK, fontsize=9)
    counts = {verdict: sum(one.verdict == verdict for one in recordings) for verdict in VERDICT_COLOURS}
    axes.set_title(tr("usable seconds"), color=INK, fontsize=11, loc="left")
    for row, (verdict, count) in enumerate(counts.items()):
        place = (0.55 + 0.16 * row, 1.012)
        axes.text(*place, f"{count} {verdict}", transform=axes.transAxes, color=VERDICT_COLOURS[verdict], fontsize=10)


def _draw_pitch(axes: Axes, report: DataReport) -> None:
    axes.set_title("notes", color=INK, fontsize=11, loc="left")
    axes.set_ylabel("seconds", color=INK, fontsize=9)
    stated = report.stated_range or SINGING_RANGES.get(report.stated_voice_type)  # type: ignore[call-overload]
    notes = list(report.pitch_histogram)
    marks = [note_number(name) for pair in (stated, report.vocal_range) if pair for name in pair]
    low, high = min([*notes, *marks], default=48), max([*notes, *marks], default=72)
    axes.set_xlim(low - 1.5, high + 1.5)
    axes.bar(notes, list(report.pitch_histogram.values()), width=0.9, color=PITCH_COLOUR, alpha=0.8)
    if stated:
        start, stop = (note_number(name) for name in stated)
        kind = "" if report.stated_range else f"{report.stated_voice_type} "
        label = tr("stated: {kind}{lowest} to {highest}", kind=kind, lowest=stated[0], highest=stated[1])
        axes.axvspan(start - 0.5, stop + 0.5, color=RANGE_COLOUR, alpha=0.09, zorder=0, label=label)
    if report.vocal_range:
        label = tr("measured: {low} to {high}", low=report.vocal_range[0], high=report.vocal_range[1])
        for name, shown in zip(report.vocal_range, (label, None), strict=True):  # in the legend once
            axes.axvline(note_number(name), color=RANGE_COLOUR, linewidth=0.9, linestyle=(0, (5, 3)), label=shown)
    else:
        axes.text(0.5, 0.5, "no voice found", transform=axes.transAxes, ha="center", color=PALE_INK)
    mark_notes(axes, low - 1, high + 1, most=18)
    if axes.get_legend_handles_labels()[0]:
        axes.legend(loc="upper right", bbox_to_anchor=(1.0, 1.16), ncols=2, frameon=False, fontsize=8.5, labelcolor=INK)


def _draw_measure(
    axes: Axes, recordings: Sequence[RecordingReport], name: str, label: str, code: str, unit: float
) -> None:
    """Draw one point per recording with the measure, coloured by the limits it falls below."""
    known = [(place, getattr(one, name)) for place, one in enumerate(recordings, 1) if getattr(one, name) is not None]
    places, values = np.array(known, np.float64).reshape(-1, 2).T
    warn, fail = LIMITS[code]
    values = np.maximum(values, _QUIETEST_DB)
    colours = [VERDICT_COLOURS["fail" if value < fail else "warn" if value < warn else "pass"] for value in values]
    axes.scatter(places, values / unit, color=colours, s=18 if len(recordings) <= 100 else 6, zorder=3)
    for limit, verdict in ((warn, "warn"), (fail, "fail")):
        axes.axhline(limit / unit, color=VERDICT_COLOURS[verdict], linewidth=0.8, linestyle=(0, (5, 3)), zorder=1)  # type: ignore[index]
    everything = [*(values / unit), warn / unit, fail / unit]
    if unit != 1.0:
        everything += [0.0, _FULL_BANDWIDTH_KHZ]
    margin = 0.08 * (max(everything) - min(everything))
    axes.set_ylim(min(everything) - margin, max(everything) + margin)
    axes.set_xlim(0.3, max(len(recordings), 4) + 0.7)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_title(label, color=INK, fontsize=9.5, loc="left", pad=3)


def _write_findings(axes: Axes, findings: Sequence[Finding]) -> None:
    axes.axis("off")
    axes.set_xlim(0.0, 1.0)
    axes.set_ylim(1.0, 0.0)
    if not findings:
        axes.text(0.0, 0.1, "No problems found.", color=INK, fontsize=10)
    ordered = sorted(findings, key=lambda found: -SEVERITY[found.verdict])
    lines = [
        (line, found.verdict, row == 0)
        for found in ordered[:_MOST_FINDINGS]
        for row, line in enumerate(textwrap.wrap(_printable(f"{found.reason}  {found.remedy}"), _LINE_LENGTH))
    ]
    if len(ordered) > _MOST_FINDINGS:
        lines.append(
            (
                ntr(
                    "and {ordered} more finding in the report",
                    "and {ordered} more findings in the report",
                    ordered=len(ordered) - _MOST_FINDINGS,
                ),
                "pass",
                False,
            )
        )
    height = min(0.1, 1.0 / max(len(lines), 1))
    for row, (line, verdict, first) in enumerate(lines):
        y = (row + 0.5) * height
        if first:
            axes.text(0.0, y, verdict, color=VERDICT_COLOURS[verdict], fontsize=9.5, fontweight="bold", va="center")
        axes.text(0.04, y, line, color=INK, fontsize=9.5, va="center", parse_math=False)


def _shown(name: str) -> str:
    """Shorten a name, keeping its end, which is more distinctive than the beginning."""
    return _printable(name if len(name) <= _LONGEST_NAME else "…" + name[-_LONGEST_NAME + 1 :])


def _printable(text: str) -> str:
    """Replace characters missing from the font with question marks."""
    letters = _letters()
    return "".join(letter if ord(letter) in letters else "?" for letter in text)


@lru_cache(maxsize=1)
def _letters() -> frozenset[int]:
    return frozenset(get_font(findfont(FontProperties())).get_charmap())

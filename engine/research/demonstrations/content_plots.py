"""Plot what content keeps and loses: speaker probes, similar frames, and perturbation."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from engine.analysis.envelope import LOW_BANDS, band_centres
from engine.plots.style import INK, PALE_INK, PITCH_COLOUR, dress, grid, new_figure, title
from engine.research.demonstrations.frame_features import KINDS, Features, Kind
from engine.research.demonstrations.perturbation_trial import PerturbationTrial
from engine.research.demonstrations.resemblance import found_again, similarity
from engine.research.demonstrations.speaker_probe import SpeakerProbe
from engine.units import DECIBELS_PER_NEPER, FRAME_RATE

_COLOURS: dict[Kind, str] = {"mel": PALE_INK, "content": PITCH_COLOUR}
_NAMES: dict[Kind, str] = {"mel": "mel spectrum", "content": "content"}
_DARK = 0.55  # shares above this are written in white
_LONGEST_NAME = 16  # characters
_HIGHEST_SHOWN_HERTZ = 5000.0  # of the spectra: where vowels have their resonances


def plot_speaker_probes(probes: Sequence[SpeakerProbe]) -> Figure:
    """Plot how often the speaker of a frame is recognised from each representation, with chance, and the confusions.

    >>> from engine.research.demonstrations import probe_speakers
    >>> recordings = {name: [f"recordings/{name}.flac"] for name in ("one", "two")}
    >>> plot_speaker_probes(probe_speakers(recordings)).savefig("probes.png")
    """
    figure = new_figure(13.0, 4.6)
    axes, *squares = figure.subplots(1, 1 + len(probes), width_ratios=(0.8, *[1.0] * len(probes)))
    names = [_NAMES[probe.kind] for probe in probes]
    bars = axes.bar(names, [probe.accuracy for probe in probes], color=[_COLOURS[probe.kind] for probe in probes])
    axes.bar_label(bars, [f"{probe.accuracy:.0%}" for probe in probes], color=INK, padding=3)
    axes.axhline(probes[0].chance, color=INK, linewidth=1.0, linestyle=(0, (5, 3)))
    axes.annotate("chance", (1.01, probes[0].chance), xycoords=("axes fraction", "data"), color=INK, va="center")
    axes.set_ylim(0.0, 1.08)
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
    dress(axes)
    title(axes, "frames with recognised speaker")
    for square, probe in zip(squares, probes, strict=True):
        _draw_confusion(square, probe)
    return figure


def plot_similar_moments(first: Features, second: Features, start_s: float = 0.0, end_s: float | None = None) -> Figure:
    """Plot the similarity of every frame of one recording to every frame of another, by mel spectrum and by content.

    For two recordings with the same words at the same times, matches lie on the diagonal. The titles give the share of
    all frames whose most similar frame is at the same time. Each picture has colours of its own, from its median on:
    by content all frames are alike, and their differences would not be seen on one scale.
    """
    frames = min(len(first.active), len(second.active))
    rows = slice(round(start_s * FRAME_RATE), frames if end_s is None else min(round(end_s * FRAME_RATE), frames))
    figure = new_figure(12.0, 5.8)
    for axes, kind in zip(figure.subplots(1, len(KINDS), sharey=True), KINDS, strict=True):
        shown = similarity(first, second, kind)[rows, rows]
        edges_s, lowest = (rows.start / FRAME_RATE, rows.stop / FRAME_RATE), max(0.0, float(np.median(shown)))
        placed = {"origin": "lower", "extent": (*edges_s, *edges_s), "interpolation": "nearest"}
        image = axes.imshow(shown, "magma", vmin=lowest, vmax=1.0, **placed)
        axes.set_xlabel("time in the second recording (s)", color=INK)
        dress(axes)
        title(axes, f"{_NAMES[kind]}: {found_again(first, second, kind):.0%} match themselves")
        bar = figure.colorbar(image, ax=axes, shrink=0.8, pad=0.02)
        bar.set_label("similarity, from the median on", color=INK)
        bar.outline.set_visible(False)
    figure.axes[0].set_ylabel("time in the first recording (s)", color=INK)
    return figure


def plot_perturbation_trial(trial: PerturbationTrial) -> Figure:
    """Plot how warped resonances change the spectrum and the content.

    >>> from engine.research.demonstrations import try_perturbation
    >>> plot_perturbation_trial(try_perturbation("vocal.flac", (0.8, 1.25))).savefig("trial.png")
    """
    figure = new_figure(13.0, 4.6)
    found, distance, spectra = figure.subplots(1, 3, width_ratios=(1.0, 1.0, 1.3))
    for kind, shares in zip(KINDS, (trial.found_by_mel, trial.found_by_content), strict=True):
        found.plot(trial.factors, shares, color=_COLOURS[kind], marker="o", markersize=4, label=_NAMES[kind])
    found.set_ylim(0.0, 1.05)
    found.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
    title(found, "frames matched again")
    for nepers, colour, label in (
        (trial.warped_nepers, PALE_INK, "warped"),
        (trial.decoded_nepers, PITCH_COLOUR, "decoded from the warped content"),
    ):
        distance.plot(trial.factors, nepers * DECIBELS_PER_NEPER, color=colour, marker="o", markersize=4, label=label)
    distance.set_ylim(bottom=0.0)
    title(distance, "difference from the recording (dB)")
    for axes in (found, distance):
        axes.set_xscale("log")
        axes.set_xticks(trial.factors, [f"{factor:g}" for factor in trial.factors], rotation=45)
        axes.set_xticks([], minor=True)
        axes.set_xlabel("resonances moved by", color=INK)
    _draw_spectra(spectra, trial)
    for axes in (found, distance, spectra):
        grid(axes)
        axes.legend(frameon=False, fontsize=9, labelcolor=INK)
        dress(axes)
    return figure


def _draw_confusion(axes: Axes, probe: SpeakerProbe) -> None:
    axes.imshow(probe.confusion, cmap="Blues" if probe.kind == "mel" else "RdPu", vmin=0.0, vmax=1.0)
    names = [name if len(name) <= _LONGEST_NAME else name[: _LONGEST_NAME - 1] + "…" for name in probe.speakers]
    places = np.arange(len(names))
    axes.set_xticks(places, names, rotation=30, ha="right", rotation_mode="anchor", parse_math=False)
    axes.set_yticks(places, names, parse_math=False)
    for row, column in np.ndindex(probe.confusion.shape):
        share = probe.confusion[row, column]
        colour = "white" if share > _DARK else INK
        axes.text(column, row, f"{share:.0%}", ha="center", va="center", color=colour, fontsize=8.5)
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0, colors=INK, labelsize=9)
    axes.set_xlabel("recognised as", color=INK)
    title(axes, f"speakers from {_NAMES[probe.kind]}")


def _draw_spectra(axes: Axes, trial: PerturbationTrial) -> None:
    largest = max(trial.factors, key=lambda factor: abs(np.log(factor)))
    labels = ("as recorded", f"moved by {largest:g}", "decoded from that")
    styles = ((INK, 2.0, "-"), (PALE_INK, 1.6, "-"), (PITCH_COLOUR, 1.8, (0, (4, 2))))
    for spectrum, label, (colour, width, style) in zip(trial.spectra, labels, styles, strict=True):
        level_db = spectrum * DECIBELS_PER_NEPER
        axes.plot(band_centres()[:LOW_BANDS], level_db, color=colour, linewidth=width, linestyle=style, label=label)
    shown = trial.spectra[:, band_centres()[:LOW_BANDS] < _HIGHEST_SHOWN_HERTZ] * DECIBELS_PER_NEPER
    axes.set_xlim(0.0, _HIGHEST_SHOWN_HERTZ)
    axes.set_ylim(shown.min() - 3.0, shown.max() + 3.0)
    axes.set_xlabel("frequency (Hz)", color=INK)
    title(axes, "mean spectrum (dB)")

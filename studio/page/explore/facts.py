"""Facts of a recording, and the comparison of two, in words and numbers."""

from collections.abc import Iterator, Sequence

from engine.analysis.comparison import Comparison
from engine.texts import ntr, numeral, tr
from engine.units import note_name, semitones_to_hertz
from studio.actions.analysis_views import AnalysisView
from studio.page.parts.controls import STYLES
from studio.page.parts.markup import markup
from studio.page.parts.numbers import duration_text, signed

_NOTHING = "\N{EN DASH}"
_LEAST_VOICED_S = 0.3  # for facts about a voice
_SAME_TIME_S = 0.03  # less cannot be heard


def facts(views: Sequence[AnalysisView]) -> str:
    """Return the facts of each recording as HTML: one as a list, two as a table."""
    columns = [dict(_facts(view)) for view in views]
    if len(views) == 1:
        rows = "".join(
            f"<div><dt>{markup(name)}</dt><dd>{markup(value)}</dd></div>" for name, value in columns[0].items()
        )
        return f'<h3 aria-level="2" translate="no">{markup(views[0].file_name)}</h3><dl class="facts">{rows}</dl>'
    names = "".join(f'<th scope="col" translate="no">{markup(view.file_name)}</th>' for view in views)
    rows = "".join(
        f'<tr><th scope="row">{markup(name)}</th>'
        + "".join(f"<td>{markup(column[name])}</td>" for column in columns)
        + "</tr>"
        for name in columns[0]
    )
    return f'<table class="facts"><thead><tr><td></td>{names}</tr></thead><tbody>{rows}</tbody></table>'


def compared(comparison: Comparison, second: str) -> str:
    """Return how the recording named `second` compares with the first, as HTML."""
    return f'<ul class="compared">{"".join(f"<li>{markup(one)}</li>" for one in _sentences(comparison, second))}</ul>'


def _facts(view: AnalysisView) -> Iterator[tuple[str, str]]:
    summary, duration_s = view.summary, view.duration_s
    assert summary is not None  # of an analysis that is completed
    voiced_s = summary.voiced_s
    is_voiced = voiced_s >= _LEAST_VOICED_S
    voice, pitch = (summary.vocal_range, summary.pitch) if is_voiced else (None, None)
    missing = tr("Too little voice to analyse") if voiced_s else tr("No voice found")
    yield tr("Style"), STYLES[summary.style] if voice else missing
    yield tr("Range"), tr("{min} to {max}", min=voice.min, max=voice.max) if voice else _NOTHING
    yield tr("Median pitch"), _note(pitch.median) if pitch else _NOTHING
    yield tr("Length"), duration_text(duration_s)
    yield (
        tr("Voiced"),
        tr(
            "{seconds} s ({share} %)",
            seconds=numeral(voiced_s, ".1f" if voiced_s >= 1 else ".2f"),
            share=numeral(100 * voiced_s / max(duration_s, 0.01), ".0f"),
        ),
    )
    yield tr("Notes"), str(len(view.notes)) if view.notes else tr("none")
    lufs = summary.loudness_lufs
    yield tr("Loudness"), tr("Silence") if lufs is None else tr("{lufs} LUFS", lufs=signed(lufs))
    peak_db = summary.peak_db
    peak = tr("{value} dB", value=signed(peak_db))
    if summary.clipped_runs:
        peak = tr("{peak} (clipped)", peak=peak)
    yield tr("Peak"), _NOTHING if lufs is None else peak
    yield tr("Dry vocal"), summary.warning or tr("Yes") if voice else _NOTHING
    yield tr("Origin"), view.origin or _NOTHING


def _sentences(found: Comparison, name: str) -> Iterator[str]:
    if not found.is_aligned:
        yield tr("The recordings could not be aligned in time: both start at 0:00.")
    elif abs(found.offset_s) > _SAME_TIME_S:
        seconds = numeral(abs(found.offset_s), ".2f")
        yield (
            tr("{name} is {seconds} s later.", name=name, seconds=seconds)
            if found.offset_s > 0
            else tr("{name} is {seconds} s earlier.", name=name, seconds=seconds)
        )
    else:
        yield tr("The recordings are aligned in time.")
    if found.semitones is None or found.same_notes is None or found.cents_apart is None or found.louder_db is None:
        yield tr("Too little voice in both at the same time to compare notes.")
        return
    moved = round(found.semitones)
    if not found.is_same_melody:
        yield tr(
            "Both are on the same note for {same_notes} % of the time they are both voiced.",
            same_notes=numeral(100 * found.same_notes, ".0f"),
        )
    else:
        count = abs(moved)
        key = tr("in the same key")
        if moved:
            key = (
                ntr("{count} semitone higher", "{count} semitones higher", count=count)
                if moved > 0
                else ntr("{count} semitone lower", "{count} semitones lower", count=count)
            )
        yield (
            tr(
                "{name} has the same melody, {key}: on the same note {same_notes} % of the time, with a median "
                "difference of {cents_apart} cents.",
                name=name,
                key=key,
                same_notes=numeral(100 * found.same_notes, ".0f"),
                cents_apart=numeral(found.cents_apart, ".0f"),
            )
        )
    if abs(found.louder_db) >= 1:
        level = numeral(abs(found.louder_db), ".0f")
        yield (
            tr("{name} is {level} dB louder.", name=name, level=level)
            if found.louder_db > 0
            else tr("{name} is {level} dB quieter.", name=name, level=level)
        )


def _note(semitones: float) -> str:
    return tr("{note}, {hertz} Hz", note=note_name(semitones), hertz=numeral(semitones_to_hertz(semitones), ".0f"))

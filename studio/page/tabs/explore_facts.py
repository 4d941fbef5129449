"""Facts of a recording, and the comparison of two, in words and numbers."""

from collections.abc import Iterator, Sequence
from html import escape

from engine.analysis.comparison import Comparison
from engine.units import note_name, semitones_to_hertz
from studio.actions.analyses import AnalysisView
from studio.page.parts.controls import STYLES
from studio.page.parts.figures import duration_text, signed

_NOTHING = "\N{EN DASH}"
_LEAST_VOICED_S = 0.3  # for facts about a voice
_SAME_TIME_S = 0.03  # less cannot be heard


def facts(views: Sequence[AnalysisView]) -> str:
    """Return the facts of each recording as HTML: one as a list, two as a table."""
    columns = [dict(_facts(view)) for view in views]
    if len(views) == 1:
        rows = "".join(
            f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>" for name, value in columns[0].items()
        )
        return f'<h3 aria-level="2" translate="no">{escape(views[0]["file_name"])}</h3><dl class="facts">{rows}</dl>'
    names = "".join(f'<th scope="col" translate="no">{escape(view["file_name"])}</th>' for view in views)
    rows = "".join(
        f'<tr><th scope="row">{escape(name)}</th>'
        + "".join(f"<td>{escape(column[name])}</td>" for column in columns)
        + "</tr>"
        for name in columns[0]
    )
    return f'<table class="facts"><thead><tr><td></td>{names}</tr></thead><tbody>{rows}</tbody></table>'


def compared(comparison: Comparison, second: str) -> str:
    """Return how the recording named `second` compares with the first, as HTML."""
    return f'<ul class="compared">{"".join(f"<li>{escape(one)}</li>" for one in _sentences(comparison, second))}</ul>'


def _facts(view: AnalysisView) -> Iterator[tuple[str, str]]:
    summary, duration_s = view["summary"], view["duration_s"]
    assert summary is not None  # of an analysis that is completed
    voiced_s = summary["voiced_s"]
    is_voiced = voiced_s >= _LEAST_VOICED_S
    voice, pitch = (summary["vocal_range"], summary["pitch"]) if is_voiced else (None, None)
    missing = "Too little voice to analyse" if voiced_s else "No voice found"
    yield "Style", STYLES[summary["style"]] if voice else missing
    yield "Range", f"{voice['min']} to {voice['max']}" if voice else _NOTHING
    yield "Median pitch", _note(pitch["median"]) if pitch else _NOTHING
    yield "Length", duration_text(duration_s)
    yield "Voiced", f"{voiced_s:.{1 if voiced_s >= 1 else 2}f} s ({100 * voiced_s / max(duration_s, 0.01):.0f} %)"
    yield "Notes", str(len(view["notes"]) or "none")
    lufs = summary["loudness_lufs"]
    yield "Loudness", "Silence" if lufs is None else f"{signed(lufs)} LUFS"
    peak_db = summary["peak_db"]
    clipped = " (clipped)" if summary.get("clipped_runs", peak_db > -0.05) else ""
    yield "Peak", _NOTHING if lufs is None else f"{signed(peak_db)} dB{clipped}"
    yield "Dry vocal", summary.get("warning") or "Yes" if voice else _NOTHING
    yield "Origin", view["origin"] or _NOTHING


def _sentences(found: Comparison, name: str) -> Iterator[str]:
    if not found.is_aligned:
        yield "The recordings could not be aligned in time: both start at 0:00."
    elif abs(found.offset_s) > _SAME_TIME_S:
        seconds = f"{abs(found.offset_s):.2f}"
        yield f"{name} is {seconds} s later." if found.offset_s > 0 else f"{name} is {seconds} s earlier."
    else:
        yield "The recordings are aligned in time."
    if found.semitones is None or found.same_notes is None or found.cents_apart is None or found.louder_db is None:
        yield "Too little voice in both at the same time to compare notes."
        return
    moved = round(found.semitones)
    if not found.is_same_melody:
        yield f"Both are on the same note for {100 * found.same_notes:.0f} % of the time they are both voiced."
    else:
        count = abs(moved)
        key = "in the same key"
        if moved:
            key = f"{count} semitones higher" if moved > 0 else f"{count} semitones lower"
        yield (
            f"{name} has the same melody, {key}: on the same note {100 * found.same_notes:.0f} % of the time, "
            f"with a median difference of {found.cents_apart:.0f} cents."
        )
    if abs(found.louder_db) >= 1:
        level = f"{abs(found.louder_db):.0f}"
        yield f"{name} is {level} dB louder." if found.louder_db > 0 else f"{name} is {level} dB quieter."


def _note(semitones: float) -> str:
    return f"{note_name(semitones)}, {semitones_to_hertz(semitones):.0f} Hz"

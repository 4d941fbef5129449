"""A conversion in words and numbers."""

import html
from collections.abc import Sequence

from studio.actions.takes import ResultView, ShownTake
from studio.page.parts.figures import signed
from studio.page.parts.progress_bar import time_left, time_taken, time_until

_NOTHING = "–"  # noqa: RUF001 - for what could not be measured
# score, title, meaning
_COLUMNS = (
    (
        "pitch_accuracy",
        "Pitch accuracy",
        "Time within half a semitone of the target, and how much was compared. 100 % is best.",
    ),
    ("pitch_corr", "Melody", "Correlation of the pitch curve with the recording's. 1 is best."),
    ("voicing_error", "Voicing errors", "Time voiced in only the recording or only the take. 0 % is best."),
    ("leak_db", "Noise in pauses", "Level where the recording is silent, relative to the voice. Lower is better."),
)


_TITLES = {  # by style
    "melodic": "{file_name}, sung by {voice}",
    "rhythmic": "{file_name}, rapped by {voice}",
    "spoken": "{file_name}, spoken by {voice}",
}


def heading(view: ResultView) -> str:
    """Return the title of a conversion and how it was made, as HTML."""
    facts = [shift_text(view["transpose"])]
    if view["untrained"]:
        facts.append("untrained voice")
    if view["edited"]:
        facts.append("edited")
    title = _TITLES[view["style"] or "melodic"].format(file_name=view["file_name"], voice=view["voice"])
    return f"<h2>{html.escape(title)}</h2><p>{html.escape(', '.join(facts))}</p>"


def scores_table(takes: Sequence[ShownTake]) -> str:
    """Return the scores of takes as HTML."""
    head = "".join(f'<th scope="col" title="{html.escape(says)}">{title}</th>' for _, title, says in _COLUMNS)
    head = f'<th scope="col">Take</th>{head}'
    rows = "".join(_row(take) for take in takes)
    legend = "".join(f"<li><b>{title}</b><span>:</span> {html.escape(says)}</li>" for _, title, says in _COLUMNS)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table><ul>{legend}</ul>"


def progress_line(view: ResultView) -> str:
    """Return how far a conversion is that has not ended, in a line."""
    if view["is_ending"]:
        return "Cancelling"
    if view["state"] != "running":
        if not view["ahead"]:
            return "Starting"
        return ", ".join(filter(None, [f"Waiting: {view['ahead']} ahead", time_until(view["starts_in_s"])]))
    done = f"{100 * view['progress']:.0f} %"
    time = time_left(view["left_s"]) or time_taken(view["taken_s"])
    return ", ".join(filter(None, [view["message"] or "converting", done, time]))


def labelled(label: str, name: str, starred: bool) -> str:
    """Return the label of a take with the name and the star that the user gave it."""
    named = f"{label}: {name}" if name else label
    return f"{named} \N{BLACK STAR}" if starred else named


def stands_out(shares: Sequence[float | None]) -> bool:
    """Whether one of several takes keeps more of the melody than all others, as it is written."""
    written = sorted((round(100 * (share or 0.0)) for share in shares), reverse=True)
    return len(written) > 1 and written[0] > written[1]


def kept_note(share: float | None, is_best: bool, semitones: float = 0.0) -> str | None:
    """Return the note beside a take: its key, whether it is the best of several, its `fidelity`; None for none."""
    said = None if share is None else f"{100 * share:.0f} % of the melody kept"
    return " · ".join(filter(None, [shift_text(semitones) if semitones else None, _best(is_best), said])) or None


def kept_brief(share: float | None, is_best: bool, semitones: float = 0.0) -> str | None:
    """Return `kept_note` where there is little room."""
    said = None if share is None else f"{100 * share:.0f} %"
    return " · ".join(filter(None, [brief_shift(semitones), _best(is_best), said])) or None


def brief_shift(semitones: float | None) -> str:
    """Return a shift as a number with its sign; nothing for none."""
    return f"{semitones:+g}".replace("-", "\N{MINUS SIGN}") if semitones else ""


def shift_text(semitones: float | None) -> str:
    """Return a shift in words."""
    if not semitones:
        return "Original key"
    count = f"{abs(semitones):g}"
    return f"Up {count} semitones" if semitones > 0 else f"Down {count} semitones"


def _best(is_best: bool) -> str | None:
    return "best" if is_best else None


def _row(take: ShownTake) -> str:
    scores = take["scores"]
    values = [_written(name, scores.get(name), scores.get("pitch_seconds")) for name, *_ in _COLUMNS]
    cells = "".join(f"<td>{value}</td>" for value in values)
    return f'<tr><th scope="row">Take {take["number"]}</th>{cells}</tr>'


def _written(name: str, value: float | None, pitch_seconds: float | None) -> str:
    if value is None:
        return _NOTHING
    if name == "pitch_accuracy" and pitch_seconds is not None:
        return f"{100 * value:.1f} % ({pitch_seconds:.1f} s)"
    if name in ("pitch_accuracy", "voicing_error"):
        return f"{100 * value:.1f} %"
    return f"{signed(value, 0)} dB" if name == "leak_db" else f"{value:.3f}"

"""A conversion in words and numbers."""

from collections.abc import Mapping, Sequence

from engine.conversion.settings import KEYS
from engine.texts import Numeral, joined, ntr, numeral, tr
from engine.voices.card import UNTRAINED
from studio.actions.conversions.takes import ResultView, ShownTake
from studio.page.parts.markup import markup
from studio.page.parts.numbers import signed
from studio.page.parts.progress_bar import time_left, time_taken, time_until

_NOTHING = "–"  # noqa: RUF001 - for what could not be measured
# score, title, meaning
_COLUMNS = (
    (
        "pitch_accuracy",
        tr("Pitch accuracy"),
        tr("Time within half a semitone of the target, and how much was compared. 100 % is best."),
    ),
    ("pitch_corr", tr("Melody"), tr("Correlation of the pitch curve with the recording's. 1 is best.")),
    ("voicing_error", tr("Voicing errors"), tr("Time voiced in only the recording or only the take. 0 % is best.")),
    (
        "leak_db",
        tr("Noise in pauses"),
        tr("Level where the recording is silent, relative to the voice. Lower is better."),
    ),
)


_DOUBLE = "unison"  # in no key
HARMONIES = {_DOUBLE: tr("Double"), "third_above": tr("Third above"), "third_below": tr("Third below")}
HARMONIES |= {"fifth_above": tr("Fifth above"), "octave_above": tr("Octave above"), "octave_below": tr("Octave below")}
_TITLES = {  # by style
    "melodic": tr("{file_name}, sung by {voice}"),
    "rhythmic": tr("{file_name}, rapped by {voice}"),
    "spoken": tr("{file_name}, spoken by {voice}"),
}


def heading(view: ResultView) -> str:
    """Return the title of a conversion and how it was made, as HTML."""
    facts = [shift_text(view.transpose)]
    if view.untrained:
        facts.append(UNTRAINED)
    if view.edited:
        facts.append(tr("edited"))
    voices = joined(tr(", "), [name for name, _ in view.parts] or [str(view.voice)])
    title = _TITLES[view.style or "melodic"].format(file_name=view.file_name, voice=voices)
    return f"<h2>{markup(title)}</h2><p>{markup(joined(tr(', '), facts))}</p>"


def octaves_text(view: ResultView) -> str | None:
    """Return that the voices of a song sing in different octaves, and what to do about it; None where they do not."""
    if len({semitones for _, semitones in view.parts}) < 2:
        return None
    keys = [joined(": ", (name, shift_text(semitones))) for name, semitones in view.parts]
    return tr(
        'The voices sing in different octaves ({keys}). For the same one, tick "{switch}" and convert again.',
        keys=joined(tr(", "), keys),
        switch=tr("Same octave for all voices"),
    )


def scores_table(takes: Sequence[ShownTake]) -> str:
    """Return the scores of takes as HTML."""
    head = "".join(f'<th scope="col" title="{markup(says)}">{markup(title)}</th>' for _, title, says in _COLUMNS)
    head = f'<th scope="col">{markup(tr("Take"))}</th>{head}'
    rows = "".join(_row(take) for take in takes)
    legend = "".join(f"<li><b>{markup(title)}</b><span>:</span> {markup(says)}</li>" for _, title, says in _COLUMNS)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table><ul>{legend}</ul>"


def progress_line(view: ResultView) -> str:
    """Return how far a conversion is that has not ended, in a line."""
    if view.is_ending:
        return tr("Cancelling")
    if view.state != "running":
        if not view.ahead:
            return tr("Starting")
        return joined(
            tr(", "), filter(None, [tr("Waiting: {ahead} ahead", ahead=view.ahead), time_until(view.starts_in_s)])
        )
    done = f"{100 * view.progress:.0f} %"
    time = time_left(view.left_s) or time_taken(view.taken_s)
    return joined(tr(", "), filter(None, [view.message or tr("converting"), done, time]))


def labelled(label: str, name: str, starred: bool) -> str:
    """Return the label of a take with the name and the star that the user gave it."""
    named = joined(": ", (label, name)) if name else label
    return joined(" ", (named, "\N{BLACK STAR}")) if starred else named


def stands_out(shares: Sequence[float | None]) -> bool:
    """Whether one of several takes keeps more of the melody than all others, as it is written."""
    written = sorted((round(100 * (share or 0.0)) for share in shares), reverse=True)
    return len(written) > 1 and written[0] > written[1]


def kept_note(share: float | None, is_best: bool, semitones: float = 0.0) -> str | None:
    """Return the note beside a take: its key, whether it is the best of several, its `fidelity`; None for none."""
    said = None if share is None else tr("{share} % of the melody kept", share=numeral(100 * share, ".0f"))
    return joined(" · ", filter(None, [shift_text(semitones) if semitones else None, _best(is_best), said])) or None


def kept_brief(share: float | None, is_best: bool, semitones: float = 0.0) -> str | None:
    """Return `kept_note` where there is little room: what may be cut off stands last."""
    said = None if share is None else f"{100 * share:.0f} %"
    return joined(" · ", filter(None, [brief_shift(semitones), said, _best(is_best)])) or None


def brief_shift(semitones: float | None) -> str:
    """Return a shift as a number with its sign; nothing for none."""
    return Numeral(f"{semitones:+g}".replace("-", "\N{MINUS SIGN}")) if semitones else ""


def shift_text(semitones: float | None) -> str:
    """Return a shift in words."""
    if not semitones:
        return tr("Same key")
    count = numeral(abs(semitones), "g")
    return (
        ntr("Up {count} semitone", "Up {count} semitones", count=count)
        if semitones > 0
        else ntr("Down {count} semitone", "Down {count} semitones", count=count)
    )


def harmony_text(settings: Mapping[str, object]) -> str:
    """Return which double or harmony these settings of a conversion sing, with its key if known; else nothing."""
    name, key = str(settings.get("harmony")), settings.get("harmony_key")
    if name not in HARMONIES or key not in KEYS or name == _DOUBLE:
        return HARMONIES.get(name, "")
    return tr("{harmony} in {key}", harmony=HARMONIES[name], key=key_text(str(key)))


def key_text(key: str) -> str:
    """Return one of KEYS in the language of the page."""
    note, mode = key.split()
    return tr("{note} major", note=note) if mode == "major" else tr("{note} minor", note=note)


def _best(is_best: bool) -> str | None:
    return tr("best") if is_best else None


def _row(take: ShownTake) -> str:
    scores = take.scores
    values = [_written(name, scores.get(name), scores.get("pitch_seconds")) for name, *_ in _COLUMNS]
    cells = "".join(f"<td>{markup(value)}</td>" for value in values)
    return f'<tr><th scope="row">{markup(tr("Take {number}", number=take.number))}</th>{cells}</tr>'


def _written(name: str, value: float | None, pitch_seconds: float | None) -> str:
    if value is None:
        return _NOTHING
    if name == "pitch_accuracy" and pitch_seconds is not None:
        return tr("{share} % ({seconds} s)", share=numeral(100 * value, ".1f"), seconds=numeral(pitch_seconds, ".1f"))
    if name in ("pitch_accuracy", "voicing_error"):
        return tr("{share} %", share=numeral(100 * value, ".1f"))
    return tr("{value} dB", value=signed(value, 0)) if name == "leak_db" else numeral(value, ".3f")

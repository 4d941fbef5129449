"""Settings: fields of a frozen dataclass with a range and a description, and the check of their values.

Page, service, command line and notebooks are built from these fields, so each setting is defined once.
"""

import inspect
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, field, fields
from numbers import Integral, Real
from typing import Any, TypeVar

from engine.errors import SettingsError
from engine.spelling import nearest
from engine.texts import tr

_S = TypeVar("_S")
_SHOWN = 100  # characters of a wrong value
_UNITS = {one: one for one in ("ms", "semitones", "s", "bpm", "kbps")} | {"db": "dB", "hertz": "Hz", "percent": "%"}


def setting(
    default: Any, minimum: float, maximum: float, meaning: str, words: tuple[str, ...] = (), step: float | None = None
) -> Any:
    """Define a numeric field: its default, its range (integer if the ends are), a one-line description, and the words
    accepted instead of a number. step: of sliders, if not one or a hundredth of the range."""
    metadata = {"minimum": minimum, "maximum": maximum, "meaning": meaning, "words": words}
    return field(default=default, metadata=metadata if step is None else {**metadata, "step": step})


def text_setting(default: str, meaning: str, words: tuple[str, ...] = ()) -> Any:
    """Define a one-line text field: its default, a one-line description, and the only words accepted, if any."""
    return field(default=default, metadata={"meaning": meaning, "words": words})


_TITLES = {"de_ess": tr("De-esser"), "denoise": tr("Noise reduction"), "middle_db": tr("Mid (dB)")}


def title_of(name: str) -> str:
    """Return the label of a setting.

    >>> title_of("formant_shift_semitones")
    'Formant shift (semitones)'
    """
    if name in _TITLES:
        return _TITLES[name]
    words = name.split("_")
    unit = f" ({_UNITS[words.pop()]})" if len(words) > 1 and words[-1] in _UNITS else ""
    title = " ".join(words).capitalize() + unit
    return tr(title)  # the extraction makes titles too


def with_ranges(settings: type[_S]) -> type[_S]:
    """Add the settings of a dataclass to its docstring, with their ranges: `help` and editors show them.

    >>> from dataclasses import dataclass
    >>> @with_ranges
    ... @dataclass(frozen=True)
    ... class Echo:
    ...     "How it echoes."
    ...     delay_ms: float = setting(80.0, 0.0, 500.0, "When it comes.")
    >>> Echo.__doc__.splitlines()[-2:]
    ['delay_ms : float, 0.0 to 500.0, by default 80.0', '    When it comes.']
    """
    text, mark, examples = inspect.cleandoc(settings.__doc__ or "").partition("Examples\n--------\n")
    lines = [line for one in fields(settings) for line in _lines_on(one)]  # type: ignore[arg-type]
    before = text.rstrip() if "Parameters\n" in text else f"{text.rstrip()}\n\nParameters\n----------"
    settings.__doc__ = "\n".join([before, *lines]) + (f"\n\n{mark}{examples}" if mark else "")
    return settings


def _lines_on(one: Field[object]) -> list[str]:
    """Return what a NumPy section says of one setting; nothing of a field that is none."""
    if not one.metadata:
        return []
    words, lowest, highest = one.metadata["words"], one.metadata.get("minimum"), one.metadata.get("maximum")
    kind = "int" if isinstance(lowest, int) else "float"
    said = [
        *([] if lowest is None else [tr("{kind}, {lowest} to {highest}", kind=kind, lowest=lowest, highest=highest)]),
        *words,
    ]
    default = "" if one.default is MISSING else tr(", by default {default}", default=one.default)
    meaning = textwrap.wrap(one.metadata["meaning"], 100, initial_indent="    ", subsequent_indent="    ")
    return [f"{one.name} : {' or '.join(said) or 'str'}{default}", *meaning]


@dataclass(frozen=True)
class Limits:
    """What a setting may be: a number from minimum to maximum, or one of the words; without a range only these."""

    words: tuple[str, ...] = ()
    minimum: float | None = None
    maximum: float | None = None


def limits_of(one: Field[object]) -> Limits:
    """Return the limits of a setting."""
    return Limits(one.metadata["words"], one.metadata.get("minimum"), one.metadata.get("maximum"))


def from_values(settings: Callable[..., _S], values: Mapping[str, object]) -> _S:
    """Return settings with these values by name, which they check themselves; the others have their defaults.

    Raises SettingsError for a value out of range, TypeError for a name that they do not have.
    """
    return settings(**values)


def refuse_unknown(settings: type[Any], names: Iterable[str]) -> None:
    """Raise SettingsError for the first name, in alphabetical order, that is no field of these settings."""
    if unknown := sorted(set(names) - {one.name for one in fields(settings)}):
        wrong = unknown[0][:_SHOWN]
        if meant := nearest(wrong, [one.name for one in fields(settings)]):
            raise SettingsError(
                tr("There is no setting '{unknown}': did you mean {meant}?", unknown=wrong, meant=meant)
            )
        raise SettingsError(tr("There is no setting '{unknown}'.", unknown=wrong))


def check_settings(settings: Any) -> None:
    """Raise SettingsError, naming the setting and its range, for the first value outside it.

    Fields not made by `setting` or `text_setting` are left to their class.
    """
    for one in fields(settings):
        if not one.metadata:
            continue
        check = _check if "minimum" in one.metadata else _check_text
        check(one.name, getattr(settings, one.name), one.metadata)


def _check_text(name: str, value: Any, metadata: Any) -> None:
    words = metadata["words"]
    if words and value not in words:
        raise SettingsError(
            tr(
                "{name} must be one of {words}, not {value}.",
                name=name,
                words=", ".join(words),
                value=str(value)[:_SHOWN],
            )
        )
    if not isinstance(value, str) or not value.isprintable():
        raise SettingsError(tr("{name} must be a line of text.", name=name))


def _check(name: str, value: Any, metadata: Any) -> None:
    if isinstance(value, str) and value in metadata["words"]:
        return
    lowest, highest = metadata["minimum"], metadata["maximum"]
    whole = isinstance(lowest, int)
    right_kind = isinstance(value, Integral if whole else Real)
    if isinstance(value, bool) or not right_kind or not lowest <= value <= highest:  # which no NaN is
        shown = f'"{value[:_SHOWN]}"' if isinstance(value, str) else str(value)[:_SHOWN]
        raise SettingsError(out_of_range(name, (lowest, highest), metadata["words"], shown))


def out_of_range(name: str, limits: tuple[float, float], words: Sequence[str], value: str) -> str:
    """Return the sentence about a value that is not in the range of a setting; whole numbers if the limits are."""
    lowest, highest = limits
    if not isinstance(lowest, int):
        if words:
            return tr(
                "{name} must be a number from {lowest} to {highest}, or {words}, not {value}.",
                name=name,
                lowest=lowest,
                highest=highest,
                words=_listed(words),
                value=value,
            )
        return tr(
            "{name} must be a number from {lowest} to {highest}, not {value}.",
            name=name,
            lowest=lowest,
            highest=highest,
            value=value,
        )
    if words:
        return tr(
            "{name} must be a whole number from {lowest} to {highest}, or {words}, not {value}.",
            name=name,
            lowest=lowest,
            highest=highest,
            words=_listed(words),
            value=value,
        )
    return tr(
        "{name} must be a whole number from {lowest} to {highest}, not {value}.",
        name=name,
        lowest=lowest,
        highest=highest,
        value=value,
    )


def _listed(words: Sequence[str]) -> str:
    if len(words) == 1:
        return tr("the word {words}", words=words[0])
    return tr("one of the words {words}", words=", ".join(words))

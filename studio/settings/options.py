"""A settings dataclass as command-line options, and back: range and help come from the metadata of its fields."""

import functools
import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import Field, fields, replace
from typing import TYPE_CHECKING, Annotated, Literal, TypeVar, get_args, get_origin, get_type_hints

import typer
from typer.models import OptionInfo

from engine.errors import SettingsError
from engine.texts import joined, tr

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

S = TypeVar("S", bound="DataclassInstance")
Kinds = tuple[object, ...]  # of a field
# what the help says after the meaning
DEFAULT = tr("(Default: {default}.)")
OR_THE_PRESETS = tr("(Default: {default}, or the preset's.)")
BY_STYLE = tr("(Default: {default}; {melodic} for singing; or the preset's.)")
OR_THE_ENVIRONMENTS = tr("(Default: {default}, or the environment's.)")
DeviceOption = Annotated[
    str,
    typer.Option(metavar="auto|cpu|cuda|cuda:1|mps", help=tr("The device to compute on; auto uses a GPU that works.")),
]
_WIDEST_SHAPE = 40  # characters, beside which help still has a column
_MOST_LISTED = 12  # words of an option


def option(shape: str | None, meaning: str, *flags: str, panel: str | None = None) -> OptionInfo:
    """Return an option for a value of this shape, None for a flag; in a panel of the help, by default that of all."""
    made: OptionInfo = typer.Option(*flags, metavar=shape, help=meaning, rich_help_panel=panel)
    return made


def setting_options(settings: type["DataclassInstance"], panel: str, default: str = DEFAULT) -> list[inspect.Parameter]:
    """Return one option per setting of the dataclass `settings`, None if left out; fields without metadata have none.
    default: what the help says of a default."""
    kinds = _kinds(settings)
    return [_option(settings, field, kinds[field.name], panel, default) for field in fields(settings) if field.metadata]


def with_options(command: Callable[..., None], options: Sequence[inspect.Parameter]) -> Callable[..., None]:
    """Give `command(..., **given)` a signature that typer can read, with `options` in place of `given`."""
    signature = inspect.signature(command)
    own = [parameter for parameter in signature.parameters.values() if parameter.kind is not parameter.VAR_KEYWORD]

    @functools.wraps(command)
    def complete(**values: object) -> None:
        command(**values)

    complete.__signature__ = signature.replace(parameters=[*own, *options])  # type: ignore[attr-defined]
    complete.__annotations__ = {parameter.name: parameter.annotation for parameter in (*own, *options)}
    return complete


def read_settings(base: S, given: Mapping[str, str | None]) -> S:
    """Replace values of `base`, a settings dataclass, by those given as text. Raises SettingsError."""
    kinds = _kinds(type(base))
    chosen = {name: _value(name, text, kinds[name]) for name, text in given.items() if text is not None}
    return replace(base, **chosen)


def _listed(words: Sequence[str]) -> str:
    """Return words as a help lists them: of very many the first and the last."""
    return ", ".join(words) if len(words) <= _MOST_LISTED else f"{', '.join(words[:3])} ... {words[-1]}"


def _option(
    settings: type["DataclassInstance"], field: Field[object], kinds: Kinds, panel: str, default: str
) -> inspect.Parameter:
    meaning, words = field.metadata["meaning"], _words(kinds) or field.metadata.get("words", ())
    shape = "|".join([*_range(field), *words]) or "TEXT"
    if len(shape) > _WIDEST_SHAPE:
        shape, meaning = "NAME", joined(" ", (meaning, f"({_listed(words)})"))
    if field.default != "":
        meaning = joined(" ", (meaning, _default(field, settings, default)))
    option = typer.Option(_flag(field.name), metavar=shape, help=meaning, show_default=False, rich_help_panel=panel)
    return inspect.Parameter(
        field.name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[str | None, option]
    )


def _default(field: Field[object], settings: type["DataclassInstance"], default: str) -> str:
    """Return what is said of a default: where singing has another one than the rest, that too."""
    melodic = getattr(getattr(settings, "presets", {}).get("melodic"), field.name, field.default)
    if melodic != field.default:
        return BY_STYLE.format(default=field.default, melodic=melodic)
    return default.format(default=field.default)


def _range(field: Field[object]) -> list[str]:
    return [f"{field.metadata['minimum']}..{field.metadata['maximum']}"] if "minimum" in field.metadata else []


def _value(name: str, text: str, kinds: Kinds) -> int | float | str:
    words = _words(kinds)
    if text in words or kinds == (str,):
        return text
    number: type[int] | type[float] = float if float in kinds else int
    try:
        value: float = number(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise SettingsError(not_a_number(_flag(name), text, number is float, " or ".join(map(repr, words))))
    return value


def not_a_number(flag: str, text: str, is_fraction: bool, words: str = "") -> str:
    """Return the sentence about an option whose value is no number, nor one of the words, if it takes any."""
    if is_fraction and words:
        return tr("{flag} takes a number or {words}, not '{text}'.", flag=flag, words=words, text=text)
    if is_fraction:
        return tr("{flag} takes a number, not '{text}'.", flag=flag, text=text)
    if words:
        return tr("{flag} takes a whole number or {words}, not '{text}'.", flag=flag, words=words, text=text)
    return tr("{flag} takes a whole number, not '{text}'.", flag=flag, text=text)


def _flag(name: str) -> str:
    return "--" + name.replace("_", "-")


def _kinds(settings: type["DataclassInstance"]) -> dict[str, Kinds]:
    """Return the types of each field: (float,) or (int, Literal['auto'])."""
    return {name: get_args(hint) or (hint,) for name, hint in get_type_hints(settings).items()}


def _words(kinds: Kinds) -> list[str]:
    return [word for kind in kinds if get_origin(kind) is Literal for word in get_args(kind)]

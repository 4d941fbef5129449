"""Actions on the page as the equivalent calls of the service."""

import json
import shlex
from collections.abc import Iterator
from dataclasses import Field, fields, replace

from engine.conversion.settings import AUTO, ConversionSettings
from engine.effects.settings import OFF
from engine.settings import Limits, limits_of
from engine.texts import ntr, tr
from studio.store.accounts import Account
from studio.store.kinds import CONVERSION, TRAINING
from studio.store.records.conversion import Conversion, Song
from studio.store.records.voices import Training
from studio.store.studio import Studio
from studio.store.tasks import Task, list_tasks

ORIGIN = "{origin}"  # filled in by the browser
_LOOKED_AT = 20  # tasks searched for the newest that the service has a call for
_TOKEN = '-H "Authorization: Bearer $TOKEN"'  # noqa: S105
_SEAM = " \\\n  "  # continues a line of shell
PUBLISHED_SETTINGS = {"transpose": "transpose", "takes": "generations_count"}  # field: name in the published API
_PUBLISHED_RANGES = {"transpose": (-12, 12)}  # of fields that may have more elsewhere
_PUBLISHED_DEFAULTS = {"transpose": 0}  # of fields that have others elsewhere
_SETTINGS = {one.name: one for one in fields(ConversionSettings)}
_UNFIT = (
    tr("The call of the service takes only whole numbers from -12 to 12 for transpose, not {value}: "
    "convert on the page, or with the command convert.")
)


def last_call(studio: Studio, account: Account) -> dict[str, str] | None:
    """Describe the last action and the curl lines that repeat it; None before the first one.

    ORIGIN stands for the service's address where the settings do not give it, $TOKEN for the token.
    """
    for task in list_tasks(studio.database, account.id, limit=_LOOKED_AT)[0]:
        if lines := list(_lines(task, studio.base_url(ORIGIN))):
            return {"what": _what(task), "command": "\n".join(lines)}
    return None


def published_limits(one: "Field[object]") -> Limits:
    """Return the limits of a setting of conversions as the call takes it: published fields keep their whole numbers
    and limits."""
    if one.name not in PUBLISHED_SETTINGS:
        return limits_of(one)
    lowest, highest = _PUBLISHED_RANGES.get(one.name, (int(one.metadata["minimum"]), int(one.metadata["maximum"])))
    return replace(limits_of(one), minimum=lowest, maximum=highest)


def published_default(one: "Field[object]") -> int | float | None:
    """Return the value of a setting of conversions that a call without it has; None for one that is no number."""
    default = _PUBLISHED_DEFAULTS.get(one.name, one.default)
    return default if isinstance(default, int | float) else None


def _lines(task: Task, base_url: str) -> Iterator[str]:
    if task.kind == CONVERSION:
        asked = task.asked_as(Conversion)
        if asked.edit is None and asked.comp is None:
            yield from _conversion_lines(task, asked, base_url)
    if task.kind == TRAINING:
        epochs = task.asked_as(Training).epochs
        yield _SEAM.join([f"curl -X POST {base_url}/models/{task.model_id}/train", _TOKEN, _field("epochs", epochs)])


def _conversion_lines(task: Task, asked: Conversion, base_url: str) -> Iterator[str]:
    fields = [_file("audio", asked.file_name or "recording.wav"), _field("model", task.model_id)]
    fields += [_field("untrained", "true")] if asked.untrained else []
    fields += [_field("preset", asked.preset)] if asked.preset != AUTO else []
    effects = asked.effects if isinstance(asked.effects, str) else json.dumps(asked.effects)
    fields += [_field("effects", effects)] if effects != OFF else []
    settings = {name: _written(name, value) for name, value in asked.settings.items()}
    fields += [_field(PUBLISHED_SETTINGS.get(name, name), value) for name, value in settings.items()]
    fields += _song_fields(asked.song)
    if settings.get("transpose", 0) is None:
        yield "# " + _UNFIT.format(value=asked.settings["transpose"])
    else:
        yield _SEAM.join([f"curl -X POST {base_url}/convert", _TOKEN, *fields])
    yield _SEAM.join([f"curl {base_url}/check-task/{task.id}", _TOKEN])


def _written(name: str, value: int | float | str) -> int | float | str | None:
    """Return a setting as the call takes it, None if it takes no such value; sliders give 2.0 for 2."""
    if isinstance(value, str) or name not in _SETTINGS:
        return value
    limits = published_limits(_SETTINGS[name])
    if not isinstance(limits.minimum, int) or limits.maximum is None:
        return value
    return int(value) if limits.minimum <= value <= limits.maximum and value == int(value) else None


def _song_fields(song: Song | None) -> Iterator[str]:
    if song is None:
        return
    yield from (_file(name, file_name) for name, file_name in song.names.items())
    yield from [_field("separate", "true")] if song.separate else []
    yield from [_field("offset", song.offset_s)] if song.offset_s is not None else []
    for name, parts in (("parts", song.parts), ("stem_parts", song.stem_parts)):
        yield _field(name, ", ".join(f"{part.start_s:g} {part.voice}" for part in parts))
    yield from (_field(f"{lane}_db", level) for lane, level in song.faders.items())


def _what(task: Task) -> str:
    if task.kind == TRAINING:
        return ntr(
            "Training {model_id} for {epochs} epoch",
            "Training {model_id} for {epochs} epochs",
            epochs=task.asked_as(Training).epochs, model_id=task.model_id,
        )
    value = task.asked_as(Conversion).file_name or "a recording"
    return tr("Converting {value} to {model_id}", value=value, model_id=task.model_id)


def _field(name: str, value: object) -> str:
    return f"-F {shlex.quote(f'{name}={value}')}"


def _file(name: str, file_name: str) -> str:
    """Quote a file to send: curl reads everything up to the closing quote as its name."""
    escaped = file_name.replace("\\", "\\\\").replace('"', '\\"')
    return "-F " + shlex.quote(f'{name}=@"{escaped}"')

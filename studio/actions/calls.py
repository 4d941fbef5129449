"""Actions on the page as the equivalent calls of the service."""

import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import Field, asdict, fields, replace

from engine.audio.result_format import PUBLISHED, ResultFormat
from engine.conversion.settings import ConversionSettings
from engine.effects.settings import OFF
from engine.settings import Limits, limits_of
from engine.songs.alignment import LARGEST_GIVEN_S
from engine.songs.parts import Part, clock
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
LONGEST_PARTS = 4000  # characters of a field of parts
_UNFIT = tr(
    "The HTTP call takes only whole numbers from -12 to 12 for transpose, not {value}: convert on the page, or with "
    "the command convert."
)
_ONE_STEM = tr("The HTTP call takes one second singer: convert several with the command convert.")
_FAR_OFFSET = tr("The HTTP call takes no offset of more than 600 s: convert on the page.")
_MANY_PARTS = tr("These are more parts than the HTTP call takes: convert on the page.")
_OWN_TRAINING = tr("The HTTP call does not take {names}: train on the page, or with the command train.")
_PART = tr("This is {name} from {start} on: cut it there first.")


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
        if asked.edit is None and asked.comp is None and asked.live is None:
            yield from _conversion_lines(task, asked, base_url)
    if task.kind == TRAINING:
        yield _training_line(task, task.asked_as(Training), base_url)


def _training_line(task: Task, asked: Training, base_url: str) -> str:
    if asked.settings:
        return "# " + _OWN_TRAINING.format(names=", ".join(asked.settings))
    return _SEAM.join([f"curl -X POST {base_url}/models/{task.model_id}/train", _TOKEN, _field("epochs", asked.epochs)])


def _conversion_lines(task: Task, asked: Conversion, base_url: str) -> Iterator[str]:
    settings = {name: _written(name, value) for name, value in {**_UNLIKE_THE_CALL, **asked.settings}.items()}
    if reason := _unfit(asked, settings):
        yield "# " + reason
    else:
        if asked.start_s:
            yield "# " + _PART.format(name=" ".join(asked.file_name.split()), start=clock(asked.start_s))
        fields = [_file("audio", asked.file_name or "recording.wav"), _field("model", task.model_id)]
        fields += _changed_fields(asked)
        effects = asked.effects if isinstance(asked.effects, str) else json.dumps(dict(asked.effects))
        fields += [_field("effects", effects)] if effects != OFF else []
        fields += [_field(PUBLISHED_SETTINGS.get(name, name), value) for name, value in settings.items()]
        fields += _form_fields(asked.form or PUBLISHED)
        fields += _song_fields(asked.song)
        yield _SEAM.join([f"curl -X POST {base_url}/convert", _TOKEN, *fields])
    yield _SEAM.join([f"curl {base_url}/check-task/{task.id}", _TOKEN])


def _unfit(asked: Conversion, settings: Mapping[str, object]) -> str:
    """Return why the call cannot repeat a conversion; empty if it can."""
    song = asked.song
    if settings["transpose"] is None:
        return _UNFIT.format(value=asked.settings["transpose"])
    if song is None:
        return ""
    if song.more_stem_parts:
        return _ONE_STEM
    if abs(song.offset_s or 0.0) > LARGEST_GIVEN_S:
        return _FAR_OFFSET
    return _MANY_PARTS if max(map(len, map(_parts_text, (song.parts, song.stem_parts)))) > LONGEST_PARTS else ""


def _written(name: str, value: int | float | str) -> int | float | str | None:
    """Return a setting as the call takes it, None if it takes no such value; sliders give 2.0 for 2."""
    if isinstance(value, str) or name not in _SETTINGS:
        return value
    limits = published_limits(_SETTINGS[name])
    if not isinstance(limits.minimum, int) or limits.maximum is None:
        return value
    return int(value) if limits.minimum <= value <= limits.maximum and value == int(value) else None


def _changed_fields(asked: Conversion) -> Iterator[str]:
    """Yield what a call needs beside its settings: all that is not as a call without it has it."""
    for name in Conversion.of_the_call:
        value = getattr(asked, name)
        if value != getattr(Conversion, name):
            yield _field(name, json.dumps(value) if isinstance(value, bool) else value)


def _form_fields(form: ResultFormat) -> Iterator[str]:
    """Yield what a call needs for files of another form than it gives by itself."""
    published = asdict(PUBLISHED)
    yield from (_field(name, value) for name, value in asdict(form).items() if value != published[name])


def _song_fields(song: Song | None) -> Iterator[str]:
    if song is None:
        return
    yield from (_file(name, file_name) for name, file_name in song.names.items())
    yield from [_field("separate", "true")] if song.separate else []
    yield from [_field("offset", song.offset_s)] if song.offset_s is not None else []
    yield _field("parts", _parts_text(song.parts))
    yield _field("stem_parts", _parts_text(song.stem_parts))
    yield from (_field(f"{lane}_db", level) for lane, level in song.faders.items())


def _parts_text(parts: Sequence[Part]) -> str:
    times = (f"{part.start_s:.3f}".rstrip("0").rstrip(".") for part in parts)
    return ", ".join(f"{time} {part.voice}" for time, part in zip(times, parts, strict=True))


def _what(task: Task) -> str:
    if task.kind == TRAINING:
        return ntr(
            "Training {model_id} for {epochs} epoch",
            "Training {model_id} for {epochs} epochs",
            epochs=task.asked_as(Training).epochs,
            model_id=task.model_id,
        )
    value = task.asked_as(Conversion).file_name or "a recording"
    return tr("Converting {value} to {model_id}", value=value, model_id=task.model_id)


# settings whose default in the call is another than everywhere else
_UNLIKE_THE_CALL: Mapping[str, int | float | str] = {
    name: str(one.default) for name in PUBLISHED_SETTINGS if (one := _SETTINGS[name]).default != published_default(one)
}


def _field(name: str, value: object) -> str:
    return f"-F {shlex.quote(f'{name}={value}')}"


def _file(name: str, file_name: str) -> str:
    """Quote a file to send: curl reads everything up to the closing quote as its name."""
    file_name = "./-" if file_name == "-" else file_name  # which alone is what curl is given
    escaped = file_name.replace("\\", "\\\\").replace('"', '\\"')
    return "-F " + shlex.quote(f'{name}=@"{escaped}"')

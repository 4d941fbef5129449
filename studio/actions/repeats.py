"""Convert recordings that are already here: analysed ones, and converted ones with another voice."""

from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

from engine.audio.stems import cut_recording
from engine.conversion.settings import AUTO
from engine.effects.settings import OFF, Effects
from engine.texts import tr
from studio.actions.analyses import start_analysis, taken_recording
from studio.actions.arrivals import borrowed
from studio.actions.conversions import ConversionRequest, start_conversion
from studio.actions.names import name_of_take
from studio.actions.recordings import Origin, origin_of
from studio.actions.songs import song_again
from studio.errors import NotFound
from studio.store.accounts import Account
from studio.store.kinds import CONVERSION
from studio.store.records.conversion import Conversion, Rendered
from studio.store.studio import Studio
from studio.store.tasks import Task, find

_GONE = tr("Its recording has been deleted: add it again.")


def convert_recording(
    studio: Studio,
    account: Account,
    recording: str,
    *,
    model: str,
    settings: Mapping[str, Any],
    preset: str = AUTO,
    effects: Effects = OFF,
    stretch: tuple[float, float] | None = None,
) -> str:
    """Queue the conversion of an analysed recording; return the task's id.

    The voice may be untrained. recording: the id of its analysis. stretch: the part to convert, in seconds; default:
    all of it. Raises NotFound, SettingsError for an invalid stretch, and what `start_conversion` raises.
    """
    with taken_recording(studio, account, recording) as (copy, file_name, origin):
        if stretch is not None:
            cut = copy.with_name("cut.wav")
            cut_recording(copy, cut, *stretch)
            copy, file_name, origin = cut, f"{PurePath(file_name).stem}.wav", origin.from_second(stretch[0])
        request = ConversionRequest(model, settings, preset, untrained=True, effects=effects)
        return start_conversion(studio, account, copy, file_name, request, origin=origin)


def convert_again(studio: Studio, account: Account, task_id: str, model: str | None = None) -> str:
    """Queue a conversion again with the settings it was started with, optionally with another voice.

    The voice may be untrained. Returns the new task's id. Raises NotFound, also if the recording has been deleted, and
    what `start_conversion` raises.
    """
    task = find(studio.database, account.id, task_id, kind=CONVERSION)
    asked = task.asked_as(Conversion)
    with borrowed(studio, asked.input_key, _GONE) as copy, song_again(studio, task, model) as song:
        request = ConversionRequest(
            model or task.model_id or "", asked.settings, asked.preset, True, asked.effects, song
        )  # fmt: skip
        return start_conversion(studio, account, copy, asked.file_name, request, origin=_origin(task))


def look_at_recording(studio: Studio, account: Account, task_id: str) -> str:
    """Analyse the recording of a conversion; return the id of the analysis. Raises NotFound, TooMany."""
    task = find(studio.database, account.id, task_id, kind=CONVERSION)
    asked = task.asked_as(Conversion)
    with borrowed(studio, asked.input_key, _GONE) as copy:
        return start_analysis(studio, account, copy, asked.file_name, _origin(task))


def look_at_take(studio: Studio, account: Account, task_id: str, take: int) -> str:
    """Analyse a take of a conversion; return the id of the analysis. Raises NotFound, TooMany.

    take: 1 for the first.
    """
    task = find(studio.database, account.id, task_id, kind=CONVERSION)
    key = key_of_take(task, take)
    name = name_of_take(studio.database, account, task, take, PurePath(key).suffix[1:])
    with borrowed(studio, key, _GONE) as copy:
        return start_analysis(studio, account, copy, name)


def _origin(task: Task) -> Origin | None:
    """Return the origin of a conversion's recording; one of an earlier version is a project by itself."""
    return origin_of(task.asked_as(Conversion)) or (Origin(task.recording) if task.recording else None)


def key_of_take(task: Task, take: int, dry: bool = False) -> str:
    """Return the storage key of a take, 1 for the first; dry: without its effects. Raises NotFound."""
    rendered = task.result_as(Rendered)
    outputs = rendered.dry if dry and rendered.dry is not None else rendered.outputs
    if not 1 <= take <= len(outputs):
        raise NotFound(tr("There is no such take."), "take_not_found")
    return outputs[take - 1]

"""Convert a recording: checked and stored at once, converted by a worker."""

import secrets
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import Connection

from engine.audio.result_format import PUBLISHED, ResultFormat
from engine.conversion.settings import AUTO, by_style
from engine.effects.settings import OFF, Effects, effects_of, plain_effects
from engine.progress import Report
from studio.actions.consent import refuse_without_consent
from studio.actions.recordings import (
    Origin,
    check_recording,
    origin_of_file,
    refuse_too_costly,
    shown_name,
    suffix_of,
)
from studio.actions.rvc_models import refuse_without_contentvec
from studio.actions.songs import SongRequest, check_song, lane_links
from studio.errors import Invalid, TooMany
from studio.store.accounts import Account, account_prefix
from studio.store.catalogue import Model, find_usable
from studio.store.free_space import TAKE_BYTES, refuse_full_disk
from studio.store.idempotency import Idempotency, answered, once
from studio.store.studio import Studio
from studio.store.tasks import Task, find, submit, under_way, waiting_and_running
from studio.store.workspaces import untrained_folder, voice_folder

KIND = "conversion"
DEMO = "demo"  # account of the demo voices
_QUEUE_RETRY_S = 10.0
_FULL_RETRY_S = 120.0
_NO_LINKS_AFTER = "Its recording and its takes have been deleted."


@dataclass(frozen=True)
class ConversionRequest:
    """The voice and the settings of a conversion.

    settings: fields of ConversionSettings; omitted ones come from the preset, or with `auto` from the preset for the
    recording's style. untrained: whether a voice without a training is accepted; a trained voice ignores it.
    effects: the name of a preset of EffectSettings, or its fields. song: what else to make of it, if anything.
    form: of the takes' files; a song's are all of the published form.
    """

    model: str
    settings: Mapping[str, Any]
    preset: str = AUTO
    untrained: bool = False
    effects: Effects = OFF
    song: SongRequest | None = None
    form: ResultFormat = PUBLISHED


def start_conversion(
    studio: Studio,
    account: Account,
    audio: Path,
    file_name: str,
    request: ConversionRequest,
    *,
    origin: Origin | None = None,
    idempotency: Idempotency | None = None,
    request_id: str | None = None,
) -> str:
    """Move a recording into the storage and queue its conversion; return the task's id.

    origin: what the recording is a part or a copy of; by default it is a recording of its own.

    Raises SettingsError for a setting out of range, NotFound for an unknown voice, WrongState for an untrained one,
    NotReadable for a file that is not audio, Invalid for a recording that is too long, TooMany, Unavailable, DiskFull;
    then nothing is left behind.
    """
    if known := answered(studio, account, idempotency):
        return str(known["task_id"])
    voice = check_request(studio, account, request)
    length = check_recording(audio, file_name, studio.service)
    takes, song = int(request.settings.get("takes", 1)), request.song
    refuse_too_costly(length, takes, studio.service)
    cost = length.channel_seconds * takes
    if song is not None:
        cost += check_song(studio, account, song, takes, not effects_of(request.effects).is_off, request.untrained)
    refuse_full_disk(studio, TAKE_BYTES * cost)
    task_id = secrets.token_hex(12)
    place = f"{account_prefix(account)}tasks/{task_id}"
    input_key = f"{place}/input{suffix_of(file_name, audio)}"
    parameters = {
        "input_key": input_key,
        "file_name": shown_name(file_name),
        "format": "wav",
        "preset": request.preset,
        "settings": dict(request.settings),
        "effects": plain_effects(request.effects),
        "model_account": DEMO if voice.is_demo else account.id,
        "untrained": voice.is_untrained,
        **asdict(origin or origin_of_file(audio)),
        **({} if song is None else {"song": song.described(place)}),
        **({} if request.form == PUBLISHED else {"form": asdict(request.form)}),
    }

    def act(connection: Connection) -> dict[str, Any]:
        refuse_full_queue(studio, account, connection)
        submit(
            connection, account.id, KIND, parameters, model_id=request.model, cost=cost,
            task_id=task_id, request_id=request_id,
        )  # fmt: skip
        studio.submitted(connection, task_id)
        return {"task_id": task_id}

    kept = False
    try:
        studio.storage.put_file(audio, input_key)
        if song is not None:
            for name, key in song.keys(place).items():
                studio.storage.put_file(song.files[name].path, key)
        answer, kept = once(studio, account, idempotency, act)
    finally:
        if not kept:
            studio.storage.delete_below(place)
    studio.wake()
    return str(answer["task_id"])


def check_request(studio: Studio, account: Account, request: ConversionRequest) -> Model:
    """Check all that can be checked without the recording; return the voice. Raises as `start_conversion`."""
    by_style(request.preset, request.settings)
    effects_of(request.effects)
    if request.song is not None and request.form != PUBLISHED:
        raise Invalid([("rate", "A song is made at 44100 Hz with 24 bits: leave rate and bits out.")])
    voice = find_usable(studio.database, account, request.model, request.untrained)
    refuse_without_consent(studio, voice.card.get("consent"))
    refuse_without_contentvec(voice)
    return voice


def usable_voice_folder(studio: Studio, account: Account, model_id: str, report: Report, device: str) -> Path:
    """Return the folder of a voice that can convert; an untrained one is first made from its recordings.

    `report` may raise Cancelled; device: computes the untrained voice. Raises as `find_usable` and `untrained_folder`
    do.
    """
    model = find_usable(studio.database, account, model_id, untrained=True)
    refuse_without_consent(studio, model.card.get("consent"))
    refuse_without_contentvec(model)
    if model.is_untrained:
        return untrained_folder(studio.storage, account, model, report, device)
    return voice_folder(studio.storage, model)


def refuse_full_queue(studio: Studio, account: Account, connection: Connection) -> None:
    """Raise TooMany if the account, or all accounts together, have reached the limit of active conversions."""
    if under_way(connection, KIND) >= studio.service.waiting_at_most:
        raise TooMany("The queue is full: try again in a few minutes.", _FULL_RETRY_S, "queue_full")
    limit = studio.service.conversions_per_account
    if waiting_and_running(connection, account.id, KIND) >= limit:
        text = f"{limit} conversions are already queued or running: wait until some have finished."
        text += studio.service.raised_by("conversions_per_account")
        raise TooMany(text, _QUEUE_RETRY_S, "queue_full")


def conversion_view(studio: Studio, account: Account, task_id: str, base_url: str, now_s: float) -> dict[str, Any]:
    """Return the task exactly as the published interface shows it. Raises NotFound."""
    task = find(studio.database, account.id, task_id, kind=KIND)
    if task.state in ("queued", "running"):
        return {"status": "in_progress"}
    if task.state != "completed":
        return {"status": "failed"}
    result = task.result or {}
    return {
        "status": "completed",
        "input_audio_url": studio.link(task.parameters["input_key"], base_url, now_s),
        "output_audio_urls": [studio.link(key, base_url, now_s) for key in result["outputs"]],
        "output_settings": result["output_settings"],
        **lane_links(studio, task, base_url, now_s),
    }


def was_untrained(task: Task) -> bool:
    """Return whether a conversion used an untrained voice, or will unless the voice is trained by then."""
    return bool((task.result or {}).get("untrained", task.parameters.get("untrained", False)))


def audio_links(studio: Studio, task: Task, base_url: str, now_s: float) -> dict[str, Any]:
    """Return links to the recording and its takes; none once they have been deleted."""
    if task.outputs_deleted_at is not None:
        return {"input_audio_url": None, "output_audio_urls": [], "note": _NO_LINKS_AFTER}
    outputs = (task.result or {}).get("outputs", [])
    return {
        "input_audio_url": studio.link(task.parameters["input_key"], base_url, now_s),
        "output_audio_urls": [studio.link(key, base_url, now_s) for key in outputs],
        **lane_links(studio, task, base_url, now_s),
    }

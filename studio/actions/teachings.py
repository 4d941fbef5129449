"""Make an imported voice ours: it teaches a voice of this studio, which is faster and sings live.

queued here --> a worker lets it sing, stores the results as a voice with recordings --> an ordinary training
"""

import secrets
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from sqlalchemy import Connection

from engine.datasets.dataset import create_dataset
from engine.datasets.left_out import LeftOut
from engine.voices.card import new_identifier
from engine.voices.card_rules import RVC
from engine.voices.profile import forbids_derivatives
from studio.actions.arrivals import take, workplace
from studio.actions.consent import refuse_without_consent
from studio.actions.new_voices import checked_name
from studio.actions.recordings import check_recording
from studio.actions.rvc_models import refuse_without_contentvec
from studio.actions.voices import allowed_plan, refuse_too_many_trainings
from studio.errors import Invalid, TooMany, WrongState
from studio.settings.service import MEGABYTE
from studio.store.accounts import Account, account_prefix
from studio.store.catalogue import Model, find_usable, refuse_too_many
from studio.store.idempotency import Idempotency, answered, once
from studio.store.studio import Studio
from studio.store.tasks import submit, waiting_and_running

KIND = "teaching"
MOST_AT_ONCE = 2  # queued or running per account
_BUNDLED_S = 43.0  # of recordings that are always sung
_LATER_S = 60.0


@dataclass(frozen=True)
class TeachingRequest:
    """What an imported voice is to teach. name: of the new voice, by default its own. epochs: of the training that
    follows; 0 for none. recordings: a zip, or recordings, to sing besides the bundled ones."""

    name: str = ""
    epochs: int = 0
    recordings: Sequence[Path] = ()


def start_teaching(
    studio: Studio,
    account: Account,
    model_id: str,
    request: TeachingRequest,
    idempotency: Idempotency | None = None,
    request_id: str | None = None,
) -> str:
    """Queue a teaching by an imported voice; return the task's id.

    Raises NotFound, WrongState for a voice that is not imported, may not teach or lacks ContentVec, Invalid for a name,
    SettingsError for the epochs, NotReadable, DatasetError and ArchiveError for recordings, TooMany, DiskFull,
    Unavailable; then nothing is left behind.
    """
    if known := answered(studio, account, idempotency):
        return str(known["task_id"])
    teacher = find_usable(studio.database, account, model_id)
    refuse_teacher(studio, teacher)
    if request.epochs:
        allowed_plan(studio, request.epochs)
    name = checked_name(request.name.strip() or teacher.name)
    task_id = secrets.token_hex(12)
    place = f"{account_prefix(account)}tasks/{task_id}"

    def act(connection: Connection) -> dict[str, Any]:
        if waiting_and_running(connection, account.id, KIND) >= MOST_AT_ONCE:
            text = f"{MOST_AT_ONCE} imported voices are already teaching: wait until one has finished."
            raise TooMany(text, _LATER_S, "queue_full")
        refuse_too_many(connection, account.id, studio.service)
        if request.epochs:
            refuse_too_many_trainings(studio, waiting_and_running(connection, account.id, "training"))
        parameters = {"teacher": model_id, "name": name, "epochs": request.epochs, "sources": keys}
        parameters["left_out"] = [asdict(one) for one in left_out]
        submit(
            connection, account.id, KIND, parameters, model_id=model_id, cost=cost, task_id=task_id,
            request_id=request_id,
        )  # fmt: skip
        studio.submitted(connection, task_id)
        return {"task_id": task_id}

    kept = False
    try:
        keys, cost, left_out = _stored(studio, request.recordings, place)
        answer, kept = once(studio, account, idempotency, act)
    finally:
        if not kept:
            studio.storage.delete_below(place)
    studio.wake()
    return str(answer["task_id"])


def teach_from_upload(
    studio: Studio,
    account: Account,
    model_id: str,
    upload: tuple[Path, str] | None,
    request: TeachingRequest,
    idempotency: Idempotency | None = None,
    request_id: str | None = None,
) -> str:
    """Queue a teaching; upload: a file of recordings, whose own name says nothing, and the name that it had.

    Raises as `start_teaching`.
    """
    if upload is None:
        return start_teaching(studio, account, model_id, request, idempotency, request_id)
    path, file_name = upload
    with workplace(studio) as place:
        named = place / (new_identifier(Path(file_name).stem) + Path(file_name).suffix.lower())
        take(path, named)
        asked = replace(request, recordings=[named])
        return start_teaching(studio, account, model_id, asked, idempotency, request_id)


def refuse_teacher(studio: Studio, teacher: Model) -> None:
    """Raise WrongState unless this voice is imported, may teach another one, and can convert here."""
    if teacher.card.get("kind") != RVC:
        text = f"{teacher.name} is a voice of this studio already: only imported models of RVC can teach one."
        raise WrongState(text, "not_imported")
    if forbids_derivatives(licence := teacher.card.get("licence") or ""):
        text = f'The licence of {teacher.name}, "{licence}", allows no derivatives, and a voice that it teaches is one.'
        raise WrongState(text, "no_derivatives")
    refuse_without_consent(studio, teacher.card.get("consent"))
    refuse_without_contentvec(teacher)


def _stored(
    studio: Studio, recordings: Sequence[Path], place: str
) -> tuple[list[str], float, tuple[LeftOut, ...]]:
    """Store the user's recordings; return their keys, what all of it costs (seconds), and the files left out."""
    if not recordings:
        return [], _BUNDLED_S, ()
    keys, cost = [], _BUNDLED_S
    with workplace(studio) as folder:
        free = studio.service.free_disk_mb * MEGABYTE
        source = recordings[0] if len(recordings) == 1 else list(recordings)
        dataset = create_dataset(source, folder / "sources", {"name": "recordings"}, free)
        for number, path in enumerate(dataset.recordings, 1):
            cost += check_recording(path, path.name, studio.service).channel_seconds
            if cost > 3600 * studio.service.longest_dataset_hours:
                text = f"There are more than {studio.service.longest_dataset_hours:g} hours of recordings: give fewer."
                raise Invalid([("recordings", text)], "audio_too_long")
            keys.append(f"{place}/source-{number:03d}/{new_identifier(path.stem)}{path.suffix.lower()}")
            studio.storage.put_file(path, keys[-1])
    return keys, cost, dataset.left_out

"""Make an imported voice ours: it teaches a voice of this studio, which is faster and sings live.

queued here --> a worker lets it sing, stores the results as a voice with recordings --> an ordinary training
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from sqlalchemy import Connection

from engine.datasets.dataset import create_dataset
from engine.datasets.left_out import LeftOut
from engine.texts import ntr, numeral, tr
from engine.voices.card import new_identifier
from engine.voices.card_rules import RVC
from engine.voices.profile import forbids_derivatives
from studio.actions.arrivals import take, workplace
from studio.actions.consent import refuse_without_consent
from studio.actions.new_voices import checked_name
from studio.actions.recordings import check_recording
from studio.actions.rvc_models import refuse_without_contentvec
from studio.actions.submission import Work, new_task, refuse_full_queue, submit_work
from studio.actions.voices import allowed_plan
from studio.errors import Invalid, WrongState
from studio.settings.service import MEGABYTE
from studio.store.accounts import Account
from studio.store.catalogue import Model, find_usable, refuse_too_many
from studio.store.idempotency import Idempotency, answered
from studio.store.kinds import TEACHING, TRAINING
from studio.store.records.voices import Teaching
from studio.store.studio import Studio

_BUNDLED_S = 43.0  # of recordings that are always sung


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
    task = new_task(account)
    with workplace(studio) as folder:
        sources, cost, left_out = _sources(studio, request.recordings, folder)
        files = {f"{task.place}/{name}": path for name, path in sources.items()}
        asked = Teaching(model_id, name, request.epochs, tuple(files), left_out)
        return submit_work(
            studio,
            task,
            Work(TEACHING, asked, model_id, cost, request_id),
            files=files,
            idempotency=idempotency,
            check=lambda connection: _refuse_too_many(studio, account, connection, request.epochs),
        )


def _refuse_too_many(studio: Studio, account: Account, connection: Connection, epochs: int) -> None:
    refuse_too_many(connection, account.id, studio.service)
    if epochs:
        refuse_full_queue(studio, connection, account.id, TRAINING)


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
        text = tr(
            "{name} is a voice of this studio already: only imported models of RVC can teach one.",
            name=teacher.name,
        )
        raise WrongState(text, "not_imported")
    if forbids_derivatives(licence := teacher.card.get("licence") or ""):
        text = tr(
            'The licence of {name}, "{licence}", allows no derivatives, and a voice that it teaches is one.',
            name=teacher.name, licence=licence,
        )
        raise WrongState(text, "no_derivatives")
    refuse_without_consent(studio, teacher.card.get("consent"))
    refuse_without_contentvec(teacher)


def _sources(
    studio: Studio, recordings: Sequence[Path], folder: Path
) -> tuple[dict[str, Path], float, tuple[LeftOut, ...]]:
    """Return the user's recordings by the names they are stored under, what all of it costs (seconds), and the files
    left out."""
    if not recordings:
        return {}, _BUNDLED_S, ()
    free = studio.service.free_disk_mb * MEGABYTE
    source = recordings[0] if len(recordings) == 1 else list(recordings)
    dataset = create_dataset(source, folder / "sources", {"name": "recordings"}, free)
    sources, cost = {}, _BUNDLED_S
    for number, path in enumerate(dataset.recordings, 1):
        cost += check_recording(path, path.name, studio.service).channel_seconds
        if cost > 3600 * studio.service.longest_dataset_hours:
            text = ntr(
                "There are more than {longest_dataset_hours} hour of recordings: give fewer.",
                "There are more than {longest_dataset_hours} hours of recordings: give fewer.",
                longest_dataset_hours=numeral(studio.service.longest_dataset_hours, "g"),
            )
            raise Invalid([("recordings", text)], "audio_too_long")
        sources[f"source-{number:03d}/{new_identifier(path.stem)}{path.suffix.lower()}"] = path
    return sources, cost, dataset.left_out

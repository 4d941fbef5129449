"""Make voices of voices: blended, or taught by an imported one, by a worker."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from sqlalchemy import Connection

from engine.datasets.dataset import create_dataset
from engine.datasets.left_out import LeftOut
from engine.errors import ProfileError
from engine.texts import ntr, numeral, tr
from engine.voices.card import new_identifier
from engine.voices.card_rules import LONGEST_NAME, RVC
from engine.voices.profile import forbids_derivatives, read_profile
from studio.actions.recordings import check_recording, refuse_without_consent
from studio.actions.rvc_models import refuse_unconfined, refuse_without_contentvec
from studio.actions.submission import Work, new_task, refuse_full_queue, submit_work
from studio.actions.trainings.training import allowed_plan
from studio.actions.uploads import link_or_copy, scratch_folder
from studio.errors import Invalid, WrongState
from studio.settings.service import MEGABYTE
from studio.store.accounts import Account
from studio.store.catalogue import Model, find_usable, refuse_too_many
from studio.store.idempotency import Idempotency, answered
from studio.store.kinds import BLEND, TEACHING, TRAINING
from studio.store.records.voices import Blend, NewVoice, Teaching
from studio.store.studio import Cost, Studio, costs
from studio.store.tasks import ACTIVE, Task, find, list_tasks

_NEWEST = 4  # tasks of a kind; no more of them are active at once
_BUNDLED_S = 43.0  # of recordings that are always sung


@dataclass(frozen=True)
class NewVoiceView:
    """The state of such a task; model_id: the new voice once it exists."""

    task_id: str
    name: str
    state: str
    progress: float
    message: str
    error: str | None
    model_id: str | None

    @property
    def is_active(self) -> bool:
        """Return whether the task has not ended."""
        return self.state in ACTIVE


def checked_name(name: str) -> str:
    """Return a name that a voice can have. Raises Invalid."""
    try:
        return read_profile({"name": name}).name
    except ProfileError as cause:
        raise Invalid([("name", str(cause))]) from cause


def new_voice_view(studio: Studio, account: Account, kind: str, task_id: str) -> NewVoiceView:
    """Return the state of a task of this kind. Raises NotFound."""
    return _view(find(studio.database, account.id, task_id, kind=kind))


def active_new_voice(studio: Studio, account: Account, kind: str) -> NewVoiceView | None:
    """Return the account's newest task of a kind that is queued or running, for a page that has just been opened."""
    newest = list_tasks(studio.database, account.id, kind=kind, limit=_NEWEST)[0]
    return next((_view(task) for task in newest if task.state in ACTIVE), None)


def _view(task: Task) -> NewVoiceView:
    name = task.asked_as(Blend).name if task.kind == BLEND else task.asked_as(Teaching).name
    model_id = task.result_as(NewVoice).model_id if task.result else None
    return NewVoiceView(task.id, name, task.state, task.progress, task.message, task.error, model_id)


def start_blend(studio: Studio, account: Account, first: str, second: str, share: float, name: str = "") -> str:
    """Queue a blend with `share` (0..1) of the second voice and the rest of the first; return the task's id.

    name: defaults to both names. Raises NotFound, WrongState for an untrained voice, Invalid, TooMany.
    """
    voices = [find_usable(studio.database, account, model_id) for model_id in (first, second)]
    if first == second:
        raise Invalid([("second", tr("Choose two different voices."))])
    if not 0.0 <= share <= 1.0:
        raise Invalid([("share", tr("The share must be from 0 to 1, not {share}.", share=share))])
    name = name.strip() or " and ".join(voice.name for voice in voices)[:LONGEST_NAME].strip()
    return submit_work(
        studio,
        new_task(account),
        Work(BLEND, Blend(first, second, share, checked_name(name))),
        check=lambda connection: refuse_too_many(connection, account.id, studio.service),
    )


@dataclass(frozen=True)
class TeachingRequest:
    """What an imported voice is to teach. name: of the new voice, by default its own. epochs: of the training that
    follows; 0 for none. recordings: a zip, or recordings, to sing besides the bundled ones."""

    name: str = ""
    epochs: int = 0
    recordings: Sequence[Path] = ()


@costs(Cost.APART)
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
    with studio.database.read() as connection:  # before the recordings are looked at
        refuse_full_queue(studio, connection, account.id, TEACHING)
        _refuse_too_many(studio, account, connection, request.epochs)
    name = checked_name(request.name.strip() or teacher.name)
    task = new_task(account)
    with scratch_folder(studio) as folder:
        sources, cost, left_out = _sources(studio, request.recordings, folder)
        files = {f"{task.prefix}/{name}": path for name, path in sources.items()}
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


@costs(Cost.APART)
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
    with scratch_folder(studio) as scratch:
        named = scratch / (new_identifier(Path(file_name).stem) + Path(file_name).suffix.lower())
        link_or_copy(path, named)
        asked = replace(request, recordings=[named])
        return start_teaching(studio, account, model_id, asked, idempotency, request_id)


def refuse_teacher(studio: Studio, teacher: Model) -> None:
    """Raise WrongState unless this voice is imported, may teach another one, and can convert here."""
    if teacher.card.kind != RVC:
        text = tr(
            "{name} is a voice of this studio already: only imported RVC models can teach one.", name=teacher.name
        )
        raise WrongState(text, "not_imported")
    if forbids_derivatives(licence := teacher.card.licence or ""):
        text = tr(
            'The licence of {name}, "{licence}", allows no derivatives, and a voice that it teaches is one.',
            name=teacher.name,
            licence=licence,
        )
        raise WrongState(text, "no_derivatives")
    refuse_without_consent(studio, teacher.card.consent)
    refuse_without_contentvec(teacher)
    refuse_unconfined(studio, teacher.card.kind)


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

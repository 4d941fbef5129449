"""Show, train and delete the voices of an account."""

import json
from collections.abc import Mapping
from dataclasses import fields
from typing import Any, NotRequired, Unpack

from pydantic import BaseModel, ConfigDict
from sqlalchemy import Connection
from typing_extensions import TypedDict

from engine.datasets.dataset import LARGEST_MODEL_FILE, MODEL_FILE, TRAINING_FOLDER
from engine.errors import SettingsError
from engine.texts import from_data, numeral, tr
from engine.training.history import HISTORY_FILE, TRAINING_FORMAT
from engine.training.plan import TrainingPlan
from engine.voices.card import earlier_voice
from engine.voices.profile import TAUGHT_BY
from studio.actions.recordings import consent_origin
from studio.actions.rvc_models import missing_for
from studio.actions.submission import Work, queue_task
from studio.errors import NotFound, WrongState
from studio.store.accounts import Account
from studio.store.answers import Answer
from studio.store.catalogue import (
    COMPLETED,
    FAILED,
    TRAINING,
    Model,
    VoiceFilters,
    all_models,
    find_model,
    held_model,
    list_models,
    remove_model,
    tell_failure,
    training_begun,
    training_reached,
)
from studio.store.idempotency import Idempotency, once
from studio.store.kinds import REPORT
from studio.store.kinds import TRAINING as TRAINING_KIND
from studio.store.records.cards import PublishedVoice, ReportedData
from studio.store.records.voices import Training
from studio.store.studio import Studio
from studio.store.tasks import ACTIVE, Task, latest, latest_in, waiting_and_running
from studio.store.workspaces import refuse_busy

_LARGEST_HISTORY = 64 << 20  # bytes
_BEING_TRAINED = tr("The voice '{voice}' is being trained: wait until it has finished, or cancel it in the history.")
_BEING_EXAMINED = tr("The voice '{voice}' is being examined: wait until it has finished, or cancel it in the history.")


class _Scores(BaseModel):
    """Some of those of a training; see `engine.training.checkpoint_audition`."""

    model_config = ConfigDict(allow_inf_nan=False)

    likeness: float
    content: float
    score: float


class _TaughtBy(BaseModel):
    """The imported voice: anybody's model.json may have something else under this name."""

    name: str
    file: str
    sha256: str = ""
    scores: _Scores | None = None


class EpochLine(TypedDict):
    """An epoch of a training; the others of its fields are mean losses."""

    epoch: int
    seconds: float
    envelope: NotRequired[float | None]
    taken: NotRequired[float | None]
    kept: NotRequired[float | None]


class EvaluationLine(TypedDict):
    """An evaluation of a training, with its scores."""

    epoch: int
    folder: str
    seconds: float
    score: float
    likeness: NotRequired[float | None]
    content: NotRequired[float | None]
    mel_distance: NotRequired[float | None]
    pitch_error_cents: NotRequired[float | None]


class TrainingEvent(TypedDict):
    """Something that the user is told of a training."""

    epoch: int
    text: str


class TimedTraining(TypedDict):
    """An `engine.training.history.Estimate`."""

    epoch_s: float
    evaluation_s: float
    total_s: float
    epochs_apart: NotRequired[int]
    setup_s: NotRequired[float]


class HistoryLines(TypedDict):
    """A training as its history.json has it; see `engine.training.history.TrainingHistory`."""

    state: str
    ceiling: int
    epochs: list[EpochLine]
    evaluations: list[EvaluationLine]
    events: list[TrainingEvent]
    best_epoch: NotRequired[int | None]
    estimate: NotRequired[TimedTraining | None]


class TaughtBy(TypedDict):
    """The imported voice that taught another."""

    name: str
    file: str
    sha256: str
    scores: NotRequired[Mapping[str, float]]


def taught_by(studio: Studio, model: Model) -> TaughtBy | None:
    """Return the imported voice that taught this one: `name`, `file`, `sha256`, and `scores`; None if none did."""
    if model.dataset_key is None:
        return None
    try:
        text = b"".join(studio.storage.read(f"{model.dataset_key}/{MODEL_FILE}", 0, LARGEST_MODEL_FILE))
        found = _TaughtBy.model_validate(json.loads(text)[TAUGHT_BY])
    except (NotFound, ValueError, KeyError, TypeError):
        return None
    taught: TaughtBy = {"name": found.name, "file": found.file, "sha256": found.sha256}
    if found.scores is not None:
        taught["scores"] = found.scores.model_dump()
    return taught


class TrainingSummary(TypedDict):
    """How far the training of a voice is; epochs: the total asked for."""

    current_epoch: int
    epochs: int
    task_id: str | None
    progress: float | None
    message: str
    history: HistoryLines | None


class VoiceView(PublishedVoice):
    """All that is known about a voice. untrained: whether it can convert only untrained."""

    state: str
    untrained: bool
    demo: bool
    error: str | None
    licence: str
    source: str
    consent: Mapping[str, str]
    consent_origin: str
    taught_by: TaughtBy | None
    training: TrainingSummary
    data_report: ReportedData | None


def score_lines(view: VoiceView) -> list[str]:
    """Return a line of scores for the imported voice and one for the voice that it taught, of a `model_view`; none for
    another voice.

    Both are measured on recordings that neither has sung or learned, as a training scores its checkpoints.
    """
    taught = view["taught_by"]
    if taught is None or "scores" not in taught:
        return []
    history = view["training"]["history"]
    evaluations = history["evaluations"] if history else []
    lines = [tr("{name}, imported: {scores}", name=taught["name"], scores=_said(taught["scores"]))]
    if evaluations:
        lines.append(tr(
            "{name}, taught: {evaluations}",
            name=view["name"], evaluations=_said(_figures(max(evaluations, key=lambda line: line["score"]))),
        ))
    return lines


def _figures(line: EvaluationLine) -> Mapping[str, float]:
    return {"likeness": line.get("likeness") or 0.0, "content": line.get("content") or 0.0, "score": line["score"]}


def _said(scores: Mapping[str, float]) -> str:
    return tr(
        "likeness {likeness}, intelligibility {content}, score {score}",
        likeness=numeral(scores["likeness"], ".2f"), content=numeral(scores["content"], ".2f"),
        score=numeral(scores["score"], ".2f"),
    )


# ---- views


def voice_names(studio: Studio, account: Account) -> list[tuple[str, str]]:
    """Return (name, id) of all voices of the account and the demo voices, by name, whatever their state."""
    return sorted((model.name, model.id) for model in all_models(studio.database, account))


class Narrowed(VoiceFilters, total=False):
    """What a list of voices is narrowed to; see `list_models`."""

    q: str | None
    limit: int | None
    cursor: str | None


class ListedVoices(TypedDict):
    """Usable voices; the cursor of the next page is there with a `limit`."""

    models: list[PublishedVoice]
    next_cursor: NotRequired[str | None]


def models_view(studio: Studio, account: Account, **narrowed: Unpack[Narrowed]) -> ListedVoices:
    """Return usable voices as the published interface lists them; with `limit`, also the cursor of the next page."""
    models, following = list_models(studio.database, account, **narrowed)
    return {"models": models, "next_cursor": following} if narrowed.get("limit") else {"models": models}


def model_view(studio: Studio, account: Account, model_id: str) -> VoiceView:
    """Return all that is known about a voice: its state, its training with losses and scores, and its data report.

    Raises NotFound.
    """
    model = find_model(studio.database, account, model_id)
    task = None if model.is_demo else latest(studio.database, account.id, model_id, TRAINING_KIND)
    active = task if task is not None and task.state in ACTIVE else None
    return {
        **model.published,
        "state": model.state,
        "untrained": model.is_usable_untrained,
        "demo": model.is_demo,
        "error": earlier_voice(model_id) if model.must_be_trained_again else model.error or missing_for(model),
        "licence": model.card.get("licence") or "",
        "source": model.card.get("source") or "",
        "consent": model.card.get("consent") or {},
        "consent_origin": consent_origin(studio, model),
        "taught_by": taught_by(studio, model),
        "training": {
            "current_epoch": model.epoch,
            "epochs": active.asked_as(Training).epochs if active else model.epochs,
            "task_id": task.id if task else None,
            "progress": active.progress if active else None,
            "message": active.message if active else "",
            "history": training_history(studio, model),
        },
        "data_report": model.data_report,
    }


def training_history(studio: Studio, model: Model) -> HistoryLines | None:
    """Return losses and scores of a voice's training, as engine.training.history has them; None before there are any,
    or if an earlier version began it, which cannot be continued."""
    place = model.training_key or (f"{model.dataset_key}/{TRAINING_FOLDER}" if model.dataset_key else None)
    if place is None:
        return None
    try:
        history = from_data(json.loads(b"".join(studio.storage.read(f"{place}/{HISTORY_FILE}", 0, _LARGEST_HISTORY))))
    except (NotFound, ValueError):
        return None
    is_ours = isinstance(history, dict) and history.get("format", 1) >= TRAINING_FORMAT
    lines: HistoryLines | None = history if is_ours else None
    return lines


# ---- train


def train_model(
    studio: Studio,
    account: Account,
    model_id: str,
    epochs: int,
    idempotency: Idempotency | None = None,
    request_id: str | None = None,
    settings: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Train a voice until it has `epochs` epochs in total; return its status as in the published interface.

    settings: other fields of TrainingPlan; those left out keep the values of the training so far. During training, and
    when the voice already has that many epochs, nothing starts and the call reports progress. A failed or stopped
    training is reported once; the next call, or one for another total, continues from the last checkpoint. Raises
    NotFound, WrongState for a voice without recordings here, SettingsError, TooMany.
    """
    plan = allowed_plan(studio, epochs, settings or {})
    found = find_model(studio.database, account, model_id)
    if found.is_demo or found.dataset_key is None:
        text = tr(
            "The voice '{model_id}' was imported without its recordings and cannot be trained.",
            model_id=model_id,
        )
        if found.is_demo:
            text = tr("The voice '{model_id}' is a demo voice and cannot be trained.", model_id=model_id)
        raise WrongState(text, "no_recordings")

    def act(connection: Connection) -> Answer:
        # concurrent calls wait here, and then see the result of the first
        waiting_and_running(connection, account.id, TRAINING_KIND)
        model = held_model(connection, account.id, model_id)  # its training may have ended meanwhile
        failure_is_new = tell_failure(connection, account.id, model_id)
        before = latest_in(connection, account.id, model_id, TRAINING_KIND)
        status = _status(model, before, epochs, failure_is_new)
        if status is None:
            queue_task(studio, connection, account.id, Work(TRAINING_KIND, plan, model_id, request_id=request_id))
            training_begun(connection, account.id, model_id)
            if model.must_be_trained_again:
                training_reached(connection, account.id, model_id, model.epoch)
            status = TRAINING
        return {"status": status, "model_id": model_id, "current_epoch": model.epoch}

    answer, _ = once(studio, account, idempotency, act)
    studio.wake()
    return answer


def allowed_plan(studio: Studio, epochs: int, settings: Mapping[str, Any] | None = None) -> Training:
    """Return a training that is asked for, as `checked_plan`. Raises SettingsError for more epochs than allowed too."""
    plan, most = checked_plan(epochs, settings or {}), studio.service.epochs_at_most
    if epochs > most:
        raise SettingsError(tr("epochs must be at most {most} here, not {epochs}.", most=most, epochs=epochs))
    return plan


def checked_plan(epochs: int, settings: Mapping[str, Any]) -> Training:
    """Return a training that is asked for. Raises SettingsError for a setting that is unknown or out of range."""
    if unknown := sorted(set(settings) - {one.name for one in fields(TrainingPlan)}):
        raise SettingsError(tr("There is no setting '{unknown}'.", unknown=unknown[0]))
    TrainingPlan(**{**settings, "epochs": epochs})
    return Training(epochs, {name: value for name, value in settings.items() if name != "epochs"})


def _status(model: Model, before: Task | None, epochs: int, failure_is_new: bool) -> str | None:
    """Return the status of the training requested before; None if one is to be started."""
    if before is not None and before.state in ACTIVE:
        return TRAINING
    if model.state == COMPLETED and epochs <= model.epochs:
        return COMPLETED
    if before is None or before.asked_as(Training).epochs != epochs or not failure_is_new:
        return None
    # a client that polls for progress must not restart a training that was stopped
    return FAILED if model.state == FAILED or before.state == "cancelled" else None


# ---- delete


def delete_model(studio: Studio, account: Account, model_id: str) -> None:
    """Delete a voice with its recordings and its training. Raises NotFound, and WrongState during training."""
    model = find_model(studio.database, account, model_id)
    with studio.storage.deleting() as take_away, studio.database.write() as connection:
        if not model.is_demo:
            held_model(connection, account.id, model_id)  # a training that starts now waits here and finds it gone
        _refuse_busy(studio, connection, account, model)
        remove_model(connection, take_away, account, model)


def refuse_undeletable(studio: Studio, account: Account, model_id: str) -> None:
    """Raise what `delete_model` would raise now, so that the page does not ask in vain."""
    model = find_model(studio.database, account, model_id)
    with studio.database.read() as connection:
        _refuse_busy(studio, connection, account, model)


def _refuse_busy(studio: Studio, connection: Connection, account: Account, model: Model) -> None:
    if model.is_demo:
        raise WrongState(tr("The voice '{id}' is a demo voice and cannot be deleted.", id=model.id), "demo_voice")
    for kind in (TRAINING_KIND, REPORT):
        task = latest_in(connection, account.id, model.id, kind)
        if task is not None and (task.state == "running" or (task.state == "queued" and kind == TRAINING_KIND)):
            doing = _BEING_TRAINED if kind == TRAINING_KIND else _BEING_EXAMINED
            raise WrongState(doing.format(voice=model.name), "model_busy")
    home = studio.storage.folder(model.dataset_key) if model.dataset_key else None
    if home is not None and home.is_dir():
        refuse_busy(home)  # the command line has no task

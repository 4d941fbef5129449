"""Show and delete the voices of an account."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Literal, Unpack

from pydantic import ConfigDict, Field, FiniteFloat, with_config
from sqlalchemy import Connection

from engine.datasets.dataset import LARGEST_MODEL_FILE, MODEL_FILE
from engine.errors import EngineError
from engine.texts import numeral, tr
from engine.voices.card import earlier_voice
from engine.voices.profile import TAUGHT_BY
from studio.actions.recordings import consent_origin
from studio.actions.rvc_models import missing_for
from studio.actions.trainings.checkpoints import stored_card
from studio.actions.trainings.history import EvaluationLine, HistoryLines, training_history
from studio.errors import NotFound, WrongState
from studio.store.accounts import Account
from studio.store.catalogue import Model, VoiceFilters, all_models, find_model, list_models, locked_model, remove_model
from studio.store.kinds import REPORT
from studio.store.kinds import TRAINING as TRAINING_KIND
from studio.store.records.cards import ReportedData, Voice
from studio.store.records.codec import (
    Absent,
    Maybe,
    Record,
    Undocumented,
    UnknownRecord,
    left_out,
    open_ended,
    read,
    shown_as,
)
from studio.store.records.voices import Training
from studio.store.studio import Cost, Studio, costs
from studio.store.tasks import ACTIVE, latest, latest_in
from studio.store.workspaces import refuse_busy

_BEING_TRAINED = tr("The voice '{voice}' is being trained: wait until it has finished, or cancel it in the history.")
_BEING_EXAMINED = tr("The voice '{voice}' is being examined: wait until it has finished, or cancel it in the history.")


@open_ended
@dataclass(frozen=True, kw_only=True)
class TeachingScores(Record):
    """Some scores of a training; see `engine.training.checkpoint_audition`."""

    likeness: FiniteFloat
    content: FiniteFloat
    score: FiniteFloat


@open_ended
@dataclass(frozen=True, kw_only=True)
class TaughtBy(Record):
    """The imported voice that taught another; anybody's model.json may have something else under this name."""

    name: str
    file: str
    sha256: str
    scores: Absent[TeachingScores] = None


def taught_by(studio: Studio, model: Model) -> TaughtBy | None:
    """Return the imported voice that taught this one: `name`, `file`, `sha256`, and `scores`; None if none did."""
    if model.dataset_key is None:
        return None
    try:
        text = b"".join(studio.storage.read(f"{model.dataset_key}/{MODEL_FILE}", 0, LARGEST_MODEL_FILE))
        stated = {"sha256": ""} | json.loads(text)[TAUGHT_BY]
        return read(TaughtBy, {name: value for name, value in stated.items() if value is not None})
    except (NotFound, UnknownRecord, ValueError, KeyError, TypeError):
        return None


@open_ended
@dataclass(frozen=True, kw_only=True)
class TrainingView(Record):
    """A training in full."""

    current_epoch: Annotated[int, Field(ge=0)]
    epochs: Annotated[int, Field(ge=0, description="The total requested for the voice.")]
    task_id: str | None
    progress: Annotated[float | None, Field(ge=0, le=1)]
    message: str
    history: Annotated[HistoryLines | None, shown_as(object), Field(description="Losses and scores so far.")]


@with_config(ConfigDict(extra="allow"))
@dataclass(frozen=True, kw_only=True)
class VoiceView(Voice):
    """A voice in full."""

    state: Annotated[str, shown_as(Literal["pending", "training", "completed", "failed"])]
    untrained: Annotated[bool, Field(description="Whether it can convert only untrained, with `untrained=true`.")]
    demo: bool
    error: str | None
    licence: Undocumented[str]
    source: Undocumented[str]
    consent: Undocumented[Mapping[str, str]]
    consent_origin: Undocumented[str]
    taught_by: Undocumented[TaughtBy | None]
    estimated: Maybe[
        Annotated[
            Mapping[str, Mapping[str, float]],
            shown_as(dict[str, dict[str, float]]),
            Field(
                description="spoken_pitch or sung_pitch (MIDI numbers: low, median, high) where none of its "
                "recordings speaks, or sings: an estimate from the other, by which `transpose: auto` goes.",
                examples=[{"spoken_pitch": {"low": 51.06, "median": 55.76, "high": 62.06}}],
            ),
        ]
    ] = field(default_factory=left_out)
    training: TrainingView
    data_report: Annotated[
        ReportedData | None, shown_as(object), Field(description="The quality of its recordings and their problems.")
    ]


def score_lines(view: VoiceView) -> list[str]:
    """Return a line of scores for the imported voice and one for the voice that it taught, of a `model_view`; none for
    another voice.

    Both are measured on recordings that neither has sung or learned, as a training scores its checkpoints.
    """
    taught = view.taught_by
    if taught is None or taught.scores is None:
        return []
    history = view.training.history
    evaluations = history["evaluations"] if history else []
    lines = [tr("{name}, imported: {scores}", name=taught.name, scores=_scores_text(taught.scores))]
    if evaluations:
        lines.append(
            tr(
                "{name}, taught: {evaluations}",
                name=view.name,
                evaluations=_scores_text(_figures(max(evaluations, key=lambda line: line["score"]))),
            )
        )
    return lines


def _figures(line: EvaluationLine) -> TeachingScores:
    return TeachingScores(likeness=line.get("likeness") or 0.0, content=line.get("content") or 0.0, score=line["score"])


def _scores_text(scores: TeachingScores) -> str:
    return tr(
        "likeness {likeness}, intelligibility {content}, score {score}",
        likeness=numeral(scores.likeness, ".2f"),
        content=numeral(scores.content, ".2f"),
        score=numeral(scores.score, ".2f"),
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


@dataclass(frozen=True, kw_only=True)
class Voices(Record):
    """Usable voices."""

    models: list[Voice]
    next_cursor: Maybe[
        Annotated[str | None, Field(description="The cursor of the next page, if `limit` was given.")]
    ] = field(default_factory=left_out)


def models_view(studio: Studio, account: Account, **narrowed: Unpack[Narrowed]) -> Voices:
    """Return usable voices as the published interface lists them; with `limit`, also the cursor of the next page."""
    models, following = list_models(studio.database, account, **narrowed)
    return Voices(models=models, next_cursor=following) if narrowed.get("limit") else Voices(models=models)


def model_view(studio: Studio, account: Account, model_id: str) -> VoiceView:
    """Return all that is known about a voice: its state, its training with losses and scores, and its data report.

    Raises NotFound.
    """
    model = find_model(studio.database, account, model_id)
    task = None if model.is_demo else latest(studio.database, account.id, model_id, TRAINING_KIND)
    active = task if task is not None and task.state in ACTIVE else None
    return VoiceView(
        **vars(model.published),
        state=model.state,
        untrained=model.is_usable_untrained,
        demo=model.is_demo,
        error=earlier_voice(model_id) if model.must_be_trained_again else model.error or missing_for(model),
        licence=model.card.licence or "",
        source=model.card.source or "",
        consent=model.card.consent or {},
        consent_origin=consent_origin(studio, model),
        taught_by=taught_by(studio, model),
        estimated=_estimated(studio, model),
        training=TrainingView(
            current_epoch=model.epoch,
            epochs=active.asked_as(Training).epochs if active else model.epochs,
            task_id=task.id if task else None,
            progress=active.progress if active else None,
            message=active.message if active else "",
            history=training_history(studio, model),
        ),
        data_report=model.data_report,
    )


def _estimated(studio: Studio, model: Model) -> Mapping[str, Mapping[str, float]]:
    if model.is_demo:
        return model.card.estimated or {}
    try:
        card = stored_card(studio, model)
    except EngineError:  # it is being replaced
        return {}
    return {} if card is None else card.values["estimated"]


# ---- delete


@costs(Cost.DELETE)
def delete_model(studio: Studio, account: Account, model_id: str) -> None:
    """Delete a voice with its recordings and its training. Raises NotFound, and WrongState during training."""
    model = find_model(studio.database, account, model_id)
    with studio.storage.deleting() as take_away, studio.database.write() as connection:
        if not model.is_demo:
            locked_model(connection, account.id, model_id)  # a training that starts now waits here and finds it gone
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

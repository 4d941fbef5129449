"""Auditions: what a voice sang with each checkpoint, and how it scored."""

import re
from dataclasses import dataclass

from engine.texts import tr
from engine.training.history import EVALUATIONS_FOLDER, ORIGINALS_FOLDER
from engine.voices.card import WEIGHTS_FILE
from studio.actions.trainings.history import EvaluationLine, HistoryLines, training_history
from studio.store.accounts import Account
from studio.store.catalogue import Model, find_model
from studio.store.records.codec import Record
from studio.store.studio import Studio
from studio.store.trainings import training_files

_SOUND = re.compile(rf"(?:{ORIGINALS_FOLDER}|{EVALUATIONS_FOLDER}/(\d+))/([a-z0-9-]+)\.flac")
_LABELS = {
    "singing-high": tr("Singing, high voice"),
    "singing-low": tr("Singing, low voice"),
    "speech-high": tr("Speech, high voice"),
    "speech-low": tr("Speech, low voice"),
}


@dataclass(frozen=True, kw_only=True)
class Part(Record):
    """A recording that each evaluation renders; url: of the original."""

    name: str
    label: str
    url: str


class Audition(EvaluationLine):
    """An evaluation. kept: whether it is the best so far; complete: whether it can become the voice; sounds: urls by
    part."""

    kept: bool
    complete: bool
    sounds: dict[str, str]


@dataclass(frozen=True, kw_only=True)
class Auditions(Record):
    """The parts rendered at each evaluation, and all evaluations, oldest first."""

    parts: list[Part]
    evaluations: list[Audition]


def auditions_view(studio: Studio, account: Account, model_id: str, base_url: str, now_s: float) -> Auditions:
    """Return what can be heard of a training. Raises NotFound."""
    model = find_model(studio.database, account, model_id)
    return auditions_of(studio, model, training_history(studio, model), base_url, now_s)


def auditions_of(studio: Studio, model: Model, history: HistoryLines | None, base_url: str, now_s: float) -> Auditions:
    """Return the same for a voice whose training history is already loaded."""
    if not history:
        return Auditions(parts=[], evaluations=[])
    files = training_files(studio.storage, model)
    originals: dict[str, str] = {}
    rendered: dict[str, dict[str, str]] = {}
    for path, key in sorted(files.items()):
        if found := _SOUND.fullmatch(path):
            folder, part = found.groups()
            place = originals if folder is None else rendered.setdefault(folder, {})
            place[part] = studio.link(key, base_url, now_s)
    return Auditions(
        parts=[
            Part(name=part, label=_label(part), url=originals[part]) for part in sorted(originals, key=_held_out_first)
        ],
        evaluations=[
            {
                **line,
                "kept": line["epoch"] == history.get("best_epoch"),
                "complete": f"{EVALUATIONS_FOLDER}/{line['folder']}/{WEIGHTS_FILE}" in files,
                "sounds": rendered.get(line["folder"], {}),
            }
            for line in history["evaluations"]
        ],
    )


def _held_out_first(part: str) -> tuple[bool, str]:
    """Sort other singers first: they show the conversion best."""
    return part.startswith("held-out-"), part


def _label(part: str) -> str:
    """Name a part for people; held-out-2 is a recording of the voice itself that the training never used."""
    if part.startswith("held-out-"):
        return tr("Its own recording, not learned from ({value})", value=part.rpartition("-")[2])
    return _LABELS.get(part, part.replace("-", " ").capitalize())

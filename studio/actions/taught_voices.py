"""Which imported voice taught a voice of this studio, and the scores of both."""

import json
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict

from engine.datasets.dataset import LARGEST_MODEL_FILE, MODEL_FILE
from engine.texts import numeral, tr
from engine.voices.profile import TAUGHT_BY
from studio.errors import NotFound
from studio.store.catalogue import Model
from studio.store.studio import Studio


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


def taught_by(studio: Studio, model: Model) -> dict[str, Any] | None:
    """Return the imported voice that taught this one: `name`, `file`, `sha256`, and `scores`; None if none did."""
    if model.dataset_key is None:
        return None
    try:
        text = b"".join(studio.storage.read(f"{model.dataset_key}/{MODEL_FILE}", 0, LARGEST_MODEL_FILE))
        return _TaughtBy.model_validate(json.loads(text)[TAUGHT_BY]).model_dump(exclude_none=True)
    except (NotFound, ValueError, KeyError, TypeError):
        return None


def score_lines(view: Mapping[str, Any]) -> list[str]:
    """Return a line of scores for the imported voice and one for the voice that it taught, of a `model_view`; none for
    another voice.

    Both are measured on recordings that neither has sung or learned, as a training scores its checkpoints.
    """
    taught = view["taught_by"]
    if taught is None or "scores" not in taught:
        return []
    evaluations = (view["training"]["history"] or {}).get("evaluations") or []
    lines = [tr("{name}, imported: {scores}", name=taught["name"], scores=_said(taught["scores"]))]
    if evaluations:
        lines.append(tr(
            "{name}, taught: {evaluations}",
            name=view["name"], evaluations=_said(max(evaluations, key=lambda line: line["score"])),
        ))
    return lines


def _said(scores: Mapping[str, Any]) -> str:
    return tr(
        "likeness {likeness}, intelligibility {content}, score {score}",
        likeness=numeral(scores["likeness"], ".2f"), content=numeral(scores["content"], ".2f"),
        score=numeral(scores["score"], ".2f"),
    )

"""Folders of RVC models, as RVC itself, Applio, Replay and others leave them: each model with its index.

The names say what belongs together. RVC writes `weights/mia.pth` and, in `logs/mia`,
`added_IVF256_Flat_nprobe_1_mia_v2.index`, Applio `logs/mia/mia_200e_4000s.pth` and `logs/mia/mia.index`; shared models
are a folder, or a zip, with one of each.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from engine.spelling import folded
from engine.texts import tr
from studio.actions.rvc_models import INDEX, is_rvc_model
from studio.errors import NotFound

_TRAINING = re.compile(r"[GD]_\d+", re.IGNORECASE)  # what a training goes on from, not a model
_EMPTY = re.compile(r"trained_", re.IGNORECASE)  # an index before its vectors were added
_STEPS = re.compile(r"(_\d+e(_\d+s)?|_\d+s)?(_best_epoch)?$", re.IGNORECASE)
_BUILT = re.compile(r"^(added_)?(IVF\d+_Flat_)?(nprobe_\d+_)?", re.IGNORECASE)
_VERSION = re.compile(r"_v[12]$", re.IGNORECASE)
_DEEPEST = 4  # folders


@dataclass(frozen=True)
class FoundModel:
    """A model and its index, if it has one."""

    path: Path
    index: Path | None = None


def models_in(folder: Path) -> list[FoundModel]:
    """Return the models of RVC in a folder and the folders in it, by name, each with the index that belongs to it.

    Raises NotFound where there is none.
    """
    files = sorted(path for path in folder.rglob("*") if len(path.relative_to(folder).parts) <= _DEEPEST)
    models = [path for path in files if is_rvc_model(path) and not _TRAINING.fullmatch(path.stem) and path.is_file()]
    indexes = [path for path in files if path.suffix.lower() == INDEX and not _EMPTY.match(path.stem)]
    if not models:
        raise NotFound(tr('There is no model of RVC (.pth, .onnx) in "{name}".', name=folder.name), "no_model")
    return [FoundModel(path, _index_of(path, models, indexes)) for path in models]


def _index_of(model: Path, models: Sequence[Path], indexes: Sequence[Path]) -> Path | None:
    """Return the index of the same name, the nearest one; else the only one beside the only model."""
    same = [index for index in indexes if _name_of_index(index) in (_name_of_model(model), folded(model.stem))]
    beside = [index for index in same if index.parent == model.parent]
    if found := beside or same:
        return max(found, key=lambda index: (index.stem.lower().startswith("added_"), index.stat().st_size))
    near = [index for index in indexes if index.parent == model.parent]
    alone = [one for one in models if one.parent == model.parent] == [model]
    return near[0] if alone and len(near) == 1 else None


def _name_of_model(path: Path) -> str:
    return folded(_VERSION.sub("", _STEPS.sub("", path.stem)))


def _name_of_index(path: Path) -> str:
    return folded(_VERSION.sub("", _BUILT.sub("", path.stem)))

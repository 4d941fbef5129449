"""Models of RVC: imported as files or as the folders that programs leave, and ContentVec, which they need."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from engine.errors import VoiceError
from engine.pinned import PinnedFile
from engine.rvc import sources
from engine.rvc.sources import contentvec_path
from engine.spelling import folded
from engine.texts import tr
from engine.voices.card import VoiceCard
from engine.voices.card_rules import RVC
from studio.actions.fetched_models import Addition
from studio.errors import NotFound, NotReadable, WrongState
from studio.store.accounts import has_others
from studio.store.catalogue import Model
from studio.store.free_space import refuse_full_disk
from studio.store.studio import Studio

MODELS, INDEX = (".pth", ".onnx"), ".index"
MISSING = tr(
    "It needs ContentVec, which is not part of the studio: install it in Voices under RVC models, or run "
    "`timbre-studio rvc fetch` (378 MB), or `timbre-studio rvc use FILE` with a copy of your own."
)
_OWN = "timbre-studio rvc use FILE"
_TRAINING = re.compile(r"[GD]_\d+", re.IGNORECASE)  # what a training goes on from, not a model
_EMPTY = re.compile(r"trained_", re.IGNORECASE)  # an index before its vectors were added
_STEPS = re.compile(r"(_\d+e(_\d+s)?|_\d+s)?(_best_epoch)?$", re.IGNORECASE)
_BUILT = re.compile(r"^(added_)?(IVF\d+_Flat_)?(nprobe_\d+_)?", re.IGNORECASE)
_VERSION = re.compile(r"_v[12]$", re.IGNORECASE)
_DEEPEST = 4  # folders


@dataclass(frozen=True)
class RvcFiles:
    """What belongs to a model besides its own file; speaker: of one that has several, from 0."""

    index: Path | None = None
    speaker: int = 0


def is_rvc_model(path: Path) -> bool:
    """Return whether a file has the suffix of RVC's models."""
    return path.suffix.lower() in MODELS


def unpack_rvc(path: Path, scratch: Path, files: RvcFiles) -> VoiceCard:
    """Turn a model of RVC into a voice in a folder of its id in `scratch`.

    Raises NotReadable, which names what the file is instead.
    """
    from engine.rvc.sandbox import ModelFileError  # loads torch, as these all do
    from engine.voices.imported import import_rvc

    try:
        return import_rvc(path, scratch, files.index, speaker=files.speaker)
    except ModelFileError as cause:
        raise NotReadable(str(cause), cause.code) from cause


def missing_for(model: Model) -> str | None:
    """Return what an imported voice still needs before it can convert here, or None."""
    return MISSING if model.card.kind == RVC and not contentvec_path().exists() else None


def refuse_without_contentvec(model: Model) -> None:
    """Raise WrongState if this is an imported voice and ContentVec is missing."""
    if missing := missing_for(model):
        raise WrongState(tr("{name} cannot convert yet. {missing}", name=model.name, missing=missing), "no_contentvec")


def refuse_unconfined(studio: Studio, kind: str | None = RVC) -> None:
    """Raise WrongState for a model of RVC that could reach what others have here; kind: of the voice's card."""
    if kind != RVC or studio.service.unconfined_models == "run" or not has_others(studio.database):
        return
    from engine.rvc.sandbox_limits import limits_here

    if not limits_here().confine:
        raise WrongState(
            tr(
                "RVC models are switched off here: this system cannot keep them from the data of other users. The "
                "host can allow them with --unconfined-models run."
            ),
            "unconfined",
        )


def contentvec(source: PinnedFile | None = None) -> Addition:
    """Return what lets imported voices convert."""
    path, pinned = contentvec_path(), source or sources.SOURCES[0]
    # what is installed is converted, and cannot be checked: whoever asks for the file has a reason
    return Addition(pinned, path.parent, _installed, lambda: None, use_contentvec, _OWN)


def _installed() -> Path | None:
    path = contentvec_path()
    return path if path.exists() else None


def use_contentvec(studio: Studio, path: Path) -> Path:
    """Take ContentVec from a file or folder of the user, and return where it lies. Raises VoiceError, DiskFull."""
    from engine.rvc.contentvec import install

    refuse_full_disk(studio, sources.SOURCES[0].size)
    if not path.exists():
        raise VoiceError(tr('There is no file or folder "{path}".', path=path))
    return install(path)


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
        raise NotFound(tr('There is no RVC model (.pth, .onnx) in "{name}".', name=folder.name), "no_model")
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

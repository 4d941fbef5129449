"""Import models of RVC, and get ContentVec, which they need: fetched on request only, or from the user's own file."""

from dataclasses import dataclass
from pathlib import Path

from engine.errors import VoiceError
from engine.pinned import PinnedFile
from engine.rvc import sources
from engine.rvc.sources import contentvec_path
from engine.texts import tr
from engine.voices.card import VoiceCard
from engine.voices.card_rules import RVC
from studio.actions.fetches import Addition
from studio.errors import NotReadable, WrongState, naming
from studio.store.catalogue import Model
from studio.store.free_space import refuse_full_disk
from studio.store.studio import Studio

MODELS, INDEX = (".pth", ".onnx"), ".index"
MISSING = (
    tr("It needs ContentVec, which is not part of the studio: install it in Voices under RVC models, or run "
    "`python -m studio rvc fetch` (378 MB), or `python -m studio rvc use FILE` with a copy of your own.")
)
_OWN = "python -m studio rvc use FILE"


@dataclass(frozen=True)
class RvcFiles:
    """What belongs to a model besides its own file; speaker: of one that has several, from 0."""

    index: Path | None = None
    speaker: int = 0


def is_rvc_model(path: Path) -> bool:
    """Return whether a file has the suffix of RVC's models."""
    return path.suffix.lower() in MODELS


def unpack_rvc(path: Path, place: Path, name: str, files: RvcFiles) -> VoiceCard:
    """Turn a model of RVC into a voice in a folder of its id in `place`; errors call the file `name`.

    Raises NotReadable, which names what the file is instead.
    """
    from engine.rvc.sandbox import ModelFileError  # loads torch, as these all do
    from engine.voices.imported import import_rvc

    try:
        return import_rvc(path, place, files.index, speaker=files.speaker)
    except ModelFileError as cause:
        raise NotReadable(naming(cause, path, name), cause.code) from cause


def missing_for(model: Model) -> str | None:
    """Return what an imported voice still needs before it can convert here, or None."""
    return MISSING if model.card.get("kind") == RVC and not contentvec_path().exists() else None


def refuse_without_contentvec(model: Model) -> None:
    """Raise WrongState if this is an imported voice and ContentVec is missing."""
    if missing := missing_for(model):
        raise WrongState(tr("{name} cannot convert yet. {missing}", name=model.name, missing=missing), "no_contentvec")


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

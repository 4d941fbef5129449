"""Import models of RVC, and get ContentVec, which they need: fetched on request only, or from the user's own file."""

from dataclasses import dataclass
from pathlib import Path

import httpx

from engine.errors import VoiceError
from engine.progress import Report
from engine.rvc.sources import SOURCES, Source, contentvec_path
from engine.voices.card import VoiceCard
from engine.voices.card_rules import RVC
from studio.actions.separators import download
from studio.errors import NotReadable, Unavailable, WrongState, naming
from studio.store.catalogue import Model
from studio.store.free_space import refuse_full_disk
from studio.store.studio import Studio

MODELS, INDEX = (".pth", ".onnx"), ".index"
MISSING = (
    "It needs ContentVec, which is not part of the studio: run `python -m studio rvc fetch` (378 MB), or "
    "`python -m studio rvc use FILE` with a copy of your own."
)
_ELSEWHERE = "A copy from elsewhere works too: python -m studio rvc use FILE."
_RETRY_S = 60.0


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
        raise WrongState(f"{model.name} cannot convert yet. {missing}", "no_contentvec")


def fetch_contentvec(studio: Studio, report: Report, source: Source = SOURCES[0]) -> Path:
    """Download ContentVec, check it against its pinned checksum, convert it, and return where it lies.

    What a cut-off download has received is used again. Raises Unavailable if it cannot be reached, VoiceError if it is
    another file, DiskFull.
    """
    from engine.rvc.contentvec import install

    refuse_full_disk(studio, 2 * source.size)
    target = contentvec_path()
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_name(f"{source.sha256[:12]}-{source.name}")
    try:
        download(source, partial, report)
    except httpx.HTTPStatusError as cause:
        text = f"ContentVec could not be fetched: the server answered {cause.response.status_code}. {_ELSEWHERE}"
        raise Unavailable(text, _RETRY_S, "not_reachable") from cause
    except httpx.HTTPError as cause:
        said = str(cause) or type(cause).__name__
        text = f"ContentVec could not be fetched: {said}. The same command goes on where it stopped. {_ELSEWHERE}"
        raise Unavailable(text, _RETRY_S, "not_reachable") from cause
    try:
        return install(partial, source.sha256)
    except VoiceError:
        partial.unlink(missing_ok=True)
        raise
    finally:
        if target.exists():
            partial.unlink(missing_ok=True)


def use_contentvec(studio: Studio, path: Path) -> Path:
    """Take ContentVec from a file or folder of the user, and return where it lies. Raises VoiceError, DiskFull."""
    from engine.rvc.contentvec import install

    refuse_full_disk(studio, SOURCES[0].size)
    if not path.exists():
        raise VoiceError(f'There is no file or folder "{path}".')
    return install(path)

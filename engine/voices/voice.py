"""Load and save voices: a card and weights, validated when they are read and written completely or not at all.

Nothing in a voice's folder is ever executed.
"""

import copy
import shutil
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Protocol

import torch
from safetensors.torch import save_file
from torch import Tensor

from engine.analysis.envelope import BANDS
from engine.errors import VoiceError
from engine.features.retrieval import MOST_RETRIEVAL_FRAMES
from engine.features.speaker_timbre import SPREAD
from engine.networks.base import BaseModel, are_finite, load_base, load_weights
from engine.networks.content_encoder import CONTENT
from engine.networks.envelope_decoder import EnvelopeDecoder
from engine.networks.timbre_encoder import TIMBRE
from engine.texts import tr
from engine.voices.card import (
    CARD_FILE,
    PACKAGE,
    PREVIEW_FILE,
    RETRIEVAL_FRAMES,
    WEIGHTS_FILE,
    Folders,
    VoiceCard,
    card_text,
    damaged_weights,
    earlier_voice,
    identifier_in,
    is_place,
    load_card,
    new_voice_folder,
    voice_home,
)
from engine.voices.package_checks import unpack_voice

_NUMBERS = ("timbre", "spread", "centre", "contrast", "retrieval_frames")


@dataclass(frozen=True, eq=False, repr=False)
class Voice:
    """A voice ready for conversion; its networks are in evaluation mode. `load_voice` makes one, and training.

    - card: what is known of it
    - timbre: (128,), of the voice
    - spread: (directions, 128), one standard deviation along each direction it varies
    - centre: (bands,), mean of its decoded envelope, relative to the recording's level
    - contrast: (bands,), how much more its real envelope varies than the decoded one
    - decoder: from content, pitch and loudness to its spectral envelope
    - retrieval_frames: (frames, 64), content of its own recordings
    - folder: where it was loaded from
    - is_scored: whether its decoder is being scored, so that its own recordings are decoded like those of others
    """

    card: VoiceCard
    timbre: Tensor
    spread: Tensor
    centre: Tensor
    contrast: Tensor
    decoder: EnvelopeDecoder
    retrieval_frames: Tensor
    folder: Path | None = None
    is_scored: bool = False

    def __repr__(self) -> str:
        return f"Voice({self.card.name})"

    @property
    def preview(self) -> Path | None:
        """Path of the preview, or None."""
        path = self.folder / PREVIEW_FILE if self.folder else None
        return path if path and path.exists() else None

    def on(self, device: torch.device) -> "Voice":
        """Return the voice with its tensors on a device; the voice itself if it is there already."""
        if self.timbre.device == device:
            return self
        numbers = {name: getattr(self, name).to(device) for name in _NUMBERS}
        return replace(self, decoder=copy.deepcopy(self.decoder).to(device), **numbers)


# ---- writing ----


def save_voice(voice: Voice, folder: Path | str, preview: Path | str | None = None) -> None:
    """Write a voice to its own folder, completely or not at all.

    Parameters
    ----------
    voice : Voice
        Made by training, by `blend_voices` or by `untrained_voice`.
    folder : Path or str
        The folder for its files, which replaces an existing voice; its name becomes the id.
    preview : Path or str, optional
        A wave file that is copied to it.

    Raises
    ------
    VoiceError
        If it cannot be written, or its card could not be read again.

    Examples
    --------
    >>> save_voice(load_voice("kathleen"), "voices/kathleen")
    >>> load_voice("kathleen", "voices").card.name
    'Kathleen'
    """
    folder = Path(folder)
    weights = {f"decoder.{name}": value for name, value in voice.decoder.state_dict().items()}
    weights |= {"timbre": voice.timbre, "spread": voice.spread, "centre": voice.centre, "contrast": voice.contrast}
    weights |= {RETRIEVAL_FRAMES: voice.retrieval_frames}
    halves = {name: value.detach().cpu().half().contiguous() for name, value in weights.items()}
    with new_voice_folder(folder) as unfinished:
        save_file(halves, unfinished / WEIGHTS_FILE)
        (unfinished / CARD_FILE).write_text(card_text(voice.card), encoding="utf-8")
        if preview is not None:
            shutil.copyfile(preview, unfinished / PREVIEW_FILE)


# ---- reading ----


def load_voice(voice: str | Path, folder: Folders | None = None) -> Voice:
    """Load a voice of this studio.

    Parameters
    ----------
    voice : str or Path
        Its id or name, a package such as mia.voice.zip, or the Path of its folder.
    folder : Path or str, or several, optional
        Where ids and names are looked up, by default among the demo voices and those of the studio, in its
        `data_folder`; the first that has it is used.

    Returns
    -------
    Voice
        Ready for conversion, on the processor.

    Raises
    ------
    VoiceError
        For an unknown voice, listing those there are, and for one that is damaged, imported or of an earlier base.
    ArchiveError
        If the package is not a zip, or is unsafe to open.

    Examples
    --------
    >>> voice = load_voice("kathleen")
    >>> voice
    Voice(Kathleen)
    >>> voice.card.name, voice.card.gender, voice.card.base_language
    ('Kathleen', 'female', 'en')
    >>> load_voice("nobody")
    Traceback (most recent call last):
    engine.errors.VoiceError: There is no voice 'nobody'. The voices here are: everett, goekhan, ..., safiye.
    """
    home = voice_home(voice, folder)
    if home.suffix.lower() == PACKAGE:
        return _packaged_voice(home)
    card = load_card(home) if is_place(voice) else replace(load_card(home), id=identifier_in(home))
    if card.is_imported:
        raise VoiceError(
            tr(
                "{name} is an imported RVC model: it converts, but cannot be trained, blended or exported. Let it "
                "teach a voice of this studio, which can: Make it ours, on its card, or `timbre-studio rvc teach "
                "{id}`.",
                name=card.name,
                id=card.id,
            )
        )
    _refuse_earlier(card)
    return voice_from(card, load_voice_weights(home, card), home)


def _packaged_voice(package: Path) -> Voice:
    """Return the voice of a package, which keeps no folder."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "package"
        card = unpack_voice(package, folder)
        return voice_from(card, load_voice_weights(folder, card))


def load_voice_weights(folder: Path, card: VoiceCard) -> dict[str, Tensor]:
    """Read a voice's weights, of any version. Raises VoiceError if they are missing or damaged."""
    try:
        return load_weights(folder / WEIGHTS_FILE)
    except VoiceError as cause:
        raise VoiceError(damaged_weights(card.id)) from cause


def voice_from(card: VoiceCard, weights: Mapping[str, Tensor], folder: Path | None = None) -> Voice:
    """Build a voice from its weights. Raises VoiceError if they belong to another engine version or an earlier base."""
    _refuse_earlier(card)
    weights = dict(weights)
    with torch.device("meta"):  # see empty_listener
        decoder = EnvelopeDecoder()
    shapes = {"timbre": (TIMBRE,), "spread": (SPREAD, TIMBRE), "centre": (BANDS,), "contrast": (BANDS,)}
    try:
        frames = weights.pop(RETRIEVAL_FRAMES, None)
        if frames is None or frames.ndim != 2 or frames.shape[1] != CONTENT or len(frames) > MOST_RETRIEVAL_FRAMES:
            raise ValueError("retrieval frames are missing or have another shape")
        vectors = {name: weights.pop(name) for name in shapes}
        for name, shape in shapes.items():
            if vectors[name].shape != shape:
                raise ValueError(f"{name} has shape {tuple(vectors[name].shape)}, not {shape}")
        decoder.load_state_dict(
            {name.removeprefix("decoder."): value for name, value in weights.items()}, strict=True, assign=True
        )
    except (KeyError, ValueError, RuntimeError) as cause:
        raise VoiceError(
            tr("The voice '{id}' was made by another version of the engine; make it again.", id=card.id)
        ) from cause
    if not all(map(are_finite, [frames, *vectors.values(), *decoder.state_dict().values()])):
        raise VoiceError(damaged_weights(card.id))
    decoder.eval().requires_grad_(False)
    timbre, spread, centre, contrast = vectors.values()
    return Voice(card, timbre, spread, centre, contrast, decoder, frames, folder)


def _refuse_earlier(card: VoiceCard) -> None:
    if card.is_earlier:
        raise VoiceError(earlier_voice(card.id))


# ---- digest ----


def prepare_base() -> None:
    """Load the base on the CPU with its listener, and find the digest of their weights, before somebody needs them."""
    base = load_base()
    _ = base.listener
    _base_digest(base)


class _Digest(Protocol):
    def update(self, data: memoryview, /) -> None: ...
    def copy(self) -> "_Digest": ...
    def hexdigest(self) -> str: ...


def networks_digest(base: BaseModel, voice: Voice) -> str:
    """Return a SHA-256 digest of all weights that render a take; an edit of the take needs the same ones."""
    digest = _base_digest(base).copy()
    vectors = [voice.timbre, voice.spread, voice.centre, voice.contrast, voice.retrieval_frames]
    _add(digest, [*vectors, *voice.decoder.state_dict().values()])
    return digest.hexdigest()


@lru_cache(maxsize=4)
def _base_digest(base: BaseModel) -> _Digest:
    digest = sha256()  # cached: the base is by far the largest part and does not change once it is loaded
    _add(digest, base.all_weights())
    return digest


def _add(digest: _Digest, tensors: Iterable[Tensor]) -> None:
    for tensor in tensors:
        digest.update(tensor.detach().cpu().contiguous().numpy().data)

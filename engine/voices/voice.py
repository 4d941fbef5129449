"""Load and save voices: a card and weights, validated when they are read and written completely or not at all.

Nothing in a voice's folder is ever executed.
"""

import copy
import shutil
from collections.abc import Iterable, Mapping, Sequence
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
from engine.networks.base import BaseModel, load_weights
from engine.networks.content_encoder import CONTENT
from engine.networks.envelope_decoder import EnvelopeDecoder
from engine.networks.timbre_encoder import TIMBRE
from engine.voices.card import (
    CARD_FILE,
    DEMO_VOICES,
    PREVIEW_FILE,
    RETRIEVAL_FRAMES,
    WEIGHTS_FILE,
    VoiceCard,
    card_text,
    damaged_weights,
    earlier_voice,
    find_voice,
    load_card,
    new_voice_folder,
)

_NUMBERS = ("timbre", "spread", "centre", "contrast", "retrieval_frames")


@dataclass(frozen=True)
class Voice:
    """A voice ready for conversion; its networks are in evaluation mode."""

    card: VoiceCard
    timbre: Tensor  # (TIMBRE,)
    spread: Tensor  # (SPREAD, TIMBRE): one standard deviation along each direction it varies
    centre: Tensor  # (BANDS,): mean of its decoded envelope, relative to the recording's level
    contrast: Tensor  # (BANDS,): how much more its real envelope varies than the decoded one
    decoder: EnvelopeDecoder
    retrieval_frames: Tensor  # (frames, CONTENT): content of its own recordings
    folder: Path | None = None

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


def save_voice(voice: Voice, folder: Path, preview: Path | None = None) -> None:
    """Write the voice to a folder, completely or not at all, replacing a voice that is there.

    Raises VoiceError if it cannot be written or its card could not be read again.

    >>> save_voice(load_voice("kathleen"), Path("voices/kathleen"))
    >>> load_voice("kathleen", Path("voices")).card.name
    'Kathleen'
    """
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


def load_voice(voice: str | Path, folder: Path | Sequence[Path] = DEMO_VOICES) -> Voice:
    """Load a voice by its id from `folder` (or the first of several folders that has it), or from its own Path.

    Raises VoiceError for an unknown id, listing the voices there are, and for a voice of an earlier base.

    >>> voice = load_voice("kathleen")
    >>> voice.card.name, voice.card.gender, voice.card.base_language
    ('Kathleen', 'female', 'en')
    >>> load_voice("nobody")
    Traceback (most recent call last):
    engine.errors.VoiceError: There is no voice 'nobody'. The voices here are: goekhan, kathleen, ..., safiye.
    """
    home = voice if isinstance(voice, Path) else find_voice(voice, folder)
    card = load_card(home) if isinstance(voice, Path) else replace(load_card(home), id=voice)
    if card.is_imported:
        raise VoiceError(
            f"{card.name} is an imported model of RVC: it converts, but cannot be trained, blended or exported. "
            f"Let it teach a voice of this studio, which can: Make it ours, on its card, or "
            f"`python -m studio rvc teach {card.id}`."
        )
    _refuse_earlier(card)
    return voice_from(card, load_voice_weights(home, card), home)


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
        decoder.load_state_dict({name.removeprefix("decoder."): value for name, value in weights.items()}, strict=True)
    except (KeyError, ValueError, RuntimeError) as cause:
        raise VoiceError(f"The voice '{card.id}' was made by another version of the engine; make it again.") from cause
    if not all(torch.isfinite(value).all() for value in [frames, *vectors.values(), *decoder.state_dict().values()]):
        raise VoiceError(damaged_weights(card.id))
    decoder.eval().requires_grad_(False)
    return Voice(card, decoder=decoder, retrieval_frames=frames, folder=folder, **vectors)


def _refuse_earlier(card: VoiceCard) -> None:
    if card.is_earlier:
        raise VoiceError(earlier_voice(card.id))


# ---- digest ----


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
    _add(digest, base.state_dict().values())
    return digest


def _add(digest: _Digest, tensors: Iterable[Tensor]) -> None:
    for tensor in tensors:
        digest.update(tensor.detach().cpu().contiguous().numpy().data)

"""A voice: its card (who it is, what it may be used for, how high it sings) and its weights.

A voice is a folder with card.json, weights.safetensors and preview.wav. Nothing in it is ever executed.
"""

import json
import os
import re
import shutil
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.torch import save_file
from torch import Tensor

from engine.base import WEIGHTS, load_weights
from engine.decoder import EnvelopeDecoder
from engine.envelope import BANDS
from engine.errors import VoiceError
from engine.timbre import TIMBRE

DEMO_VOICES = WEIGHTS / "voices"
CARD_FILE, WEIGHTS_FILE, PREVIEW_FILE = "card.json", "weights.safetensors", "preview.wav"
SPREAD = 8  # directions in which a voice's timbre varies between recordings
_IDENTIFIER = re.compile(r"[a-z0-9][a-z0-9-]{0,63}")
# the fields of the published interface, in its order
_PUBLISHED = (
    "id", "name", "gender", "age", "description", "base_language", "traits", "genre", "voice_type", "vocal_range",
)  # fmt: skip


@dataclass(frozen=True)
class PitchStatistics:
    """Where a voice lives, in MIDI note numbers, over its voiced frames."""

    low: float  # 5th percentile
    median: float
    high: float  # 95th percentile


@dataclass(frozen=True)
class VoiceCard:
    """All that is known of a voice besides its weights."""

    id: str
    name: str
    gender: str  # male, female
    age: str  # child, young adult, adult
    description: str
    base_language: str  # two lowercase letters
    traits: list[str]
    genre: str
    voice_type: str
    vocal_range: dict[str, str]  # {"min": "A2", "max": "C5"}
    pitch: PitchStatistics
    bandwidth_hertz: float  # of the recordings it was made from
    licence: str
    source: str  # where the recordings come from, and whom to credit
    consent: dict[str, str]  # {"statement", "by", "date"}
    corpus_speaker: str = ""  # 'set/speaker' of the training corpus, for scoring
    training: dict[str, Any] = field(default_factory=dict)  # minutes of audio, epochs, scores
    format: int = 1

    def as_published(self) -> dict[str, Any]:
        """Exactly the fields of the published interface's voice model."""
        return {name: getattr(self, name) for name in _PUBLISHED}


@dataclass(frozen=True)
class Voice:
    """A voice ready to convert with; the networks are in evaluation mode."""

    card: VoiceCard
    timbre: Tensor  # (TIMBRE,)
    spread: Tensor  # (SPREAD, TIMBRE): one standard deviation along each direction it varies
    centre: Tensor  # (BANDS,): mean of its decoded envelope, relative to the recording's level
    contrast: Tensor  # (BANDS,): how much more its real envelope varies than the decoded one
    decoder: EnvelopeDecoder
    folder: Path | None = None

    @property
    def preview(self) -> Path | None:
        """The preview's file, where the voice has one."""
        path = self.folder / PREVIEW_FILE if self.folder else None
        return path if path and path.exists() else None


def save_voice(voice: Voice, folder: Path, preview: Path | None = None) -> None:
    """Write the voice as a folder; everything is prepared beside it, then put in place in one step."""
    temporary = folder.with_name(folder.name + ".part")
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir(parents=True)
    try:
        weights = {f"decoder.{name}": value for name, value in voice.decoder.state_dict().items()}
        weights |= {"timbre": voice.timbre, "spread": voice.spread, "centre": voice.centre, "contrast": voice.contrast}
        halves = {name: value.detach().half().contiguous() for name, value in weights.items()}
        save_file(halves, temporary / WEIGHTS_FILE)
        card = json.dumps(asdict(voice.card), indent=2, ensure_ascii=False)
        (temporary / CARD_FILE).write_text(card + "\n", encoding="utf-8")
        if preview is not None:
            shutil.copyfile(preview, temporary / PREVIEW_FILE)
        if folder.exists():
            shutil.rmtree(folder)
        os.replace(temporary, folder)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def load_card(folder: Path) -> VoiceCard:
    """The card of the voice in `folder`. Raises VoiceError where it is missing or damaged."""
    try:
        values = json.loads((folder / CARD_FILE).read_text(encoding="utf-8"))
        if not isinstance(values, dict) or not isinstance(values.get("name"), str):
            raise ValueError("a card is an object with a name")
        known = {f.name for f in fields(VoiceCard)}
        values = {name: value for name, value in values.items() if name in known}
        return VoiceCard(**values | {"pitch": PitchStatistics(**values["pitch"])})
    except FileNotFoundError as cause:
        raise VoiceError(f"{folder} is not a voice: it has no {CARD_FILE}.") from cause
    except (OSError, ValueError, TypeError, KeyError) as cause:
        raise VoiceError(f"The card of the voice in {folder} is damaged; import the voice again.") from cause


def load_voice(voice: str | Path, folder: Path = DEMO_VOICES) -> Voice:
    """The voice with this id in `folder`, or the one in the folder named by a Path.

    Raises VoiceError, naming the voices there are, where the id is unknown.
    """
    home = voice if isinstance(voice, Path) else _find(voice, folder)
    card = load_card(home)
    weights = load_weights(home / WEIGHTS_FILE)
    decoder = EnvelopeDecoder()
    shapes = {"timbre": (TIMBRE,), "spread": (SPREAD, TIMBRE), "centre": (BANDS,), "contrast": (BANDS,)}
    try:
        vectors = {name: weights.pop(name) for name in shapes}
        for name, shape in shapes.items():
            if vectors[name].shape != shape:
                raise ValueError(f"{name} has shape {tuple(vectors[name].shape)}, not {shape}")
        decoder.load_state_dict({name.removeprefix("decoder."): value for name, value in weights.items()}, strict=True)
    except (KeyError, ValueError, RuntimeError) as cause:
        raise VoiceError(f"The voice '{card.id}' was made by another version of the engine; make it again.") from cause
    decoder.eval().requires_grad_(False)
    return Voice(card, decoder=decoder, folder=home, **vectors)


def _find(identifier: str, folder: Path) -> Path:
    if _IDENTIFIER.fullmatch(identifier) and (folder / identifier / CARD_FILE).exists():
        return folder / identifier
    there = ", ".join(card.id for card in list_voices(folder)) or "none"
    raise VoiceError(f"There is no voice '{identifier}'. The voices here are: {there}.")


def list_voices(folder: Path = DEMO_VOICES) -> list[VoiceCard]:
    """Cards of all voices in `folder`, by name; damaged ones are left out."""
    cards = []
    for home in sorted(folder.iterdir()) if folder.is_dir() else []:
        if (home / CARD_FILE).exists():
            try:
                cards.append(load_card(home))
            except VoiceError:
                continue
    return sorted(cards, key=lambda card: card.name.lower())


def pitch_statistics(semitones: np.ndarray) -> PitchStatistics:
    """Statistics of the MIDI note numbers of voiced frames; empty gives those of a middle voice."""
    if not len(semitones):
        return PitchStatistics(50.0, 57.0, 64.0)
    low, median, high = np.percentile(semitones, (5, 50, 95))
    return PitchStatistics(round(float(low), 2), round(float(median), 2), round(float(high), 2))

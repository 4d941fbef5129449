"""The corpus under adversity: every clip disturbed twice, many of them sung high, and the content they should have.

Analysed and measured as a recording is that somebody converts, and kept in flat files that are mapped into memory. The
content they should have is what the base hears in the clean recording.
"""

import hashlib
import json
import os
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from engine.base import BaseModel, load_base
from engine.content import CONTENT, content_input
from engine.envelope import LOW_BANDS, SILENT, loudness_of, measure_envelope
from engine.errors import TrainingError
from engine.frames import HOP, SAMPLE_RATE
from engine.mean_colour import measure_colour
from engine.pitch import Pitch, detect_pitch
from engine.pretraining.adversity import disturb, sing_high
from engine.pretraining.corpus import Corpus, working_processes

DISTURBED, SUNG, CLEAN = "disturbed", "sung", "clean"
_DISTURBANCES = 2  # of each clip
_SUNG_SHARE = 0.6  # of the clips
_SUNG_AND_DISTURBED = 0.3  # of those
_ENTRIES = "adverse.json"


@dataclass(frozen=True)
class AdverseEntry:
    """One clip as it was analysed under adversity, or as it is."""

    clip: int  # its number in the corpus
    kind: str  # DISTURBED, SUNG or CLEAN
    first_frame: int
    frames: int
    mean: list[float]  # (LOW_BANDS,): the mean colour, as it is measured of this version


class AdverseCorpus:
    """Versions of the clips. envelope (total, LOW_BANDS), relative to each one's level; position (total,): the frame of
    the clip that is heard, with a fraction. Of the corpus' own frames: content (frames, CONTENT) that should be heard
    and loudness (frames,), relative."""

    def __init__(self, folder: Path, corpus: Corpus) -> None:
        try:
            kept = json.loads((folder / _ENTRIES).read_text())
        except (OSError, ValueError) as cause:
            raise TrainingError(f"{folder} holds no corpus under adversity; prepare it first.") from cause
        self.corpus = corpus
        self.base: str = kept["base"]  # the fingerprint of the encoder whose content it is
        self.entries = [AdverseEntry(**entry) for entry in kept["entries"]]
        total, frames = sum(entry.frames for entry in self.entries), len(corpus.hertz)
        self.envelope = np.memmap(folder / "envelope.bin", np.float16, "r", shape=(total, LOW_BANDS))
        self.position = np.memmap(folder / "position.bin", np.float32, "r", shape=(total,))
        self.content = np.memmap(folder / "content.bin", np.float16, "r", shape=(frames, CONTENT))
        self.loudness = np.memmap(folder / "loudness.bin", np.float32, "r", shape=(frames,))

    def wanted(self, entry: AdverseEntry, rows: np.ndarray) -> tuple[Tensor, Tensor]:
        """The content that should be heard in rows of an entry, (rows, CONTENT), and how loud they are when clean."""
        clip = self.corpus.clips[entry.clip]
        position = self.position[rows]
        left = np.minimum(position.astype(int), clip.frames - 2)
        part = (position - left)[:, None]
        before = clip.first_frame + left
        content = self.content[before] * (1 - part) + self.content[before + 1] * part
        content = functional.layer_norm(torch.from_numpy(content.astype(np.float32)), (CONTENT,))
        return content, torch.from_numpy(self.loudness[before])


def prepare_adversity(
    corpus: Corpus, base: Path, folder: Path, seed: int, report: Callable[[float, str], None]
) -> AdverseCorpus:
    """Make the versions of every clip into `folder`, once; later calls only open them.

    base: a base.safetensors, whose content they should have. Raises VoiceError where it cannot be read and
    TrainingError where the folder was made with another.
    """
    fingerprint = _fingerprint(load_base(base))
    if not (folder / _ENTRIES).exists():
        _make_all(corpus, base, fingerprint, folder, seed, report)
    adverse = AdverseCorpus(folder, corpus)
    if adverse.base != fingerprint:
        raise TrainingError(
            f"{folder} was made with another base, or this one has been hardened already. Give the base as it was "
            "before, or another folder for what is made now."
        )
    return adverse


def _fingerprint(base: BaseModel) -> str:
    digest = hashlib.sha256()
    for value in base.content.state_dict().values():
        digest.update(value.numpy().tobytes())
    return digest.hexdigest()


@dataclass(frozen=True)
class _Made:
    """What a clip became."""

    content: np.ndarray
    loudness: np.ndarray
    # kind, relative envelope (frames, LOW_BANDS), position (frames,), mean (LOW_BANDS,)
    versions: list[tuple[str, np.ndarray, np.ndarray, np.ndarray]]


def _make_all(
    corpus: Corpus, base: Path, fingerprint: str, folder: Path, seed: int, report: Callable[[float, str], None]
) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    entries: list[dict[str, object]] = []
    first_frame = 0
    with ExitStack() as stack:
        envelope, position, content, loudness = (
            stack.enter_context(open(folder / f"{name}.bin", "wb"))
            for name in ("envelope", "position", "content", "loudness")
        )
        pool = stack.enter_context(working_processes())
        jobs = [(corpus.folder, base, seed, number) for number in range(len(corpus.clips))]
        for number, made in enumerate(pool.imap(_make, jobs, chunksize=8)):
            content.write(made.content.tobytes())
            loudness.write(made.loudness.tobytes())
            for kind, heard, where, mean in made.versions:
                envelope.write(heard.tobytes())
                position.write(where.tobytes())
                entries.append(vars(AdverseEntry(number, kind, first_frame, len(heard), mean.tolist())))
                first_frame += len(heard)
            report((number + 1) / len(corpus.clips), f"under adversity: {corpus.clips[number].path}")
    temporary = folder / f"{_ENTRIES}.part"
    temporary.write_text(json.dumps({"base": fingerprint, "entries": entries}))
    os.replace(temporary, folder / _ENTRIES)


class _Maker:
    """Makes versions in a process of its own."""

    def __init__(self, features: Path, base: Path, seed: int) -> None:
        self.corpus, self.base, self.seed = Corpus(features), load_base(base), seed

    def make(self, number: int) -> _Made:
        clip = self.corpus.clips[number]
        rows = slice(clip.first_frame, clip.first_frame + clip.frames)
        envelope = self.corpus.envelope[rows].astype(np.float32)
        pitch = Pitch(np.array(self.corpus.hertz[rows]), np.array(self.corpus.voicing[rows]))
        samples = self.corpus.audio[rows].reshape(-1).astype(np.float32) / 32767
        clean = _relative(envelope, pitch, np.arange(len(envelope)))
        versions = [(CLEAN, *clean)]
        for version in range(_DISTURBANCES):
            disturbed = disturb(samples, np.random.default_rng([self.seed, number, version]))
            versions.append((DISTURBED, *_analysed(disturbed, np.arange(len(envelope)))))
        random = np.random.default_rng([self.seed, number, _DISTURBANCES])
        if len(envelope) > 2 and random.random() < _SUNG_SHARE:
            sung, position = sing_high(envelope, pitch, self.base, random)
            if random.random() < _SUNG_AND_DISTURBED:
                sung = disturb(sung, random)
            versions.append((SUNG, *_analysed(sung, position)))
        loudness = loudness_of(torch.from_numpy(envelope - clip.nepers).clamp_min(SILENT)).numpy()
        return _Made(self._content(clean[0], clean[2]), loudness, versions)

    def _content(self, relative: np.ndarray, mean: np.ndarray) -> np.ndarray:
        heard = content_input(torch.from_numpy(relative.astype(np.float32))[None], 0.0, torch.from_numpy(mean)[None])
        with torch.inference_mode():
            return self.base.content(heard)[0].numpy().astype(np.float16)


def _analysed(samples: np.ndarray, position: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    pitch = detect_pitch(samples, SAMPLE_RATE)
    return _relative(measure_envelope(samples, pitch)[: len(samples) // HOP], pitch, position)


def _relative(envelope: np.ndarray, pitch: Pitch, position: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Relative low bands, the positions of as many frames, and the low bands of the mean colour."""
    level = measure_colour(envelope, pitch.voicing[: len(envelope)])
    low = np.maximum(envelope[:, :LOW_BANDS] - level.nepers, SILENT)[: len(position)]
    return low.astype(np.float16), position[: len(low)].astype(np.float32), level.mean[:LOW_BANDS]


@lru_cache(maxsize=1)
def _maker(features: Path, base: Path, seed: int) -> _Maker:
    """The one of this process."""
    return _Maker(features, base, seed)


def _make(job: tuple[Path, Path, int, int]) -> _Made:
    features, base, seed, number = job
    return _maker(features, base, seed).make(number)

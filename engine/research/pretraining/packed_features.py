"""Recordings packed small, for a machine that is lent for a quarter of an hour: what they hold is analysed beforehand.

A second takes 6 kB for the content (8 bits), 11 kB for the envelope (steps of 0.05 nepers) and 4 to 11 kB for the
recording, as the corpus has it (Opus). Opened, all of it lies on one device.
"""

import io
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import soundfile
import soxr
import torch
from safetensors import safe_open
from safetensors.numpy import save_file
from torch import Tensor

from engine.analysis.envelope import SILENT, bands_below, loudness_of
from engine.errors import TrainingError
from engine.features.clips import analysed_clip
from engine.files import replacing
from engine.networks.envelope_decoder import prosody_input
from engine.networks.timbre_encoder import timbre_input
from engine.progress import Report
from engine.research.pretraining.acoustic import Crops
from engine.research.pretraining.corpus import (
    EXCLUDED,
    ClipEntry,
    clip_weight,
    held_back,
    read_manifest,
    working_processes,
)
from engine.units import HOP, SAMPLE_RATE

ENVELOPE_STEP = 0.05  # nepers
_LONGEST_S = 12.0  # of a recording, so that there are many speakers
_SHORTEST_S = 2.0


@dataclass
class PackedCrops(Crops):
    """Crops with all that a synthesis needs."""

    content: Tensor  # (batch, frames, CONTENT)
    samples: Tensor  # (batch, (frames - 1) * HOP)
    hertz: Tensor  # (batch, frames)
    voicing: Tensor  # (batch, frames)
    nepers: Tensor  # (batch,): the level of each recording


def pack(corpus: Path, path: Path, most_bytes: int, report: Report) -> list[ClipEntry]:
    """Analyse recordings of a corpus, of all speakers in turn, and write as many to `path` as fit into `most_bytes`.

    Raises TrainingError if none fits.
    """
    entries: list[ClipEntry] = []
    arrays: list[dict[str, np.ndarray]] = []
    held = first_frame = 0
    rows = in_turns([row for row in read_manifest(corpus) if _is_packed(row)], held_back(read_manifest(corpus)))
    with working_processes() as pool:
        for row, analysed in zip(rows, pool.imap(_analysed, [corpus / row["path"] for row in rows]), strict=True):
            nepers, one = analysed
            held += sum(array.nbytes for array in one.values())
            if held > most_bytes - 400 * (len(entries) + 10):  # the entries take some 250 bytes each
                break
            entries.append(_entry(row, first_frame, len(one["hertz"]), nepers))
            arrays.append(one)
            first_frame += entries[-1].frames
            report(held / most_bytes, f"packed {row['path']}")
    if not entries:
        raise TrainingError(f"No recording of {corpus} fits into {most_bytes / 1e6:.0f} MB.")
    joined = {name: np.concatenate([one[name] for one in arrays]) for name in arrays[0]}
    joined["lengths"] = np.array([len(one["recording"]) for one in arrays])
    with replacing(path) as unfinished:
        save_file(joined, unfinished, {"entries": json.dumps([asdict(entry) for entry in entries])})
    return entries


def in_turns(rows: Sequence[dict[str, str]], without: set[str]) -> list[dict[str, str]]:
    """Return one recording of each speaker, then a second one of each, and so on, but for those `without`."""
    by_speaker: dict[str, list[dict[str, str]]] = {}
    for row in rows:
        if row["path"] not in without:
            by_speaker.setdefault(f"{row['set']}/{row['speaker']}", []).append(row)
    return [
        recordings[turn]
        for turn in range(max(map(len, by_speaker.values()), default=0))
        for recordings in by_speaker.values()
        if turn < len(recordings)
    ]


def _is_packed(row: dict[str, str]) -> bool:
    return row["set"] not in EXCLUDED and _SHORTEST_S <= float(row["seconds"]) <= _LONGEST_S


def _analysed(path: Path) -> tuple[float, dict[str, np.ndarray]]:
    """Return a recording's level in nepers, and what is packed of it."""
    clip = analysed_clip(path, augmentations=1)
    frames = min(len(clip.pitch), len(_full_rate(path.read_bytes())) // HOP)
    content = clip.content[0, :frames].astype(np.float32)
    scale = np.maximum(np.abs(content).max(), 1e-3) / 127
    return clip.level.nepers, {
        "content": np.round(content / scale).astype(np.int8),
        "scale": np.full(frames, scale, np.float16),
        "envelope": envelope_steps(clip.envelope[:frames].astype(np.float32)),
        "hertz": clip.pitch.hertz[:frames].astype(np.float32),
        "voicing": np.round(clip.pitch.voicing[:frames] * 255).astype(np.uint8),
        "recording": np.frombuffer(path.read_bytes(), np.uint8),
    }


def envelope_steps(envelope: np.ndarray) -> np.ndarray:
    """Return an envelope relative to its level, in nepers, as uint8 steps above SILENT."""
    return np.round((envelope - SILENT) / ENVELOPE_STEP).clip(0, 255).astype(np.uint8)


def _full_rate(recording: bytes) -> np.ndarray:
    samples, rate = soundfile.read(io.BytesIO(recording), dtype="float32", always_2d=True)
    full: np.ndarray = soxr.resample(samples.mean(1), rate, SAMPLE_RATE)
    return full


def _entry(row: dict[str, str], first_frame: int, frames: int, nepers: float) -> ClipEntry:
    bands = bands_below(min(int(row["original_rate"]) / 2, 20_000))
    speaker = f"{row['set']}/{row['speaker']}"
    return ClipEntry(row["path"], row["set"], speaker, row["kind"], first_frame, frames, bands, nepers)


class PackedFeatures:
    """Packed recordings on a device, from which crops are drawn without waiting for it."""

    def __init__(self, path: Path, device: torch.device) -> None:
        """Open what `pack` wrote. Raises TrainingError if there is nothing."""
        try:
            with safe_open(path, "np") as file:
                entries = json.loads(file.metadata()["entries"])
                arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (no mapping)
        except OSError as cause:
            raise TrainingError(f"{path} holds no packed recordings; pack them first.") from cause
        self.clips = [ClipEntry(**entry) for entry in entries]
        self._arrays = {name: torch.from_numpy(arrays[name]).to(device) for name in ("content", "envelope", "hertz")}
        self._arrays |= {name: torch.from_numpy(arrays[name]).to(device) for name in ("scale", "voicing")}
        self._arrays["samples"] = torch.from_numpy(self._decoded(arrays["recording"], arrays["lengths"])).to(device)

    def _decoded(self, recordings: np.ndarray, lengths: np.ndarray) -> np.ndarray:
        """Return the samples of all recordings, int16 (frames, HOP)."""
        parts = np.split(recordings, np.cumsum(lengths)[:-1])
        full = [_full_rate(part.tobytes())[: c.frames * HOP] for part, c in zip(parts, self.clips, strict=True)]
        return np.concatenate([(one.clip(-1, 1) * 32767).astype(np.int16).reshape(-1, HOP) for one in full])


class CropDraws:
    """Draws crops of chosen recordings; each depends on nothing but the seed and how many were drawn before."""

    def __init__(
        self, features: PackedFeatures, clips: Sequence[ClipEntry], batch: int, frames: int, seed: int
    ) -> None:
        """Leave out recordings that are shorter than a crop. Raises TrainingError if none is left."""
        self._arrays, self._batch, self._frames = features._arrays, batch, frames
        device = self._arrays["hertz"].device
        clips = sorted((clip for clip in clips if clip.frames >= frames), key=lambda clip: clip.speaker)
        if not clips:
            raise TrainingError(f"No recording has the {frames} frames of a crop.")
        speakers = [clip.speaker for clip in clips]

        def column(values: Sequence[float], kind: torch.dtype) -> Tensor:
            return torch.tensor(values, dtype=kind, device=device)

        self._first = column([clip.first_frame for clip in clips], torch.long)
        self._room = column([clip.frames - frames + 1 for clip in clips], torch.float32)
        self._weight = column([clip.frames * clip_weight(clip) for clip in clips], torch.float32)
        self._nepers = column([clip.nepers for clip in clips], torch.float32)
        self._bands = column([clip.bands for clip in clips], torch.long)
        self._first_of_speaker = column([speakers.index(name) for name in speakers], torch.long)
        self._of_speaker = column([speakers.count(name) for name in speakers], torch.float32)
        self._random = torch.Generator(device).manual_seed(seed)

    def draw(self) -> PackedCrops:
        """Draw a batch."""
        chosen = torch.multinomial(self._weight, self._batch, True, generator=self._random)
        other = self._first_of_speaker[chosen] + (self._drawn() * self._of_speaker[chosen]).long()
        rows, reference = self._rows(chosen), self._rows(other)
        envelope, hertz = self._envelope(rows), self._arrays["hertz"][rows]
        voicing = self._arrays["voicing"][rows] / 255.0
        semitones = 57.0 + 12.0 * torch.log2(hertz / 220.0)
        return PackedCrops(
            envelope=envelope,
            reference=timbre_input(self._envelope(reference), 0.0),
            prosody=prosody_input(semitones, voicing, loudness_of(envelope)),
            semitones=semitones.median(1).values,
            bands=self._bands[chosen],
            content=self._arrays["content"][rows] * self._arrays["scale"][rows].float()[..., None],
            samples=(self._arrays["samples"][rows[:, :-1]] / 32767.0).flatten(1),
            hertz=hertz,
            voicing=voicing,
            nepers=self._nepers[chosen],
        )

    def _drawn(self) -> Tensor:
        return torch.rand(self._batch, generator=self._random, device=self._weight.device)

    def _rows(self, clips: Tensor) -> Tensor:
        """Return the frames of a crop of each clip (batch, frames)."""
        first = self._first[clips] + (self._drawn() * self._room[clips]).long()
        return first[:, None] + torch.arange(self._frames, device=first.device)

    def _envelope(self, rows: Tensor) -> Tensor:
        return self._arrays["envelope"][rows] * ENVELOPE_STEP + SILENT

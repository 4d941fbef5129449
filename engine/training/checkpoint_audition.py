"""Audition a checkpoint: convert recordings the training has not used, keep the results and score them.

Recordings of other people show whether the result sounds like the voice and keeps the words; held-out recordings of
the voice itself show whether its way of speaking survives. Everything is rendered as in a conversion and kept as a
file; the scores are measured on these files.
"""

from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from engine.analysis.envelope import ACTIVE_NEPERS, loudness_of
from engine.audio.channels import fold
from engine.audio.files import Audio, open_audio, read_audio, write_audio
from engine.audio.own_channels import OneChannel
from engine.audio.streams import at_engine_rate, stretch_of
from engine.conversion.convert import convert
from engine.conversion.settings import ConversionSettings
from engine.devices import AUTO
from engine.features.clips import Clip, analyse_clip
from engine.features.speaker_timbre import speaker_timbre
from engine.networks.base import BaseModel
from engine.networks.synthesizer import synthesize
from engine.units import HOP, SAMPLE_RATE
from engine.voices.imported import AnyVoice
from engine.voices.voice import Voice

FOREIGN = Path(__file__).parents[1] / "samples" / "foreign"
_MOST_CENTS = 100.0  # a frame further off counts as this much


@dataclass(frozen=True)
class Part:
    """A recording to convert; own: whether it is of the voice itself."""

    name: str
    audio: Audio
    clip: Clip
    own: bool


@dataclass(frozen=True)
class AuditionScores:
    """Scores of one checkpoint.

    likeness: cosine between the timbre of converted recordings and of the voice; content: cosine between the content
    before and after; both at best 1. mel_distance: nepers between held-out recordings and their conversion to the same
    voice. pitch_error_cents: mean over frames voiced in both; voicing_error: share of frames voiced in only one.
    """

    likeness: float
    content: float
    mel_distance: float
    pitch_error_cents: float
    voicing_error: float

    @property
    def score(self) -> float:
        """One number for choosing the best checkpoint; higher is better."""
        faults = 0.25 * self.mel_distance + 0.002 * self.pitch_error_cents + 0.5 * self.voicing_error
        return self.likeness + 0.5 * self.content - faults


class Audition:
    """The recordings to convert, analysed once, and the target timbre."""

    def __init__(
        self,
        base: BaseModel,
        timbre: Tensor,
        held_out: Sequence[Clip],
        originals: Path,
        device: str = AUTO,
        at_once: int = 1,
    ) -> None:
        """Analyse the recordings and write them to the folder `originals` for comparison.

        base and target timbre (TIMBRE,): on the processor, where results are measured; device: renders; at_once:
        recordings that are converted beside each other, which changes no result.
        Raises AudioError if a held-out recording can no longer be read or the folder cannot be written.
        """
        self.base, self.timbre, self.device, self.at_once = base, timbre, device, at_once
        foreign = [_part(path.stem, read_audio(path), own=False) for path in sorted(FOREIGN.glob("*.flac"))]
        own = [_part(f"held-out-{i}", audio_of(clip, base), own=True) for i, clip in enumerate(held_out, 1)]
        self.parts = foreign + own
        originals.mkdir(parents=True, exist_ok=True)
        for part in self.parts:
            write_audio(originals / f"{part.name}.flac", part.audio)

    def evaluate(self, voice: AnyVoice, folder: Path) -> AuditionScores:
        """Convert every recording to `folder`/<part>.flac and score the results."""
        if self.at_once == 1:
            rows = [self._converted(part, voice, folder) for part in self.parts]
        else:
            with ThreadPoolExecutor(self.at_once, "audition-part") as threads:
                rows = list(threads.map(lambda part: self._converted(part, voice, folder), self.parts))
        return AuditionScores(
            likeness=_mean(row["likeness"] for row, part in zip(rows, self.parts, strict=True) if not part.own),
            content=_mean(row["content"] for row, part in zip(rows, self.parts, strict=True) if not part.own),
            mel_distance=_mean(row["mel_distance"] for row, part in zip(rows, self.parts, strict=True) if part.own),
            pitch_error_cents=_mean(row["pitch_error_cents"] for row in rows),
            voicing_error=_mean(row["voicing_error"] for row in rows),
        )

    def _converted(self, part: Part, voice: AnyVoice, folder: Path) -> dict[str, float]:
        """Convert one recording to `folder`/<part>.flac and measure the result."""
        # nothing of the recording's own articulation is scored as the voice's
        settings = ConversionSettings(transpose=0 if part.own else "auto", likeness=1.0)
        voice = replace(voice, is_scored=True) if isinstance(voice, Voice) else voice
        threads = 2 if self.at_once > 1 else None  # beside the others
        conversion = convert(part.audio, voice, settings, device=self.device, rate=SAMPLE_RATE, threads=threads)
        rendered = conversion.takes[0].audio
        write_audio(folder / f"{part.name}.flac", rendered)
        return self._measure(part, analyse_clip(rendered), conversion.transpose)

    def _measure(self, part: Part, rendered: Clip, transpose: float) -> dict[str, float]:
        wanted = part.clip
        frames = min(len(wanted.pitch), len(rendered.pitch))
        wanted, rendered = wanted.piece(0, frames), rendered.piece(0, frames)
        both = wanted.pitch.voiced & rendered.pitch.voiced
        cents = np.abs(rendered.pitch.semitones - wanted.pitch.semitones - transpose) * 100
        before, after = (torch.from_numpy(clip.envelope.astype(np.float32)) for clip in (wanted, rendered))
        active = loudness_of(before) > ACTIVE_NEPERS
        known = slice(0, min(wanted.bands, rendered.bands))
        said, repeated = (torch.from_numpy(clip.content[0].astype(np.float32))[active] for clip in (wanted, rendered))
        return {
            "likeness": float(functional.cosine_similarity(speaker_timbre(self.base, rendered), self.timbre, 0)),
            "content": float(functional.cosine_similarity(said, repeated).mean()),
            "mel_distance": float((before - after)[active][:, known].abs().mean()),
            "pitch_error_cents": float(np.minimum(cents[both], _MOST_CENTS).mean()) if both.any() else _MOST_CENTS,
            "voicing_error": float((wanted.pitch.voiced != rendered.pitch.voiced).mean()),
        }


def audio_of(clip: Clip, base: BaseModel) -> Audio:
    """Read the audio of a clip again, mono at SAMPLE_RATE, or synthesize it if the clip came from no file.

    Raises AudioError if the file can no longer be read.
    """
    if clip.path is None:
        envelope = clip.envelope.astype(np.float32) + np.float32(clip.level.nepers)
        return Audio(synthesize(base.synthesizer, envelope, clip.pitch)[None], SAMPLE_RATE)
    start, stop = clip.first_frame * HOP, (clip.first_frame + len(clip.pitch)) * HOP
    with open_audio(clip.path) as recording:
        chosen = recording if clip.channel is None else OneChannel(recording, clip.channel)
        pieces = [fold(piece) for piece in stretch_of(at_engine_rate(chosen), start, stop)]
    return Audio(np.concatenate(pieces)[None], SAMPLE_RATE)


def _part(name: str, audio: Audio, own: bool) -> Part:
    return Part(name, audio, analyse_clip(audio, name), own)


def _mean(values: Iterable[float]) -> float:
    return round(float(np.mean(list(values))), 5)

"""Seconds of work per second of audio, of conversions that are kept as samples."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from engine.audio.files import Audio
from engine.conversion.convert import convert
from engine.conversion.settings import AUTO, Chosen, by_style
from engine.research.command import log
from engine.research.tables import table
from engine.voices.imported import AnyVoice
from engine.voices.voice import Voice


@dataclass(frozen=True)
class Sample:
    """One source converted to one voice, with the time it took."""

    source: str
    voice: str
    style: str
    transpose: float
    output: Audio
    audio_s: float
    wall_s: float
    processor_s: float


@dataclass(frozen=True)
class Speed:
    """Seconds of work per second of audio."""

    audio_s: float
    conversions: int
    wall_per_s: float
    processor_per_s: float
    slowest_wall_per_s: float  # of the single conversions
    output_rate: int


def convert_all(sources: dict[str, Audio], voices: Sequence[Voice], transpose: int | Literal["auto"]) -> list[Sample]:
    """Convert every source to every voice and time each, after one conversion to warm up."""
    settings = by_style(AUTO, {"transpose": transpose})  # as a user converts who chooses none
    convert(next(iter(sources.values())), voices[0], settings)
    samples = []
    for voice in voices:
        log(f"converting {len(sources)} recordings to {voice.card.name}")
        samples += [timed_conversion(name, audio, voice, settings) for name, audio in sources.items()]
    return samples


def timed_conversion(name: str, audio: Audio, voice: AnyVoice, settings: Chosen) -> Sample:
    """Convert a recording, and time it."""
    wall, processor = time.perf_counter(), time.process_time()
    conversion = convert(audio, voice, settings)
    wall, processor = time.perf_counter() - wall, time.process_time() - processor
    return Sample(
        source=name,
        voice=voice.card.id,
        style=conversion.style,
        transpose=conversion.transpose,
        output=conversion.takes[0].audio,
        audio_s=audio.duration_s,
        wall_s=wall,
        processor_s=processor,
    )


def summarise_speed(samples: Sequence[Sample]) -> Speed:
    """Divide the total work by the total audio."""
    audio_s = sum(sample.audio_s for sample in samples)
    return Speed(
        audio_s=audio_s,
        conversions=len(samples),
        wall_per_s=sum(sample.wall_s for sample in samples) / audio_s,
        processor_per_s=sum(sample.processor_s for sample in samples) / audio_s,
        slowest_wall_per_s=max(sample.wall_s / sample.audio_s for sample in samples),
        output_rate=samples[0].output.rate,
    )


def speed_table(speed: Speed) -> str:
    """Format the measurements, a row for each."""
    heading = f"Speed: {speed.conversions} conversions, {speed.audio_s:.0f} s of audio, {speed.output_rate} Hz out"
    rows = [
        ["wall time", f"{speed.wall_per_s:.4f}"],
        ["wall time, slowest recording", f"{speed.slowest_wall_per_s:.4f}"],
        ["CPU time, all cores", f"{speed.processor_per_s:.4f}"],
    ]
    return f"{heading}\n\n{table(['', 's of work per s of audio'], rows)}"

"""Conversions that are kept, with the time that each took."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from engine.audio.files import Audio
from engine.conversion.convert import convert
from engine.conversion.settings import AUTO, Chosen, by_style
from engine.research.command import log
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

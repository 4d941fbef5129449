"""How alike a conversion can be: the voice's own sound with the melody and at the level of each source.

    python -m engine.benchmark control --sources SOURCES --targets CORPUS --keep CONTROL

Recordings of the voice that it is not compared with, one after the other until the source's length is reached, are
synthesized from their own envelopes and voicing at the pitch of the source, transposed as a conversion is. Timing and
words are the voice's. What a judge says of these (judges.py) is the most that a conversion can reach
while it keeps the recording's melody.
"""

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from engine.analysis.envelope import measure_envelope
from engine.analysis.pitch import Pitch, detect_pitch
from engine.audio.files import Audio, read_audio, write_audio
from engine.audio.resampling import resample
from engine.conversion.convert import chosen_transpose
from engine.conversion.pitch_shaping import fold_pitch
from engine.conversion.settings import ConversionSettings
from engine.errors import EngineError, VoiceError
from engine.features.survey import survey_recording
from engine.networks.base import load_base
from engine.networks.synthesizer import synthesize
from engine.research.benchmark.quality import TRANSPOSITIONS
from engine.research.benchmark.recordings import add_inputs, find_recordings, others_of, target_recordings
from engine.research.command import log
from engine.research.copies import residual_of
from engine.units import SAMPLE_RATE
from engine.voices.card import DEMO_VOICES, list_voices
from engine.voices.voice import load_voice


def controlled(source: Audio, recordings: Sequence[Path], semitones: float) -> Audio:
    """Return the sound of a voice's recordings with the melody and at the level of a source, as long as it.

    recordings: enough of them, of the same voice; semitones: by which the melody is transposed. Raises EngineError if
    the recordings are shorter than the source.
    """
    sung = _at_engine_rate(source)
    own = _own_sound(recordings, len(sung))
    melody, spoken = detect_pitch(sung, SAMPLE_RATE), detect_pitch(own, SAMPLE_RATE)
    envelope = measure_envelope(own, spoken)
    pitch = fold_pitch(Pitch(melody.hertz, spoken.voicing).transposed(semitones)).one_frame_longer()
    synthesizer = load_base().synthesizer
    longer = np.pad(envelope, ((0, 1), (0, 0)), "edge")
    residual = residual_of(own, longer, spoken.one_frame_longer(), synthesizer)
    made = synthesize(synthesizer, longer, pitch, residual=residual)
    made = made[: len(sung)]
    level = float(np.sqrt(np.mean(np.square(sung)) / max(float(np.mean(np.square(made))), 1e-12)))
    return Audio((made * np.float32(level))[None], SAMPLE_RATE)


def _own_sound(recordings: Sequence[Path], length: int) -> np.ndarray:
    """Return recordings one after the other, float32 (length,)."""
    pieces: list[np.ndarray] = []
    for path in recordings:
        pieces.append(_at_engine_rate(read_audio(path)))
        if sum(map(len, pieces)) >= length:
            return np.concatenate(pieces)[:length]
    raise EngineError(f"The recordings of the voice are shorter than the source, {length / SAMPLE_RATE:.0f} s.")


def _at_engine_rate(audio: Audio) -> np.ndarray:
    samples: np.ndarray = resample(audio.mono(), audio.rate, SAMPLE_RATE)
    return samples


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the inputs, and where the controls are written."""
    add_inputs(parser)
    parser.add_argument("--keep", type=Path, required=True, metavar="DIR", help="write the controls here")



def run(options: argparse.Namespace) -> Iterator[str]:
    """Write the controls of all sources and voices."""
    options.keep.mkdir(parents=True, exist_ok=True)
    base, transpositions = load_base(), []
    for name in options.voices or [card.id for card in list_voices(DEMO_VOICES)]:
        voice = load_voice(name)
        others = others_of(voice, options.targets, target_recordings(voice, options.targets))
        if not others:
            raise VoiceError(f"{name} has no recordings in --targets beside those it is compared with.")
        for number, path in enumerate(find_recordings(options.sources)):
            log(f"{path.name} as {name} would sing it")
            source = read_audio(path)
            survey = survey_recording([_at_engine_rate(source)[None]], base)
            semitones = chosen_transpose(ConversionSettings(transpose=0), survey, voice)
            start = number % len(others)  # other words for each source
            made = controlled(source, [*others[start:], *others[:start]], semitones)
            write_audio(options.keep / f"{path.name}--{name}.wav", made)
            transpositions.append(f"{path.name}--{name}.wav\t{semitones:g}\n")
    yield f"{len(transpositions)} controls in {options.keep}"
    (options.keep / TRANSPOSITIONS).write_text("".join(transpositions), encoding="utf-8")

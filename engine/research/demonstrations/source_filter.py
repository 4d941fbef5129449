"""Take a recording apart like the synthesizer: two sources, their filters, and the output of each pair.

    pulses ----------> x harmonic filter --> harmonic --+
                                                        +--> whole
    noise, residual -> x noise filter -----> breath ----+

The synthesizer is linear in its sources, so harmonic and breath add up to the whole. A filter makes no sound by itself;
other sources make it audible: noise alone gives a whisper, pulses of one pitch a drone. Both keep the words.
"""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from engine.analysis.envelope import measure_envelope
from engine.analysis.loudness import limit_peaks
from engine.analysis.pitch import Pitch, detect_pitch
from engine.audio.files import Audio, Recording, audio_of
from engine.audio.resampling import resample
from engine.networks.base import load_base
from engine.networks.excitation import noise_at, pulse_train
from engine.reprs import Brief
from engine.research.copies import residual_of
from engine.units import DECIBELS_PER_NEPER, HOP, SAMPLE_RATE

DRONE_HERTZ = 110.0
_SOURCE_LEVEL = 0.05  # of the sources as audio: at their own power they would clip


@dataclass(frozen=True, repr=False)
class SourceFilterParts(Brief):
    """The parts of a recording as audio, mono at SAMPLE_RATE and as long as the recording, and the filters as curves.

    - pitch: of the recording
    - pulses: the harmonic source alone: a buzz with the melody, without words
    - noise: the noise source alone: a steady hiss; where there is no pitch, the recording's residual replaces it
    - harmonic: pulses through their filter: vowels, without breath
    - breath: noise through its filter: breath and consonants
    - whole: the sum of the two: copy synthesis
    - whisper: the harmonic filter excited by noise
    - drone: the harmonic filter excited by pulses at 110 Hz, and the breath
    - harmonic_gain_db, noise_gain_db: float32 (frames, bands), of the filters, in dB
    """

    pitch: Pitch
    pulses: Audio
    noise: Audio
    harmonic: Audio
    breath: Audio
    whole: Audio
    whisper: Audio
    drone: Audio
    harmonic_gain_db: np.ndarray
    noise_gain_db: np.ndarray


def take_apart(recording: Recording, seed: int = 0) -> SourceFilterParts:
    """Separate the source-filter parts of a recording; the same seed gives the same noise.

    Raises AudioError for a recording too short.

    >>> parts = take_apart("vocal.flac")
    >>> bool(np.allclose(parts.harmonic.samples + parts.breath.samples, parts.whole.samples))
    True
    """
    audio = audio_of(recording)
    synthesizer = load_base().synthesizer
    mono = resample(audio.mono(), audio.rate, SAMPLE_RATE)
    pitch_found = detect_pitch(mono, SAMPLE_RATE)
    pitch = pitch_found.one_frame_longer()
    measured = np.pad(measure_envelope(mono, pitch_found), ((0, 1), (0, 0)), "edge")
    residual = residual_of(mono, measured, pitch, synthesizer)
    envelope = torch.from_numpy(measured)[None]
    hertz, voicing = torch.from_numpy(pitch.hertz)[None], torch.from_numpy(pitch.voicing)[None]

    def sound(samples: Tensor, gain: float = 1.0) -> Audio:
        return Audio((gain * samples[:, : len(mono)]).numpy(), SAMPLE_RATE)

    with torch.inference_mode():
        pulses, _ = pulse_train(hertz)
        steady, _ = pulse_train(torch.full_like(hertz, DRONE_HERTZ))
        noise = torch.from_numpy(noise_at(0, (len(pitch) - 1) * HOP, seed))[None]
        silence = torch.zeros_like(noise)
        harmonic_gain, noise_gain, _ = synthesizer.filters(envelope, hertz, voicing)
        harmonic = synthesizer(envelope, hertz, voicing, pulses, silence)
        breath = synthesizer(envelope, hertz, voicing, silence, noise, residual)
        whisper = synthesizer(envelope, hertz, voicing, noise, silence)
        drone = synthesizer(envelope, hertz, voicing, steady, noise, residual)
    return SourceFilterParts(
        pitch=pitch_found,
        pulses=sound(pulses, _SOURCE_LEVEL),
        noise=sound(noise, _SOURCE_LEVEL),
        harmonic=sound(harmonic),
        breath=sound(breath),
        whole=sound(harmonic + breath),
        whisper=_limited(sound(whisper)),
        drone=_limited(sound(drone)),
        harmonic_gain_db=_decibels(harmonic_gain, len(pitch_found)),
        noise_gain_db=_decibels(noise_gain, len(pitch_found)),
    )


def _limited(audio: Audio) -> Audio:
    """Limit peaks to full scale, which other sources can exceed."""
    return Audio(limit_peaks(audio.samples), audio.rate)


def _decibels(log_gain: Tensor, frames: int) -> np.ndarray:
    gain_db: np.ndarray = (log_gain[0, :frames] * DECIBELS_PER_NEPER).numpy()
    return gain_db

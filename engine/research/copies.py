"""Copies of recordings: analysed and synthesized again in the same voice, the synthesizer's upper limit."""

import numpy as np
import torch

from engine.analysis.envelope import BANDS, measure_envelope
from engine.analysis.pitch import Pitch, detect_pitch
from engine.audio.files import Audio
from engine.audio.resampling import resample
from engine.networks.spectral_frames import cut_frames
from engine.networks.synthesizer import Residual, Synthesizer, synthesize
from engine.units import SAMPLE_RATE


def residual_of(samples: np.ndarray, envelope: np.ndarray, pitch: Pitch, synthesizer: Synthesizer) -> Residual:
    """Return the whole residual of a recording at SAMPLE_RATE, from its envelope (frames, BANDS) and pitch."""
    frames = cut_frames(samples, len(envelope))
    with torch.inference_mode():
        curves = torch.from_numpy(envelope), torch.from_numpy(pitch.voicing)
        return synthesizer.residual(frames, *curves, share=torch.ones(len(envelope)), known=torch.ones(BANDS))


def copy_synthesis(audio: Audio, synthesizer: Synthesizer) -> Audio:
    """Analyse and resynthesize a recording, mono, without changing the voice."""
    samples = resample(audio.mono(), audio.rate, SAMPLE_RATE)
    pitch = detect_pitch(samples, SAMPLE_RATE)
    envelope = np.pad(measure_envelope(samples, pitch), ((0, 1), (0, 0)), "edge")  # one more for the last samples
    pitch = pitch.one_frame_longer()
    residual = residual_of(samples, envelope, pitch, synthesizer)
    output = synthesize(synthesizer, envelope, pitch, residual=residual)
    return Audio(output[None, : len(samples)], SAMPLE_RATE)

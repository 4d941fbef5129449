"""Show on a recording why perturbation works: how warping its resonances changes the spectrum and the content.

The base's content encoder was trained to give the same content for a recording and for its version with a longer or
shorter vocal tract. So content should not reveal the length of the vocal tract; the trial shows how well that holds.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from engine.analysis.envelope import LOW_BANDS, SILENT, loudness_of, measure_envelope
from engine.analysis.loudness import limit_peaks
from engine.analysis.pitch import detect_pitch
from engine.audio.files import Audio, Recording, audio_of
from engine.audio.resampling import resample
from engine.conversion.articulation import warp_bands
from engine.features.clips import Clip, analyse_clip
from engine.networks.base import BaseModel, load_base
from engine.networks.envelope_decoder import prosody_input
from engine.networks.synthesizer import synthesize
from engine.networks.timbre_encoder import timbre_input
from engine.reprs import Brief
from engine.research.demonstrations.frame_features import Features, measure_features
from engine.research.demonstrations.resemblance import found_again
from engine.units import SAMPLE_RATE

FACTORS = (0.75, 0.8, 0.87, 0.93, 1.0, 1.08, 1.15, 1.25, 1.33)  # slightly beyond the range of the base's training


@dataclass(frozen=True, repr=False)
class PerturbationTrial(Brief):
    """How warping the resonances of a recording changes its spectrum and its content.

    - factors: of the resonances
    - found_by_mel, found_by_content: float64 (factors,), share of frames that are found again, 0..1
    - warped_nepers, decoded_nepers: float64 (factors,), distance from the recording's spectrum of the warped spectrum,
      and of the one decoded from the warped content
    - spectra: float32 (3, bands), mean log spectra of the active frames: recorded, warped by the largest factor, and
      decoded from that
    """

    factors: tuple[float, ...]
    found_by_mel: np.ndarray
    found_by_content: np.ndarray
    warped_nepers: np.ndarray
    decoded_nepers: np.ndarray
    spectra: np.ndarray


def try_perturbation(recording: Recording, factors: Sequence[float] = FACTORS) -> PerturbationTrial:
    """Warp a recording's spectrum, encode it, and decode it with the timbre of the recording itself.

    factors: of the resonances; above 1 the vocal tract is shorter. Raises AudioError for a recording too short.

    >>> trial = try_perturbation("vocal.flac", (0.8, 1.25))
    >>> bool((trial.found_by_content > trial.found_by_mel).all())
    True
    """
    audio = audio_of(recording)
    base, clip, original = load_base(), analyse_clip(audio), measure_features(audio)
    envelope = torch.from_numpy(clip.envelope.astype(np.float32))
    rows, spectra = [], {}
    for factor in factors:
        warped = _warped(envelope, factor)
        features = measure_features(warp_voice(audio, factor))
        decoded = _decoded(base, clip, envelope, features)
        distances = [_distance(one, envelope, original.active) for one in (warped, decoded)]
        rows.append([*(found_again(original, features, kind) for kind in ("mel", "content")), *distances])
        spectra[factor] = (warped, decoded)
    mel, content, warped_nepers, decoded_nepers = np.array(rows).T
    shown = [envelope, *spectra[max(factors, key=lambda factor: abs(np.log(factor)))]]
    loud = original.active if original.active.any() else slice(None)
    means = np.stack([one[loud].clamp_min(SILENT).mean(0)[:LOW_BANDS].numpy() for one in shown])
    return PerturbationTrial(tuple(factors), mel, content, warped_nepers, decoded_nepers, means)


def warp_voice(recording: Recording, factor: float) -> Audio:
    """Render a recording with a shorter (factor above 1) or longer vocal tract at the same pitch, mono at SAMPLE_RATE.

    The content encoder was trained to ignore this change. Raises AudioError for a recording too short.

    >>> warp_voice("vocal.flac", 1.15).duration_s
    3.0
    """
    audio = audio_of(recording)
    mono = resample(audio.mono(), audio.rate, SAMPLE_RATE)
    pitch = detect_pitch(mono, SAMPLE_RATE)
    warped = _warped(torch.from_numpy(measure_envelope(mono, pitch)), factor).numpy()
    longer = np.pad(warped, ((0, 1), (0, 0)), "edge")
    samples = synthesize(load_base().synthesizer, longer, pitch.one_frame_longer())
    return Audio(limit_peaks(samples[None, : len(mono)]), SAMPLE_RATE)


def _warped(envelope: Tensor, factor: float) -> Tensor:
    return warp_bands(envelope[None], torch.tensor([factor]))[0]


def _decoded(base: BaseModel, clip: Clip, envelope: Tensor, features: Features) -> Tensor:
    """Decode the content with the recording's own pitch, loudness and timbre, (frames, BANDS)."""
    semitones, voicing = torch.from_numpy(clip.pitch.semitones), torch.from_numpy(clip.pitch.voicing)
    prosody = prosody_input(semitones, voicing, loudness_of(envelope))[None]
    with torch.inference_mode():
        timbre = base.timbre(timbre_input(envelope[None], 0.0))
        decoded: Tensor = base.decoder(torch.from_numpy(features.content)[None], prosody, timbre)[0]
    return decoded


def _distance(one: Tensor, other: Tensor, frames: np.ndarray) -> float:
    """Return the mean absolute difference in nepers below 8 kHz, over the given frames."""
    return float((one - other)[frames][:, :LOW_BANDS].abs().mean()) if frames.any() else 0.0

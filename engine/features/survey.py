"""The survey: what must be known of a whole recording before its first window is converted.

Its level, the mean of the listener's features, the timbre of whoever is heard, where the pitch lies, the style, and in
singing the sounds that are held. Long recordings are sampled: the first minutes whole, then every eighth window.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from engine.analysis.envelope import BANDS, LOW_BANDS, Level, measure_level
from engine.analysis.loudness import measure_loudness
from engine.analysis.pitch import Pitch
from engine.analysis.pitch_statistics import PitchStatistics, pitch_statistics
from engine.analysis.style import Style, measure_style
from engine.analysis.windows import cut_windows
from engine.errors import AudioError
from engine.features.analysed_windows import KEPT_FRAMES, HeardWindows
from engine.features.feature_mean import measure_feature_mean
from engine.features.sustained_notes import SustainedNotes, gather_sustained_notes, no_sustained_notes
from engine.networks.base import BaseModel
from engine.networks.timbre_encoder import timbre_input
from engine.units import FRAME_RATE

_EVERY = 8
_TIMBRE_FRAMES = 10 * FRAME_RATE  # that timbre is heard in at a time, wherever windows begin
_HEARD_NEPERS = 8.5  # bands whose loud moments are further below the level than this hold no signal (74 dB)


@dataclass(frozen=True)
class Survey:
    """What one recording is like as a whole."""

    level: Level
    feature_mean: Tensor  # (FEATURES,): the likeliest of the listener's, on the processor as all that is found
    timbre: Tensor  # (TIMBRE,)
    pitch: PitchStatistics
    style: Style
    bands: int  # how many bands, from the lowest, hold signal
    voiced: bool
    sustained: SustainedNotes  # none where it is not singing


def survey_recording(
    blocks: Iterable[np.ndarray],
    base: BaseModel,
    report: Callable[[float], None] = lambda seconds: None,
    heard: HeardWindows | None = None,
) -> Survey:
    """Survey blocks (channels, n) at SAMPLE_RATE; `report` is given the seconds heard so far.

    heard: what hears the windows, to be asked again when they are rendered. Raises AudioError where there is not one
    sample.
    """
    heard = heard or HeardWindows(base.listener)
    envelopes, hertz, voicing, loudness, timbres = [], [], [], [], []
    features: list[np.ndarray] = []  # of the windows at the beginning alone, which are enough
    for number, window in enumerate(cut_windows(blocks)):
        if window.core_stop <= KEPT_FRAMES or number % _EVERY == 0:
            found = heard.hear(window)
            envelopes.append(found.envelope[window.core])
            hertz.append(found.pitch.hertz[window.core])
            voicing.append(found.pitch.voicing[window.core])
            loudness.append(measure_loudness(found.mid)[window.core])
            if window.core_stop <= KEPT_FRAMES or not features:
                features.append(found.features[window.core_features])
        report(window.core_stop / FRAME_RATE)
    if not envelopes:
        raise AudioError("There is no sound to convert (0 samples).")
    envelope = np.concatenate(envelopes)
    pitch = Pitch(np.concatenate(hertz), np.concatenate(voicing))
    level = measure_level(envelope)
    listened = np.concatenate(features)
    beginning = slice(0, 2 * len(listened))
    mean = measure_feature_mean(
        base.content, listened, envelope[beginning], pitch.voicing[beginning], level.nepers
    )  # fmt: skip
    with torch.inference_mode():
        for first in range(0, len(envelope), _TIMBRE_FRAMES):
            piece = torch.from_numpy(envelope[first : first + _TIMBRE_FRAMES])
            timbre = base.timbre(timbre_input(piece[None].to(base.device), level.nepers))
            timbres.append(timbre[0].cpu() * len(piece))
    semitones = pitch.voiced_semitones
    style = measure_style(pitch, np.concatenate(loudness))
    return Survey(
        level=level,
        feature_mean=mean.cpu(),
        timbre=torch.stack(timbres).sum(0) / len(envelope),
        pitch=pitch_statistics(semitones),
        style=style,
        bands=bands_with_signal(envelope, level),
        voiced=len(semitones) > 0,
        sustained=gather_sustained_notes(base, listened, mean, envelope[beginning], pitch.voicing[beginning], level)
        if style == "melodic"
        else no_sustained_notes(),
    )


def bands_with_signal(envelope: np.ndarray, level: Level) -> int:
    """How many bands from the lowest on hold signal: a recording once stored at 16 kHz has none above 8 kHz."""
    loud = np.percentile(envelope, 98, axis=0) > level.nepers - _HEARD_NEPERS
    return int(max(np.flatnonzero(loud), default=BANDS - 1)) + 1 if loud[:LOW_BANDS].any() else LOW_BANDS

"""Survey a whole recording before its first window is converted.

The survey finds the level, the mean of the listener's features, the speaker's timbre, the pitch range, the style, and
the sustained notes of singing. Of a long recording it analyses the first minutes, then every eighth window.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from engine.analysis.dryness import Dryness, DrynessMeter
from engine.analysis.envelope import BANDS, FLOOR, LOW_BANDS, Level, measure_level
from engine.analysis.loudness import measure_loudness
from engine.analysis.notes import audible, measure_histogram
from engine.analysis.pitch import Pitch
from engine.analysis.pitch_statistics import PitchStatistics, pitch_statistics
from engine.analysis.style import Style, measure_style
from engine.analysis.voice_presence import SILENT, SILENT_PEAK
from engine.analysis.windows import Window, cut_windows
from engine.audio.headroom import Headroom
from engine.errors import AudioError
from engine.features.alternation import Alternation, find_alternation
from engine.features.analysed_windows import KEPT_FRAMES, AnalysedWindows
from engine.features.feature_mean import measure_feature_mean
from engine.features.sustained_notes import SustainedNotes, gather_sustained_notes, no_sustained_notes
from engine.networks.base import BaseModel
from engine.networks.timbre_encoder import timbre_input
from engine.texts import tr
from engine.units import FRAME_RATE
from engine.workers import Turn, Work, Workers, in_groups

_EVERY = 8
_TIMBRE_FRAMES = 10 * FRAME_RATE  # per timbre vector, wherever windows begin
_HEARD_NEPERS = 8.5  # bands whose loud moments are further below the level than this hold no signal (74 dB)
_ABOVE_FLOOR = 0.1  # nepers, of the softest signal: of a quiet recording 74 dB below the level is below the floor


@dataclass(frozen=True)
class Survey:
    """Properties of a whole recording."""

    level: Level
    feature_mean: Tensor  # (FEATURES,): likeliest mean of the listener's features, on the processor like the rest
    timbre: Tensor  # (TIMBRE,)
    pitch: PitchStatistics
    style: Style
    bands: int  # how many bands, from the lowest, hold signal
    voiced: bool
    sustained: SustainedNotes  # none unless it is singing
    dryness: Dryness | None  # None for a survey made of stored data
    seconds_of_notes: np.ndarray  # how long each semitone is sung, float64 (SEMITONES,) by MIDI number
    beyond_warning: str | None = None  # that there are tones beyond the range of notes
    peak: float = 1.0  # of all channels; 1 for a survey made of stored data
    alternation: Alternation | None = None  # of two people, if that is what its beginning holds
    headroom: Headroom = field(default_factory=Headroom)  # of the recording as it is, before it was lowered

    @property
    def is_silent(self) -> bool:
        """Whether there is nothing but zeros."""
        return self.peak < SILENT_PEAK

    def refuse_silence(self) -> None:
        """Raise AudioError if there is nothing but zeros."""
        if self.is_silent:
            raise AudioError(SILENT)


def survey_recording(
    blocks: Iterable[np.ndarray],
    base: BaseModel,
    report: Callable[[float], None] = lambda seconds: None,
    analysed: AnalysedWindows | None = None,
    workers: Workers | None = None,
) -> Survey:
    """Survey blocks (channels, n) at SAMPLE_RATE; `report` receives the seconds analysed so far.

    analysed: keeps the analysed windows, so that rendering can use them again; workers: of the conversion. Raises
    AudioError if there are no samples.
    """
    workers = workers or Workers(1)
    analysed = analysed or AnalysedWindows(base.listener, workers=workers)
    frames = _SurveyedFrames(analysed, report)
    groups = in_groups(enumerate(cut_windows(frames.metered(blocks))), analysed.together)
    for _ in workers.in_order(map(frames.survey, groups), analysed.together):
        pass
    if not frames.envelopes:
        raise AudioError(tr("There is no sound to convert (0 samples)."))
    envelope = np.concatenate(frames.envelopes)
    frames.envelopes.clear()  # of ten hours: 200 MB
    pitch = Pitch.joined(frames.pitches)
    level = measure_level(envelope)
    listened = np.concatenate(frames.features)
    beginning = slice(0, 2 * len(listened))
    loudness_db = np.concatenate(frames.loudness)
    semitones = pitch.semitones[audible(pitch, loudness_db)]
    style = measure_style(pitch, loudness_db)

    def mean_and_notes() -> tuple[Tensor, SustainedNotes]:
        sound = envelope[beginning], pitch.voicing[beginning]
        mean = measure_feature_mean(base.content, listened, *sound, level.nepers)
        if style != "melodic":
            return mean, no_sustained_notes()
        return mean, gather_sustained_notes(base, listened, mean, *sound, level, workers)

    (mean, sustained), (timbre, alternation) = workers.beside(
        mean_and_notes,
        lambda: workers.beside(
            lambda: _timbre(base, envelope, level),
            lambda: find_alternation(
                base, envelope[:KEPT_FRAMES] - level.nepers, pitch[:KEPT_FRAMES], loudness_db[:KEPT_FRAMES]
            ),
        ),
    )
    return Survey(
        level=level,
        feature_mean=mean.cpu(),
        timbre=timbre,
        pitch=pitch_statistics(semitones),
        style=style,
        bands=bands_with_signal(envelope, level),
        voiced=len(semitones) > 0,
        sustained=sustained,
        dryness=frames.meter.finish(loudness_db, len(loudness_db) / FRAME_RATE),
        seconds_of_notes=measure_histogram(pitch, loudness_db),
        beyond_warning=pitch.beyond_warning,
        peak=frames.peak,
        alternation=alternation,
    )


class _SurveyedFrames:
    """What the surveyed windows of a recording hold, in their order."""

    def __init__(self, analysed: AnalysedWindows, report: Callable[[float], None]):
        self._analysed, self._report = analysed, report
        self.envelopes: list[np.ndarray] = []
        self.pitches: list[Pitch] = []
        self.loudness: list[np.ndarray] = []
        self.features: list[np.ndarray] = []  # of the windows at the beginning alone, which are enough
        self.meter = DrynessMeter()
        self.peak = 0.0

    def metered(self, blocks: Iterable[np.ndarray]) -> Iterator[np.ndarray]:
        """Yield the blocks as they are, and keep their peak."""
        for block in blocks:
            self.peak = max(self.peak, float(np.abs(block).max(initial=0.0)))
            yield block

    def survey(self, cut: Sequence[tuple[int, Window]]) -> Work[None]:
        """Analyse windows, each with its number, and keep what they hold once those before them are kept."""
        windows = [one.in_silence() for number, one in cut if one.core_stop <= KEPT_FRAMES or number % _EVERY == 0]
        group = self._analysed.analyse_together(windows)
        levels = [measure_loudness(analysed.mid) for analysed in group]
        yield Turn.IN_ORDER
        for window, analysed, level_db in zip(windows, group, levels, strict=True):
            self.envelopes.append(analysed.envelope[window.core])
            self.pitches.append(analysed.pitch[window.core])
            self.meter.add(analysed.mid, analysed.pitch, level_db, window.core)
            self.loudness.append(level_db[window.core])
            if window.core_stop <= KEPT_FRAMES or not self.features:
                self.features.append(analysed.features[window.core_features])
        self._report(cut[-1][1].core_stop / FRAME_RATE)


def _timbre(base: BaseModel, envelope: np.ndarray, level: Level) -> Tensor:
    timbres = []
    with torch.inference_mode():
        for first in range(0, len(envelope), _TIMBRE_FRAMES):
            piece = torch.from_numpy(envelope[first : first + _TIMBRE_FRAMES])
            timbre = base.timbre(timbre_input(piece[None].to(base.device), level.nepers))
            timbres.append(timbre[0] * len(piece))
        return (torch.stack(timbres).sum(0) / len(envelope)).cpu()


def bands_with_signal(envelope: np.ndarray, level: Level) -> int:
    """Count the bands, from the lowest, that hold signal: a recording once stored at 16 kHz has none above 8 kHz."""
    loud = np.percentile(envelope, 98, axis=0) > max(level.nepers - _HEARD_NEPERS, FLOOR + _ABOVE_FLOOR)
    return int(max(np.flatnonzero(loud), default=BANDS - 1)) + 1 if loud[:LOW_BANDS].any() else LOW_BANDS

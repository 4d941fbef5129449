"""Ranges: how what a recording asks for fits the ranges of the voices, and the transposition that suits each best."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.analysis.notes import SEMITONES
from engine.analysis.pitch_statistics import PitchStatistics
from engine.conversion.key_fit import best_key, fitting_key, share_outside
from engine.conversion.pitch_shaping import OCTAVE
from studio.actions.analysis_views import AnalysedRecording, stretch_view
from studio.actions.voice_ends import VoiceEnds, card_of, ends_of
from studio.store.accounts import Account
from studio.store.catalogue import find_model
from studio.store.records.analysis import PitchSeconds
from studio.store.records.codec import Record
from studio.store.studio import Studio

_FEW = 0.05  # of the voiced time: so much of it may be outside a range that suits
_MOST_OTHERS = 2  # voices that are named instead of one that does not suit


@dataclass(frozen=True, kw_only=True)
class BestShift(Record):
    """The key that leaves the fewest notes outside the range, and the share outside, 0..1."""

    semitones: int
    outside: float


@dataclass(frozen=True, kw_only=True)
class SuitedVoice(Record):
    """A voice that suits a recording better than the chosen one."""

    id: str
    name: str


@dataclass(frozen=True, kw_only=True)
class FitView(Record):
    """Data of <timbre-fit>."""

    voice: VoiceEnds
    histogram: Sequence[PitchSeconds]
    auto: float | None
    best: BestShift | None


def fit_view(
    studio: Studio,
    account: Account,
    model_id: str,
    looked_at: AnalysedRecording | None,
    stretch: tuple[float, float] | None = None,
) -> FitView:
    """Return data for <timbre-fit>: the range of the voice, and the notes of a recording (from `analysis_view`), or of
    a stretch of it, in seconds.

    `auto` is the shift `transpose: auto` would give, as far as known beforehand; None without a recording, or if no
    part of it has a pitch. `best` is the key that leaves the fewest notes outside the range: {semitones, outside}, with
    the share outside, 0..1; None without notes or without a range. Raises NotFound for an unknown voice.
    """
    model = find_model(studio.database, account, model_id)
    card = card_of(studio, model)
    summary = looked_at.summary if looked_at else None
    is_sung = summary is not None and summary.style == "melodic"
    voice = ends_of(model, card, is_sung if summary else None)
    source, histogram = summary.pitch if summary else None, looked_at.pitch_histogram if looked_at else []
    if looked_at and stretch:
        found = stretch_view(studio, account, looked_at.id, *stretch)
        source, histogram = found.pitch, found.pitch_histogram
    seconds = _seconds(histogram)
    auto = None
    if source is not None and card is not None:
        heard = PitchStatistics(source.low, source.median, source.high)
        auto = fitting_key(heard, seconds, card, is_sung)
    best = _best(seconds, voice.low, voice.high)
    return FitView(voice=voice, histogram=histogram, auto=auto, best=best)


def suited_voice(
    studio: Studio, account: Account, model_ids: Sequence[str], looked_at: AnalysedRecording
) -> str | None:
    """Return the voice that a recording (from `analysis_view`) suits best, as `_suited` has it. None where nothing is
    known of either."""
    return next((model_id for model_id, _ in _suited(studio, account, model_ids, looked_at, None)), None)


def better_suited(
    studio: Studio,
    account: Account,
    model_id: str,
    model_ids: Sequence[str],
    looked_at: AnalysedRecording,
    stretch: tuple[float, float] | None = None,
) -> list[SuitedVoice]:
    """Return voices to take instead of one that does not suit a recording in any key within an octave, the best
    first; none if it suits, or if nothing is known of it."""
    chosen = fit_view(studio, account, model_id, looked_at, stretch)
    if chosen.best is None or _move(chosen) <= OCTAVE:
        return []
    order = [(one, fit.voice.name) for one, fit in _suited(studio, account, model_ids, looked_at, stretch)]
    place = next((place for place, (one, _) in enumerate(order) if one == model_id), len(order))
    return [SuitedVoice(id=one, name=name) for one, name in order[:place][:_MOST_OTHERS]]


def _suited(
    studio: Studio,
    account: Account,
    model_ids: Sequence[str],
    looked_at: AnalysedRecording,
    stretch: tuple[float, float] | None,
) -> list[tuple[str, FitView]]:
    """Return the voices of which anything is known, the best suited first: that which the recording has to be moved
    least for, with few notes outside its range; of such one that `auto` moves it least for, and one that sings or
    speaks as it does."""
    found = []
    summary = looked_at.summary
    is_sung = summary is not None and summary.style == "melodic"
    for model_id in model_ids:
        fit = fit_view(studio, account, model_id, looked_at, stretch)
        (low, high), auto = (fit.voice.low, fit.voice.high), fit.auto
        if low is None or high is None or auto is None:
            continue
        outside = round(share_outside(_seconds(fit.histogram), low, high, auto), 2)
        card = card_of(studio, find_model(studio.database, account, model_id))
        is_alike = card is not None and (card.sung_pitch if is_sung else card.spoken_pitch) is not None
        found.append(((_move(fit), abs(auto), not is_alike, outside), (model_id, fit)))
    return [one for _, one in sorted(found, key=lambda one: one[0])]


def _move(fit: FitView) -> int:
    """Return the fewest semitones, up or down, that leave few notes outside the range; more than an octave for none."""
    (low, high), seconds = (fit.voice.low, fit.voice.high), _seconds(fit.histogram)
    if low is None or high is None:
        return OCTAVE + 1
    fits = (by for by in range(OCTAVE + 1) if any(share_outside(seconds, low, high, one) <= _FEW for one in (by, -by)))
    return next(fits, OCTAVE + 1)


def _seconds(histogram: Sequence[PitchSeconds]) -> NDArray[np.float64]:
    seconds = np.zeros(SEMITONES)
    for one in histogram:
        seconds[one.midi] = one.seconds
    return seconds


def _best(seconds: NDArray[np.float64], low: int | None, high: int | None) -> BestShift | None:
    if low is None or high is None or not seconds.any():
        return None
    best = best_key(seconds, low, high)
    return BestShift(semitones=best.semitones, outside=best.outside)

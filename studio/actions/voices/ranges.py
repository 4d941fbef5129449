"""Ranges: how what a recording asks for fits the ranges of the voices, and the transposition that suits each best."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from engine.analysis.notes import SEMITONES
from engine.analysis.pitch_statistics import PitchStatistics
from engine.conversion.key_fit import best_key, fitting_key, share_outside
from engine.conversion.pitch_shaping import OCTAVE
from engine.errors import VoiceError
from engine.units import note_number
from engine.voices.card import CARD_FILE, DEMO_VOICES, VoiceCard, load_card, read_card
from studio.actions.analysis_views import AnalysedRecording, stretch_view
from studio.errors import NotFound
from studio.store.accounts import Account
from studio.store.catalogue import Model, find_model
from studio.store.records.analysis import PitchSeconds
from studio.store.records.codec import Record
from studio.store.studio import Studio
from studio.store.voice_folders import untrained_prefix

_LARGEST_CARD = 4 << 20  # bytes
_FEW = 0.05  # of the voiced time: so much of it may be outside a range that suits
_MOST_OTHERS = 2  # voices that are named instead of one that does not suit


@dataclass(frozen=True, kw_only=True)
class VoiceEnds(Record):
    """The name of a voice, and its range in MIDI note numbers where it sings or speaks as the recording does.

    estimated: which of the two, where no recording of the voice does it and the range is an estimate.
    """

    name: str
    low: int | None
    high: int | None
    estimated: Literal["spoken", "sung"] | None


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
    card = _read_card(studio, model)
    summary = looked_at.summary if looked_at else None
    is_sung = summary is not None and summary.style == "melodic"
    voice_range = model.card.vocal_range or (card.vocal_range if card is not None else {})
    estimated: Literal["spoken", "sung"] | None = None
    if card is not None and summary is not None:
        fitted = replace(card, vocal_range=voice_range).range_where(is_sung)
        estimated = None if fitted == voice_range else "sung" if is_sung else "spoken"
        voice_range = fitted
    ends = [note_number(voice_range[end]) if voice_range.get(end) else None for end in ("min", "max")]
    source, histogram = summary.pitch if summary else None, looked_at.pitch_histogram if looked_at else []
    if looked_at and stretch:
        found = stretch_view(studio, account, looked_at.id, *stretch)
        source, histogram = found.pitch, found.pitch_histogram
    seconds = _seconds(histogram)
    auto = None
    if source is not None and card is not None:
        heard = PitchStatistics(source.low, source.median, source.high)
        auto = fitting_key(heard, seconds, card, is_sung)
    return FitView(
        voice=VoiceEnds(name=model.name, low=ends[0], high=ends[1], estimated=estimated),
        histogram=histogram,
        auto=auto,
        best=_best(seconds, ends),
    )


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
        card = _read_card(studio, find_model(studio.database, account, model_id))
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


def _best(seconds: NDArray[np.float64], ends: list[int | None]) -> BestShift | None:
    low, high = ends
    if low is None or high is None or not seconds.any():
        return None
    best = best_key(seconds, low, high)
    return BestShift(semitones=best.semitones, outside=best.outside)


def _read_card(studio: Studio, model: Model) -> VoiceCard | None:
    """Return the card in the voice's own folder or the untrained one; None if unreadable."""
    try:
        if model.is_demo:
            return load_card(DEMO_VOICES / model.id)
        place = untrained_prefix(model) if model.is_untrained else model.voice_key
        if place is None:
            return None
        content = b"".join(studio.storage.read(f"{place}/{CARD_FILE}", 0, _LARGEST_CARD))
        return read_card(content, f"'{model.id}'")
    except (VoiceError, NotFound):
        return None

"""A voice between two voices.

Every voice's decoder is fine-tuned from one base, so a blend is a weighted mean: of the decoders, of the timbres, and
of all that is measured of a voice. What has been stated of the two, licence, source and consent, is not averaged: a
blend is made of both, so it carries what holds for both.
"""

import math
import re
from dataclasses import fields
from itertools import chain, zip_longest
from numbers import Real

import torch
from torch import Tensor

from engine.analysis.pitch_statistics import PitchStatistics
from engine.analysis.vocal_range import FEMALE, MALE, VocalRange, voice_type
from engine.errors import SettingsError
from engine.features.speaker_timbre import SPREAD
from engine.networks.envelope_decoder import between_decoders
from engine.texts import tr
from engine.units import note_name, note_number
from engine.voices.card import VoiceCard, card_text
from engine.voices.card_rules import PitchName
from engine.voices.voice import Voice

_MOST_TRAITS = 6
_UNSTATED = tr("not stated")
_PARTS = re.compile(r" and | \(partly |\)$")  # between the licences of what is itself a blend
_CREATIVE_COMMONS = re.compile(r"CC0|CC[- ]BY|^$", re.IGNORECASE)
_CLAUSES = re.compile(r"(?<![A-Z])(BY|NC|SA|ND)(?![A-Z])", re.IGNORECASE)  # what one of them can ask


def blend_voices(first: Voice, second: Voice, share: float, name: str, identifier: str) -> Voice:
    """Blend two voices; at a share of 0 and 1 the blend sounds exactly like one of them.

    It has no preview yet: that is rendered with it.

    Parameters
    ----------
    first, second : Voice
        The voices to blend.
    share : float
        Of the second, 0..1.
    name, identifier : str
        Of the new voice.

    Returns
    -------
    Voice
        With the licence, source and consent of both.

    Raises
    ------
    SettingsError
        For a share outside 0..1.
    VoiceError
        For a name or an id that no voice can have.

    Examples
    --------
    >>> from engine import load_voice
    >>> between = blend_voices(load_voice("kathleen"), load_voice("kerstin"), 0.3, "Kathrin", "kathrin")
    >>> between.card.name, between.card.licence
    ('Kathrin', 'CC-BY-4.0 (recordings CC0-1.0)')
    """
    if isinstance(share, bool) or not isinstance(share, Real) or not 0.0 <= share <= 1.0:
        raise SettingsError(tr("share must be a number from 0 to 1, not {share}.", share=share))
    share = float(share)
    card = _blended_card(first.card, second.card, share, name, identifier)
    card_text(card)  # what cannot be saved is refused now
    return Voice(
        card,
        _between(first.timbre, second.timbre, share),
        _blended_spread(first.spread, second.spread, share),
        _between(first.centre, second.centre, share),
        _between(first.contrast, second.contrast, share),
        between_decoders(first.decoder, second.decoder, share),
        _blended_frames(first.retrieval_frames, second.retrieval_frames, share),
    )


def _between(first: Tensor, second: Tensor, share: float) -> Tensor:
    """Return the weighted mean, at the ends exactly one of the two, which torch.lerp does not guarantee."""
    if share in (0.0, 1.0):
        return (second if share else first).clone()
    return (1.0 - share) * first + share * second


def _blended_spread(first: Tensor, second: Tensor, share: float) -> Tensor:
    """Directions (SPREAD, TIMBRE) whose covariance is the weighted mean of the two, as far as SPREAD of them go.

    Directions have neither order nor sign that means anything, so their mean would not either; covariances have one.
    The rows below each other, weighted by square roots, have just that mean as their covariance.
    """
    if share in (0.0, 1.0):
        return _between(first, second, share)
    rows = torch.cat([math.sqrt(1.0 - share) * first, math.sqrt(share) * second])
    _, sizes, directions = torch.linalg.svd(rows, full_matrices=False)
    found = sizes[:SPREAD, None] * directions[:SPREAD]
    # one sign of two that mean the same, so that every computer gives the same takes
    largest = found.gather(1, found.abs().argmax(1, keepdim=True))
    return torch.where(largest < 0, -found, found)


def _blended_frames(first: Tensor, second: Tensor, share: float) -> Tensor:
    """Mix the retrieval frames of both voices, (frames, CONTENT), by share, evenly spaced over each.

    Frames are selected, not averaged: the mean of two would be a sound that neither voice has made. If one voice has
    no frames, all of the other's are kept, because few frames are worse than those of one voice alone.
    """
    if share in (0.0, 1.0) or not len(first) or not len(second):
        return (second if share == 1.0 or (share > 0.0 and not len(first)) else first).clone()
    most = max(len(first), len(second))
    return torch.cat([_spread_evenly(first, (1.0 - share) * most), _spread_evenly(second, share * most)])


def _spread_evenly(frames: Tensor, count: float) -> Tensor:
    kept = min(len(frames), max(1, round(count)))
    return frames[torch.linspace(0, len(frames) - 1, kept).round().long()]


# ---- the card ----


def _blended_card(first: VoiceCard, second: VoiceCard, share: float, name: str, identifier: str) -> VoiceCard:
    nearer = second if share > 0.5 else first
    parts = [card for card, part in ((first, 1.0 - share), (second, share)) if part > 0.0]
    notes = {
        end: _mean(note_number(first.vocal_range[end]), note_number(second.vocal_range[end]), share)
        for end in ("min", "max")
    }
    vocal_range = {end: note_name(number) for end, number in notes.items()}
    pitch = _blended_pitch(first.pitch, second.pitch, share)
    known = _known_pitches(
        parts, *(_blended_pitch(first.pitch_where(sung), second.pitch_where(sung), share) for sung in (False, True))
    )
    return VoiceCard(
        id=identifier,
        name=name,
        gender=nearer.gender,
        age=nearer.age,
        description=_description(first, second, share),
        base_language=nearer.base_language,
        traits=_traits(parts, nearer),
        genre=nearer.genre,
        voice_type=_voice_type(parts, vocal_range, pitch, nearer.gender),
        vocal_range=vocal_range,
        pitch=pitch,
        bandwidth_hertz=round(_mean(first.bandwidth_hertz, second.bandwidth_hertz, share)),
        licence=_licence([card.licence for card in parts]),
        source="; ".join(dict.fromkeys(card.source or f"{card.name}: {_UNSTATED}" for card in parts)),
        consent=_consent(parts),
        corpus_speaker=parts[0].corpus_speaker if len(parts) == 1 else "",
        training={"blend": {"share": share, "voices": [_origin(first), _origin(second)]}},
        spoken_pitch=known.get("spoken_pitch"),
        sung_pitch=known.get("sung_pitch"),
        estimated={name: where for name, where in known.items() if any(name in card.estimates for card in parts)},
    )


def _known_pitches(
    parts: list[VoiceCard], spoken: PitchStatistics, sung: PitchStatistics
) -> dict[PitchName, PitchStatistics]:
    """Return those of the two pitches that were recorded of one of the voices at least."""
    found: dict[PitchName, PitchStatistics] = {"spoken_pitch": spoken, "sung_pitch": sung}
    return {name: pitch for name, pitch in found.items() if any(getattr(card, name) for card in parts)}


def _mean(first: float, second: float, share: float) -> float:
    return (1.0 - share) * first + share * second


def _blended_pitch(first: PitchStatistics, second: PitchStatistics, share: float) -> PitchStatistics:
    return PitchStatistics(
        *(
            round(_mean(getattr(first, one.name), getattr(second, one.name), share), 2)
            for one in fields(PitchStatistics)
        )
    )


def _description(first: VoiceCard, second: VoiceCard, share: float) -> str:
    percent = round(100 * share)
    return tr(
        "A blend of {first} ({first_percent} %) and {second} ({second_percent} %).",
        first=first.name,
        first_percent=100 - percent,
        second=second.name,
        second_percent=percent,
    )


def _traits(parts: list[VoiceCard], nearer: VoiceCard) -> list[str]:
    """Those of both in turn, the nearer one's first, each once."""
    lists = [card.traits for card in sorted(parts, key=lambda card: card is not nearer)]
    in_turn = [trait for trait in chain.from_iterable(zip_longest(*lists)) if trait is not None]
    return list(dict.fromkeys(in_turn))[:_MOST_TRAITS]


def _voice_type(
    parts: list[VoiceCard], vocal_range: dict[str, str], pitch: PitchStatistics, gender: str | None
) -> str | None:
    """Return the value both share, or else the one between them that the blended range fits."""
    ladder, stated = FEMALE + MALE, {card.voice_type for card in parts}
    if len(stated) == 1:
        return stated.pop()
    steps = [ladder.index(name) for name in ladder if name in stated]
    between = ladder[steps[0] : steps[-1] + 1] if len(steps) == 2 else ladder
    return voice_type(VocalRange(vocal_range["min"], vocal_range["max"], pitch.median), gender, among=between)


def _licence(licences: list[str]) -> str:
    """One licence where it covers the other; else both, since a blend must keep to both."""
    stated = list(dict.fromkeys(text or _UNSTATED for text in licences))
    if len(stated) == 1:
        return "" if stated == [_UNSTATED] else stated[0]
    first, second = stated
    if _asked(first) >= _asked(second):
        return tr("{first} (partly {second})", first=first, second=second)
    if _asked(second) > _asked(first):
        return tr("{second} (partly {first})", second=second, first=first)
    return tr("{first} and {second}", first=first, second=second)


def _asked(licence: str) -> set[str]:
    """Return the terms of a licence: its clauses, or its whole text if it is not one of Creative Commons'."""
    asked = set()
    for one in _PARTS.split(licence):
        if _CREATIVE_COMMONS.search(one):
            asked |= {clause.upper() for clause in _CLAUSES.findall(one)}
        else:
            asked.add(one)
    return asked


def _consent(parts: list[VoiceCard]) -> dict[str, str]:
    """Return the statements of both under their names, empty ones too."""
    if len(parts) == 1:
        return dict(parts[0].consent)
    keys = dict.fromkeys(chain.from_iterable(card.consent for card in parts))
    stated = {key: [f"{card.name}: {card.consent.get(key) or _UNSTATED}" for card in parts] for key in keys}
    return {key: "; ".join(texts) for key, texts in stated.items()}


def _origin(card: VoiceCard) -> dict[str, str | dict[str, str]]:
    """Return the record of a voice in a blend, word for word."""
    return {
        "id": card.id,
        "name": card.name,
        "licence": card.licence,
        "source": card.source,
        "consent": dict(card.consent),
    }

"""Voice cards: description, avatar, state and preview of each voice, and how it fits a recording."""

import colorsys
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict

import numpy as np
from typing_extensions import TypedDict

from engine.analysis.notes import SEMITONES
from engine.analysis.pitch_statistics import PitchStatistics
from engine.conversion.key_fit import best_key, fitting_key, share_outside
from engine.errors import EngineError, VoiceError
from engine.texts import numeral, tr
from engine.units import note_number
from engine.voices.card import CARD_FILE, DEMO_VOICES, PREVIEW_FILE, TRAIN_AGAIN, VoiceCard, load_card, read_card
from engine.voices.card_rules import STUDIO
from studio.actions.analyses import AnalysedRecording, NoteSeconds, stretch_view
from studio.actions.checkpoints import stored_card
from studio.actions.voices import VoiceView, model_view
from studio.errors import NotFound
from studio.store.accounts import Account
from studio.store.catalogue import COMPLETED, Model, all_models, find_model
from studio.store.records.cards import PublishedVoice
from studio.store.studio import Studio
from studio.store.workspaces import untrained_prefix

LEAST_CONTRAST = 4.5  # of the initials on the colour, for WCAG 2.2 AA
_SATURATION, _LIGHTEST = 0.55, 0.46
_BARS = 5
_SALT = 9632  # with which the demo voices look least alike
_KINDS = {(True, True): tr("speaks and sings"), (True, False): tr("speaks"), (False, True): tr("sings")}
DEMO_PREVIEWS = "/demo-voices"  # the page serves the folders of the demo voices here
_LARGEST_CARD = 4 << 20  # bytes


class Avatar(TypedDict):
    """How a voice is shown: #rrggbb, on which white is legible, and heights 0..1 of a small waveform."""

    colour: str
    initials: str
    bars: list[float]


class VoiceCardView(PublishedVoice):
    """A voice for <timbre-voices>.

    state: TRAIN_AGAIN if it was made with an earlier base; uses: what it is good for; untrained: whether it can convert
    only because that is allowed untrained.
    """

    state: str
    untrained: bool
    demo: bool
    avatar: Avatar
    uses: list[str]
    preview_url: str | None


class VoiceDetails(VoiceView):
    """All that is known about a voice, here.

    kind: studio or rvc; learned: minutes, epochs and scores of its training, or the voices it was blended from.
    """

    avatar: Avatar
    uses: list[str]
    preview_url: str | None
    kind: str
    has_recordings: bool
    learned: Mapping[str, object]


def avatar_of(name: str) -> Avatar:
    """Return how a voice with this name is shown.

    >>> avatar_of("Kathleen") == avatar_of(" kathleen ")
    True
    """
    digest = hashlib.sha256(f"{_SALT} {' '.join(name.split()).casefold()}".encode()).digest()
    hue = int.from_bytes(digest[12:14], "big") / 65536
    return {
        "colour": _legible(hue),
        "initials": _initials(name),
        "bars": [round(0.25 + 0.75 * byte / 255, 2) for byte in digest[:_BARS]],
    }


def contrast(colour: str) -> float:
    """Return the contrast of white on a colour (WCAG 2.2)."""
    channels = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [one / 12.92 if one <= 0.04045 else ((one + 0.055) / 1.055) ** 2.4 for one in channels]
    return 1.05 / (0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2] + 0.05)


def _legible(hue: float) -> str:
    """Return the lightest colour of this hue on which white is legible."""
    lightness = _LIGHTEST
    while contrast(colour := _hex(hue, lightness)) < LEAST_CONTRAST:
        lightness -= 0.01
    return colour


def _hex(hue: float, lightness: float) -> str:
    return "#" + "".join(f"{round(255 * one):02x}" for one in colorsys.hls_to_rgb(hue, lightness, _SATURATION))


def _initials(name: str) -> str:
    """Return the first letters of the first and the last word, or the first of one word."""
    words = ["".join(sign for sign in word if sign.isalnum()) for word in name.split()]
    words = [word for word in words if word]
    if not words:
        return "?"
    return (words[0][0] + words[-1][0] if len(words) > 1 else words[0][:1]).upper()[:2]


def uses_of(card: Mapping[str, object]) -> list[str]:
    """Return what a card says a voice is good for, the most important first; nothing is guessed.

    >>> uses_of({"sung_pitch": {"low": 50.0}, "training": {"minutes": 11.5, "scores": {"likeness": 0.94}}})
    ['sings', '12 min of training', 'likeness 0.94']
    """
    kind = _KINDS.get((bool(card.get("spoken_pitch")), bool(card.get("sung_pitch"))))
    uses = [kind] if kind else []
    learned = _object(card.get("training"))
    if isinstance(minutes := learned.get("minutes"), int | float):
        uses.append(tr("{minutes} min of training", minutes=numeral(minutes, ".0f")) if minutes >= 1 else tr(
            "{minutes} s of training",
            minutes=numeral(60 * minutes, ".0f"),
        ))
    scores = _object(learned.get("scores"))
    if isinstance(score := scores.get("likeness"), int | float):
        uses.append(tr("likeness {score}", score=numeral(score, ".2f")))
    if isinstance(score := scores.get("content"), int | float):
        uses.append(tr("clarity {score}", score=numeral(score, ".2f")))
    if learned.get("blend"):
        uses.append("a blend")
    return uses


def _object(value: object) -> Mapping[str, object]:
    return value if isinstance(value, dict) else {}


def voice_cards(
    studio: Studio, account: Account, base_url: str, now_s: float, ready_only: bool = True
) -> list[VoiceCardView]:
    """Return cards of the account's voices, and then of the demo voices, each by name, for <timbre-voices>.

    ready_only: only those that can convert, trained or untrained.
    """
    found = sorted(all_models(studio.database, account), key=lambda model: model.is_demo)
    return [
        _card(studio, model, base_url, now_s)
        for model in found
        if model.state == COMPLETED or model.is_usable_untrained or not ready_only
    ]


def voice_details(studio: Studio, account: Account, model_id: str, base_url: str, now_s: float) -> VoiceDetails:
    """Return all that is known about a voice. Raises NotFound."""
    model = find_model(studio.database, account, model_id)
    try:
        card = load_card(DEMO_VOICES / model.id) if model.is_demo else stored_card(studio, model)
    except EngineError:  # it is being replaced
        card = None
    return {
        **model_view(studio, account, model_id),
        "state": _state(model),
        "untrained": model.is_usable_untrained,
        "avatar": avatar_of(model.name),
        "uses": [] if card is None else uses_of(asdict(card)),
        "preview_url": preview_link(studio, model, base_url, now_s),
        "kind": model.card.get("kind") or STUDIO,
        "has_recordings": model.dataset_key is not None,
        "learned": card.training if card is not None else {},
    }


def preview_link(studio: Studio, model: Model, base_url: str, now_s: float) -> str | None:
    """Return the link to a voice's preview; None if it has none."""
    if model.is_demo:
        return f"{studio.base_url(base_url)}{DEMO_PREVIEWS}/{model.id}/{PREVIEW_FILE}"
    if model.voice_key is None:
        return None
    key = f"{model.voice_key}/{PREVIEW_FILE}"
    home = studio.storage.folder(key)
    if home is not None and not home.exists():  # remote storage: a request per voice, for few without one
        return None
    # further training changes the preview under the same key, and browsers cache it
    return f"{studio.link(key, base_url, now_s)}&changed={model.updated_at:.0f}"


def _card(studio: Studio, model: Model, base_url: str, now_s: float) -> VoiceCardView:
    return {
        **model.published,
        "state": _state(model),
        "untrained": model.is_usable_untrained,
        "demo": model.is_demo,
        "avatar": avatar_of(model.name),
        "uses": uses_of(_whole_card(studio, model)),
        "preview_url": preview_link(studio, model, base_url, now_s),
    }


def _whole_card(studio: Studio, model: Model) -> Mapping[str, object]:
    """Return the card with what it states about the training, where that is a file and not a request."""
    if model.is_demo or model.voice_key is None or studio.storage.folder(model.voice_key) is None:
        return model.card
    try:
        card = stored_card(studio, model)
    except EngineError:  # it is being replaced
        return model.card
    return model.card if card is None else asdict(card)


def _state(model: Model) -> str:
    return TRAIN_AGAIN if model.must_be_trained_again else model.state


class VoiceEnds(TypedDict):
    """The name of a voice, and its range in MIDI note numbers."""

    name: str
    low: int | None
    high: int | None


class BestShift(TypedDict):
    """The key that leaves the fewest notes outside the range, and the share outside, 0..1."""

    semitones: int
    outside: float


class FitView(TypedDict):
    """Data of <timbre-fit>."""

    voice: VoiceEnds
    histogram: Sequence[NoteSeconds]
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
    voice_range = model.card.get("vocal_range") or (card.vocal_range if card is not None else {})
    ends = [note_number(voice_range[end]) if voice_range.get(end) else None for end in ("min", "max")]
    summary = looked_at["summary"] if looked_at else None
    source, histogram = summary["pitch"] if summary else None, looked_at["pitch_histogram"] if looked_at else []
    if looked_at and stretch:
        found = stretch_view(studio, account, looked_at["id"], *stretch)
        source, histogram = found["pitch"], found["pitch_histogram"]
    seconds = _seconds(histogram)
    auto = None
    if source is not None and card is not None:
        heard = PitchStatistics(source["low"], source["median"], source["high"])
        auto = fitting_key(heard, seconds, card, summary is not None and summary["style"] == "melodic")
    return {
        "voice": {"name": model.name, "low": ends[0], "high": ends[1]},
        "histogram": histogram,
        "auto": auto,
        "best": _best(seconds, ends),
    }


def suited_voice(
    studio: Studio, account: Account, model_ids: Sequence[str], looked_at: AnalysedRecording
) -> str | None:
    """Return the voice that a recording (from `analysis_view`) suits best: with the fewest notes outside its range as
    `auto` transposes it; of such one that sings or speaks as it does, with the smallest shift. None where nothing is
    known of either."""
    suits = []
    summary = looked_at["summary"]
    is_sung = summary is not None and summary["style"] == "melodic"
    for place, model_id in enumerate(model_ids):
        fit = fit_view(studio, account, model_id, looked_at)
        low, high, auto = fit["voice"]["low"], fit["voice"]["high"], fit["auto"]
        if low is None or high is None or auto is None:
            continue
        outside = share_outside(_seconds(fit["histogram"]), low, high, auto)
        card = _read_card(studio, find_model(studio.database, account, model_id))
        is_alike = card is not None and (card.sung_pitch if is_sung else card.spoken_pitch) is not None
        suits.append((round(outside, 2), not is_alike, abs(auto), place))
    return model_ids[min(suits)[-1]] if suits else None


def _seconds(histogram: Sequence[NoteSeconds]) -> np.ndarray:
    seconds = np.zeros(SEMITONES)
    for one in histogram:
        seconds[one["midi"]] = one["seconds"]
    return seconds


def _best(seconds: np.ndarray, ends: list[int | None]) -> BestShift | None:
    low, high = ends
    if low is None or high is None or not seconds.any():
        return None
    best = best_key(seconds, low, high)
    return {"semitones": best.semitones, "outside": best.outside}


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

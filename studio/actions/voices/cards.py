"""Voice cards: description, avatar, state and preview of each voice."""

import colorsys
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from engine.errors import EngineError
from engine.texts import numeral, tr
from engine.units import note_name
from engine.voices.card import DEMO_VOICES, PREVIEW_FILE, TRAIN_AGAIN, load_card
from engine.voices.card_rules import STUDIO
from studio.actions.trainings.checkpoints import stored_card
from studio.actions.voices.voice import VoiceView, model_view
from studio.store.accounts import Account
from studio.store.catalogue import COMPLETED, Model, all_models, find_model
from studio.store.records.cards import Voice
from studio.store.records.codec import Record
from studio.store.studio import Studio

LEAST_CONTRAST = 4.5  # of the initials on the colour, for WCAG 2.2 AA
_SATURATION, _LIGHTEST = 0.55, 0.46
_ESTIMATED = {
    "spoken_pitch": tr("would speak about {note} (estimated)"),
    "sung_pitch": tr("would sing about {note} (estimated)"),
}
_BARS = 5
_SALT = 9632  # with which the demo voices look least alike
SPEAKS = tr("speaks")  # what a voice is for that was not recorded singing: of no choir, whatever its range
_KINDS = {(True, True): tr("speaks and sings"), (True, False): SPEAKS, (False, True): tr("sings")}
DEMO_PREVIEWS = "/demo-voices"  # the page serves the folders of the demo voices here


@dataclass(frozen=True, kw_only=True)
class Avatar(Record):
    """How a voice is shown: #rrggbb, on which white is legible, and heights 0..1 of a small waveform."""

    colour: str
    initials: str
    bars: list[float]


@dataclass(frozen=True, kw_only=True)
class VoiceCardView(Voice):
    """A voice for <timbre-voices>.

    state: TRAIN_AGAIN if it was made with an earlier base; uses: what it is good for; untrained: whether it can convert
    only because that is allowed untrained; estimated: which range `vocal_range` is, where it is one of no recording.
    """

    state: str
    untrained: bool
    demo: bool
    avatar: Avatar
    uses: list[str]
    preview_url: str | None
    estimated: Literal["spoken", "sung"] | None = None


@dataclass(frozen=True, kw_only=True)
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
    return Avatar(
        colour=_legible(hue),
        initials=_initials(name),
        bars=[round(0.25 + 0.75 * byte / 255, 2) for byte in digest[:_BARS]],
    )


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
    for name, pitch in _object(card.get("estimated")).items():
        if isinstance(median := _object(pitch).get("median"), int | float):
            uses.append(_ESTIMATED[name].format(note=note_name(round(median))))
    learned = _object(card.get("training"))
    if isinstance(minutes := learned.get("minutes"), int | float):
        uses.append(
            tr("{minutes} min of training", minutes=numeral(minutes, ".0f"))
            if minutes >= 1
            else tr("{minutes} s of training", minutes=numeral(60 * minutes, ".0f"))
        )
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
    return VoiceDetails(
        **{**vars(model_view(studio, account, model_id)), "state": _state(model)},
        avatar=avatar_of(model.name),
        uses=[] if card is None else uses_of(card.values),
        preview_url=preview_link(studio, model, base_url, now_s),
        kind=model.card.kind or STUDIO,
        has_recordings=model.dataset_key is not None,
        learned=card.training if card is not None else {},
    )


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
    return VoiceCardView(
        **vars(model.published),
        state=_state(model),
        untrained=model.is_usable_untrained,
        demo=model.is_demo,
        avatar=avatar_of(model.name),
        uses=uses_of(_whole_card(studio, model)),
        preview_url=preview_link(studio, model, base_url, now_s),
    )


def _whole_card(studio: Studio, model: Model) -> Mapping[str, object]:
    """Return the card with what it states about the training, where that is a file and not a request."""
    if model.is_demo or model.voice_key is None or studio.storage.folder(model.voice_key) is None:
        return vars(model.card)
    try:
        card = stored_card(studio, model)
    except EngineError:  # it is being replaced
        return vars(model.card)
    return vars(model.card) if card is None else card.values


def _state(model: Model) -> str:
    return TRAIN_AGAIN if model.must_be_trained_again else model.state

"""Settings of the effects on a finished vocal, their ranges and presets. All effects are off by default."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

from engine.errors import SettingsError
from engine.settings import check_settings, refuse_unknown, setting, with_ranges
from engine.texts import tr

OFF = "off"

_MOST_EQ_DB = 12.0


@with_ranges
@dataclass(frozen=True)
class EffectSettings:
    """Effects in the order of the signal: noise reduction, EQ, de-esser, compressor, reverb.

    `EffectSettings.presets` has some by name. Raises SettingsError for a value outside its range.

    Examples
    --------
    >>> EffectSettings().is_off, EffectSettings.presets["hall"].is_off
    (True, False)
    >>> EffectSettings(reverb=2.0)
    Traceback (most recent call last):
    engine.errors.SettingsError: reverb must be a number from 0.0 to 1.0, not 2.0.
    """

    presets: ClassVar[dict[str, "EffectSettings"]]

    denoise: float = setting(
        0.0, 0.0, 1.0, tr("Reduces steady noise such as hiss and hum: 0 is off, 1 removes most of it.")
    )
    low_cut_hertz: float = setting(0.0, 0.0, 400.0, tr("Removes rumble and pops below this frequency; 0 is off."))
    low_db: float = setting(0.0, -_MOST_EQ_DB, _MOST_EQ_DB, tr("EQ, low shelf at 200 Hz: warmth or mud."))
    middle_db: float = setting(0.0, -_MOST_EQ_DB, _MOST_EQ_DB, tr("EQ, bell at 2.5 kHz: presence."))
    high_db: float = setting(0.0, -_MOST_EQ_DB, _MOST_EQ_DB, tr("EQ, high shelf at 8 kHz: air."))
    de_ess: float = setting(
        0.0, 0.0, 1.0, tr("Softens sharp s and sh sounds above 5 kHz: 0 is off, 1 can make a voice lisp.")
    )
    compressor_ratio: float = setting(1.0, 1.0, 10.0, tr("How strongly loud notes are turned down; 1 is off."))
    compressor_threshold_db: float = setting(
        -3.0, -30.0, 10.0, tr("Where the compressor begins, relative to the average level of the vocal.")
    )
    reverb: float = setting(0.0, 0.0, 1.0, tr("How much reverb is mixed in: 0 is dry, 1 is far away in the room."))
    reverb_size: float = setting(
        0.4, 0.0, 1.0, tr("The size of the room of the reverb: 0 is a small one, 1 is a cathedral.")
    )

    def __post_init__(self) -> None:
        """Raise SettingsError, naming the setting and its range, for any value outside it."""
        check_settings(self)

    @property
    def is_off(self) -> bool:
        """Whether no effect changes the sound."""
        amounts = (self.denoise, self.low_cut_hertz, self.low_db, self.middle_db, self.high_db, self.de_ess)
        return not any(amounts) and self.compressor_ratio == 1.0 and not self.reverb


EffectSettings.presets = {
    OFF: EffectSettings(),
    "clean": EffectSettings(denoise=0.6, low_cut_hertz=80.0, de_ess=0.4),
    "vocal": EffectSettings(
        low_cut_hertz=90.0, low_db=-1.5, middle_db=1.5, high_db=2.0, de_ess=0.5, compressor_ratio=3.0, reverb=0.12
    ),
    "speech": EffectSettings(
        denoise=0.4, low_cut_hertz=80.0, middle_db=1.0, de_ess=0.5, compressor_ratio=4.0, compressor_threshold_db=-8.0
    ),
    "hall": EffectSettings(low_cut_hertz=80.0, compressor_ratio=2.0, reverb=0.35, reverb_size=0.8),
}

Effects = str | Mapping[str, Any]  # the name of a preset, or fields of EffectSettings; omitted ones are off


def effects_of(chosen: "EffectSettings | Effects") -> EffectSettings:
    """Return the effects of a preset, or of single values. Raises SettingsError for what is neither.

    >>> effects_of("hall").reverb, effects_of({"reverb": 0.2}).reverb
    (0.35, 0.2)
    """
    if isinstance(chosen, EffectSettings):
        return chosen
    if isinstance(chosen, str):
        return effects_named(chosen)
    refuse_unknown(EffectSettings, chosen)
    return EffectSettings(**chosen)


def written_effects(text: str) -> Effects:
    """Return effects from text: the name of a preset, or a JSON object of single values. Raises SettingsError.

    >>> written_effects("hall"), written_effects('{"reverb": 0.2}')["reverb"]
    ('hall', 0.2)
    """
    chosen: Effects = text
    if text.startswith("{"):
        try:
            chosen = json.loads(text)
        except (ValueError, RecursionError) as cause:
            raise SettingsError(tr("The effects are not valid JSON ({cause}).", cause=cause)) from cause
    return plain_effects(chosen)


def plain_effects(chosen: Effects) -> Effects:
    """Return effects as they are stored: the preset that has these values, else the values.

    >>> plain_effects({"reverb": 0.2})["reverb"], plain_effects({"low_db": 0.0})
    (0.2, 'off')
    """
    settings = effects_of(chosen)
    return next((name for name, one in EffectSettings.presets.items() if one == settings), asdict(settings))


def effects_named(preset: str) -> EffectSettings:
    """Return the effects of a preset. Raises SettingsError for an unknown one.

    >>> effects_named("clean").de_ess
    0.4
    """
    if preset not in EffectSettings.presets:
        raise SettingsError(
            tr(
                "There are no effects '{preset}'; there are: {presets}.",
                preset=preset,
                presets=", ".join(EffectSettings.presets),
            )
        )
    return EffectSettings.presets[preset]

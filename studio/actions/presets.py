"""Presets that a user saves: settings of a conversion under a name, for the page and the command line."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from engine.conversion.settings import AUTO, ConversionSettings, by_style
from engine.effects.settings import OFF, Effects, effects_of, plain_effects
from engine.spelling import composed
from engine.texts import ntr, tr
from studio.errors import Invalid, NotFound
from studio.store import presets
from studio.store.accounts import Account
from studio.store.studio import Studio

LONGEST_NAME = 60
MOST_PRESETS = 200  # per account
_OWN = {AUTO, *ConversionSettings.presets}


@dataclass(frozen=True)
class Preset:
    """What a preset sets. style: the preset of ConversionSettings that it changes; settings: the changed fields."""

    style: str
    settings: Mapping[str, Any]
    effects: Effects = OFF


def preset_names(studio: Studio, account: Account) -> list[str]:
    """Return the names of the presets that the account has saved, sorted."""
    return list(presets.all_presets(studio.database, account.id))


def find_preset(studio: Studio, account: Account, name: str) -> Preset:
    """Return a saved preset. Raises NotFound, and SettingsError for one that an other version has saved."""
    saved = presets.all_presets(studio.database, account.id)
    kept = saved.get(name) or saved.get(composed(name))
    if kept is None:
        names = ", ".join([*sorted(_OWN), *preset_names(studio, account)])
        raise NotFound(tr(
            "There is no preset '{name}'; the presets are: {names}.",
            name=name, names=names,
        ), "preset_not_found")
    found = Preset(kept["style"], kept["settings"], kept.get("effects", OFF))
    _check(found)
    return found


def save_preset(studio: Studio, account: Account, name: str, preset: Preset) -> str:
    """Save a preset, in place of the one with this name; return the name as it is kept.

    Raises Invalid for a name that cannot be used, or too many presets, and SettingsError for a value out of range.
    """
    name = composed(" ".join(name.split()))
    if not 1 <= len(name) <= LONGEST_NAME or not name.isprintable():
        raise Invalid([("name", ntr(
            "Give the preset a name of 1 to {longest_name} printable character.",
            "Give the preset a name of 1 to {longest_name} printable characters.",
            longest_name=LONGEST_NAME,
        ))])
    if name.casefold() in _OWN:
        raise Invalid([("name", tr(
            "'{name}' is the name of a preset that is always there: choose another.",
            name=name,
        ))])
    _check(preset)
    kept = {"style": preset.style, "settings": dict(preset.settings), "effects": plain_effects(preset.effects)}
    if not presets.save(studio.database, account.id, name, kept, MOST_PRESETS):
        raise Invalid([("name", ntr(
            "There is {most_presets} preset already: delete it first.",
            "There are {most_presets} presets already: delete one first.",
            most_presets=MOST_PRESETS,
        ))], "too_many_presets")
    return name


def delete_preset(studio: Studio, account: Account, name: str) -> None:
    """Delete a saved preset; conversions made with it stay. Raises NotFound."""
    presets.remove(studio.database, account.id, name)


def _check(preset: Preset) -> None:
    by_style(preset.style, preset.settings)
    effects_of(preset.effects)

"""What an account prefers of its results: format, mp3 rate, and how files are named."""

import string
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from engine.errors import SettingsError
from engine.settings import check_settings, setting, text_setting
from engine.texts import ntr, tr
from studio.store import presets
from studio.store.accounts import Account
from studio.store.database import Database

FORMATS = ("wav", "flac", "mp3", "m4a")
PARTS = ("recording", "voice", "take", "date", "transpose")  # of a name
_LONGEST_PATTERN = 120


@dataclass(frozen=True)
class Preferences:
    """How results are written.

    >>> Preferences(naming="{voice} sings {recording}").naming
    '{voice} sings {recording}'
    >>> Preferences(naming="{singer}")
    Traceback (most recent call last):
    engine.errors.SettingsError: naming has no part {singer}; the parts are {recording}, {voice}, {take}, {date}, \
{transpose}.
    """

    format: str = text_setting("wav", tr("The format that is offered first."), FORMATS)
    mp3_kbps: int = setting(0, 0, 320, tr("The constant rate of mp3 files from 32 on; 0: the best variable rate."))
    naming: str = text_setting(
        "{recording} - {voice} {take}",
        tr("How files are named: any text with {recording}, {voice}, {take}, {date} and {transpose}."),
    )

    def __post_init__(self) -> None:
        """Raise SettingsError, naming the setting, for a value that cannot be used."""
        check_settings(self)
        if 0 < self.mp3_kbps < 32:
            raise SettingsError(tr("mp3_kbps must be 0 or from 32 to 320, not {mp3_kbps}.", mp3_kbps=self.mp3_kbps))
        try:
            parts = [(name, spec or conversion) for _, name, spec, conversion in string.Formatter().parse(self.naming)]
        except ValueError as cause:
            raise SettingsError(tr("naming has a brace without its other half.")) from cause
        known = ", ".join(f"{{{one}}}" for one in PARTS)
        for name, more in parts:
            if name is not None and (name not in PARTS or more):
                raise SettingsError(tr("naming has no part {{name}}; the parts are {known}.", name=name, known=known))
        if not self.naming.strip() or len(self.naming) > _LONGEST_PATTERN:
            raise SettingsError(ntr(
                "naming must have 1 to {longest_pattern} character.",
                "naming must have 1 to {longest_pattern} characters.",
                longest_pattern=_LONGEST_PATTERN,
            ))


def preferences_of(database: Database, account: Account) -> Preferences:
    """Return what the account prefers; the defaults for what another version has kept and this one cannot use."""
    try:
        return Preferences(**presets.preferences_of(database, account.id))
    except (SettingsError, TypeError):
        return Preferences()


def change_preferences(database: Database, account: Account, changes: Mapping[str, Any]) -> Preferences:
    """Change some of what the account prefers, and return all. Raises SettingsError; then nothing is changed."""
    changed = replace(preferences_of(database, account), **changes)
    presets.set_preferences(database, account.id, asdict(changed))
    return changed

"""What belongs to an account: preferences, how its files are named, presets and tokens."""

import re
import string
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from datetime import datetime
from pathlib import PurePath
from types import MappingProxyType

from engine.audio.result_format import PUBLISHED, ResultFormat
from engine.conversion.settings import AUTO, ConversionSettings, by_style
from engine.effects.settings import OFF, Effects, effects_of, plain_effects
from engine.errors import SettingsError
from engine.files import shortened
from engine.settings import check_settings, from_values, setting, text_setting
from engine.spelling import composed, nearest
from engine.texts import ntr, tr
from studio.errors import Invalid, NotFound, TooMany
from studio.store import presets
from studio.store.accounts import Account
from studio.store.catalogue import names_of
from studio.store.database import Database
from studio.store.records.codec import Record
from studio.store.records.conversion import Conversion, Rendered, Settings
from studio.store.studio import Studio
from studio.store.take_labels import label_of
from studio.store.tasks import Task
from studio.store.tokens import Token, create_token, list_tokens, revoke_token

FORMATS = ("wav", "flac", "mp3", "m4a")
PARTS = ("recording", "voice", "take", "date", "transpose")  # of a name
_LONGEST_PATTERN = 120
_UNFIT = re.compile(r'[\s\x00-\x1f\x7f"*/:<>?\\|]+')  # not allowed in file names on some system
_LONGEST_STEM_BYTES = 200  # file systems allow 255, including the extension and a copy number
_LEAST_OF_RECORDING_BYTES = 60  # kept of the recording's name, however long the voice's is
LONGEST_NAME = 60
MOST_PRESETS = 200  # per account
_OWN = {AUTO, *ConversionSettings.presets}
MOST_TOKENS = 100  # valid ones per account
_DAY_S = 86400.0
_LATER_S = 1.0
_OF_FORM = {one.name: one.metadata for one in fields(ResultFormat)}


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
    mp3_kbps: int = setting(
        0, 0, 320, tr("The constant bit rate of mp3 files, at least 32; 0: the best variable rate.")
    )
    naming: str = text_setting(
        "{recording} - {voice} {take}",
        tr("How files are named: any text with {recording}, {voice}, {take}, {date} and {transpose}."),
    )
    rate: str = field(default=PUBLISHED.rate, metadata=_OF_FORM["rate"])
    bits: str = field(default=PUBLISHED.bits, metadata=_OF_FORM["bits"])

    @property
    def form(self) -> ResultFormat:
        """The form of the results of new conversions."""
        return ResultFormat(self.rate, self.bits)

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
            raise SettingsError(
                ntr(
                    "naming must have 1 to {longest_pattern} character.",
                    "naming must have 1 to {longest_pattern} characters.",
                    longest_pattern=_LONGEST_PATTERN,
                )
            )


def preferences_of(database: Database, account: Account) -> Preferences:
    """Return what the account prefers; the defaults for what another version has kept and this one cannot use."""
    try:
        return from_values(Preferences, presets.preferences_of(database, account.id))
    except (SettingsError, TypeError):
        return Preferences()


def change_preferences(database: Database, account: Account, changes: Mapping[str, object]) -> Preferences:
    """Change some of what the account prefers, and return all. Raises SettingsError; then nothing is changed."""
    changed = from_values(Preferences, asdict(preferences_of(database, account)) | dict(changes))
    presets.set_preferences(database, account.id, asdict(changed))
    return changed


def voice_names(database: Database, account: Account, tasks: Sequence[Task]) -> dict[str, str | None]:
    """Map each task's id to its voice's name, even after deletion; None without a voice."""
    named = names_of(database, account, {task.model_id for task in tasks if task.model_id})
    return {task.id: task.model_name or named.get(task.model_id or "", task.model_id) for task in tasks}


def voice_name(database: Database, account: Account, task: Task) -> str:
    """Return the voice's name of one task; "" without a voice."""
    return voice_names(database, account, [task])[task.id] or ""


def name_of_take(database: Database, account: Account, task: Task, take: int, kind: str) -> str:
    """Name an existing take as `named_take` does, by the pattern that the account prefers."""
    rendered = task.result_as(Rendered)
    transpose = rendered.output_settings.transpose if rendered.output_settings else 0
    day = datetime.fromtimestamp(task.created_at).strftime("%Y-%m-%d")
    voice, takes = voice_name(database, account, task), len(rendered.outputs)
    pattern, facts = preferences_of(database, account).naming, {"date": day, "transpose": f"{transpose:+g}"}
    name = label_of(task, take).name
    return named_take(task.asked_as(Conversion).file_name, voice, take, takes, kind, name, pattern, facts)


def named_take(
    file_name: str,
    voice: str,
    take: int,
    takes: int,
    kind: str,
    name: str = "",
    pattern: str = Preferences().naming,
    facts: Mapping[str, str] = MappingProxyType({"date": "", "transpose": ""}),
) -> str:
    """Name the file of a take by a pattern: recording, voice, the take if there are several, and its given `name`.

    take, takes: its number, and how many there are. facts: the other parts of the pattern. The recording's name is
    shortened first, then the voice's: what distinguishes the takes stays. A pattern without {take} gets its number at
    the end.
    """
    number = " ".join(filter(None, [str(take) if takes > 1 else "", _fit(name)]))
    pattern = pattern if "{take}" in pattern or not number else f"{pattern} {{take}}"
    parts = {**facts, "take": number, "recording": "", "voice": ""}
    recording, voice = _fit(PurePath(file_name).stem), _fit(voice)
    room = _LONGEST_STEM_BYTES - len(pattern.format(**parts).encode())
    recording = shortened(recording, max(room - len(voice.encode()), _LEAST_OF_RECORDING_BYTES))
    voice = shortened(voice, room - len(recording.encode()))
    return named_file(pattern.format(**parts | {"recording": recording, "voice": voice}) or "take", kind)


def named_file(stem: str, kind: str) -> str:
    """Turn any text into a file name that is valid on every system."""
    return f"{shortened(_fit(stem), _LONGEST_STEM_BYTES)}.{kind}"


def unlike(name: str, taken: set[str]) -> str:
    """Return the name, numbered if one of those `taken` is the same on any system, and take it."""
    path, other, number = PurePath(name), name, 2
    while other.casefold() in taken:
        other, number = f"{path.stem} ({number}){path.suffix}", number + 1
    taken.add(other.casefold())
    return other


def _fit(text: str) -> str:
    return _UNFIT.sub(" ", text).strip()


@dataclass(frozen=True)
class Preset:
    """What a preset sets. style: the preset of ConversionSettings that it changes; settings: the changed fields."""

    style: str
    settings: Settings
    effects: Effects = OFF


def preset_names(studio: Studio, account: Account) -> list[str]:
    """Return the names of the presets that the account has saved, sorted."""
    return list(presets.all_presets(studio.database, account.id))


def find_preset(studio: Studio, account: Account, name: str) -> Preset:
    """Return a saved preset. Raises NotFound, and SettingsError for one that an other version has saved."""
    saved = presets.all_presets(studio.database, account.id)
    kept = saved.get(name) or saved.get(composed(name))
    if kept is None:
        known = [*sorted(_OWN), *preset_names(studio, account)]
        if meant := nearest(name, known):
            text = tr("There is no preset '{name}': did you mean {meant}?", name=name, meant=meant)
            raise NotFound(text, "preset_not_found")
        names = ", ".join(known)
        raise NotFound(
            tr("There is no preset '{name}'; the presets are: {names}.", name=name, names=names), "preset_not_found"
        )
    found = Preset(kept["style"], kept["settings"], kept.get("effects", OFF))
    _check(found)
    return found


def save_preset(studio: Studio, account: Account, name: str, preset: Preset) -> str:
    """Save a preset, in place of the one with this name; return the name as it is kept.

    Raises Invalid for a name that cannot be used, or too many presets, and SettingsError for a value out of range.
    """
    name = composed(" ".join(name.split()))
    if not 1 <= len(name) <= LONGEST_NAME or not name.isprintable():
        raise Invalid(
            [
                (
                    "name",
                    ntr(
                        "Give the preset a name of 1 to {longest_name} printable character.",
                        "Give the preset a name of 1 to {longest_name} printable characters.",
                        longest_name=LONGEST_NAME,
                    ),
                )
            ]
        )
    if name.casefold() in _OWN:
        raise Invalid([("name", tr("'{name}' is a built-in preset: choose another name.", name=name))])
    _check(preset)
    kept: presets.StoredPreset = {
        "style": preset.style,
        "settings": dict(preset.settings),
        "effects": plain_effects(preset.effects),
    }
    if not presets.save(studio.database, account.id, name, kept, MOST_PRESETS):
        raise Invalid(
            [
                (
                    "name",
                    ntr(
                        "There is {most_presets} preset already: delete it first.",
                        "There are {most_presets} presets already: delete one first.",
                        most_presets=MOST_PRESETS,
                    ),
                )
            ],
            "too_many_presets",
        )
    return name


def delete_preset(studio: Studio, account: Account, name: str) -> None:
    """Delete a saved preset; conversions made with it stay. Raises NotFound."""
    presets.remove(studio.database, account.id, name)


def _check(preset: Preset) -> None:
    by_style(preset.style, preset.settings)
    effects_of(preset.effects)


@dataclass(frozen=True, kw_only=True)
class TokenView(Record):
    """A token without its secret; state: valid, expired or revoked. Times are seconds since 1970."""

    id: str
    name: str
    state: str
    created_at: float
    expires_at: float | None
    used_at: float | None


def tokens_view(studio: Studio, account: Account) -> list[TokenView]:
    """Return the account's tokens without secrets, newest first."""
    return [_view(one) for one in reversed(list_tokens(studio.database, account))]


def make_token(studio: Studio, account: Account, name: str, expires_days: float | None) -> tuple[TokenView, str]:
    """Create a token; return it and its secret, which is never shown again. Raises Invalid, TooMany."""
    if sum(one.is_valid for one in list_tokens(studio.database, account)) >= MOST_TOKENS:
        raise TooMany(
            ntr(
                "There is already {most_tokens} token: revoke it first.",
                "There are already {most_tokens} tokens: revoke one first.",
                most_tokens=MOST_TOKENS,
            ),
            _LATER_S,
            "too_many_tokens",
        )
    expires_s = None if expires_days is None else expires_days * _DAY_S
    token, secret = create_token(studio.database, account, name, expires_s)
    return _view(token), secret


def withdraw_token(studio: Studio, account: Account, token_id: str) -> TokenView:
    """Revoke a token of the account for good. Raises NotFound."""
    if not any(one.id == token_id and one.is_valid for one in list_tokens(studio.database, account)):
        raise NotFound(tr("This token has expired or been revoked."), "token_not_found")
    return _view(revoke_token(studio.database, token_id, account))


def _view(token: Token) -> TokenView:
    state = "valid" if token.is_valid else "expired" if token.revoked_at is None else "revoked"
    return TokenView(
        id=token.id,
        name=token.name,
        state=state,
        created_at=token.created_at,
        expires_at=token.expires_at,
        used_at=token.used_at,
    )

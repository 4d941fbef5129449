"""Readable names of voices and files."""

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import PurePath
from types import MappingProxyType

from engine.files import shortened
from studio.actions.preferences import Preferences, preferences_of
from studio.store.accounts import Account
from studio.store.catalogue import names_of
from studio.store.database import Database
from studio.store.records.conversion import Conversion, Rendered
from studio.store.take_labels import label_of
from studio.store.tasks import Task

_UNFIT = re.compile(r'[\s\x00-\x1f\x7f"*/:<>?\\|]+')  # not allowed in file names on some system
_LONGEST_STEM_BYTES = 200  # file systems allow 255, including the extension and a copy number
_LEAST_OF_RECORDING_BYTES = 60  # kept of the recording's name, however long the voice's is


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

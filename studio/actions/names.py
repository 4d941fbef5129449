"""What voices and files are called for people."""

import re
from collections.abc import Sequence
from pathlib import PurePath

from studio.store.accounts import Account
from studio.store.catalogue import names_of
from studio.store.database import Database
from studio.store.tasks import Task

_UNFIT = re.compile(r'[\s\x00-\x1f\x7f"*/:<>?\\|]+')  # in names of files, on one system or another
_LONGEST_STEM_BYTES = 200  # file systems take 255, with the kind and what tells two copies apart
_LEAST_OF_RECORDING_BYTES = 60  # of its name before the voice's, however long that is


def voice_names(database: Database, account: Account, tasks: Sequence[Task]) -> dict[str, str | None]:
    """By the task's id: the voice's name, also of one that has been deleted since; None without a voice."""
    named = names_of(database, account, {task.model_id for task in tasks if task.model_id})
    return {task.id: task.model_name or named.get(task.model_id or "", task.model_id) for task in tasks}


def voice_name(database: Database, account: Account, task: Task) -> str:
    """The same of one task; "" without a voice."""
    return voice_names(database, account, [task])[task.id] or ""


def name_of_take(database: Database, account: Account, task: Task, take: int, kind: str) -> str:
    """As `named_take`, of a take that there is."""
    takes = len((task.result or {}).get("outputs", []))
    return named_take(task.parameters["file_name"], voice_name(database, account, task), take, takes, kind)


def named_take(file_name: str, voice: str, take: int, takes: int, kind: str) -> str:
    """What the file of a take is called: recording, voice and, where there are several, the take.

    The recording's name is what is shortened first, then the voice's: takes are told apart by what comes after both.
    """
    number = f" {take}" if takes > 1 else ""
    recording, voice = _fit(PurePath(file_name).stem), _fit(voice)
    room = _LONGEST_STEM_BYTES - len(f" - {number}".encode())
    recording = _cut(recording, max(room - len(voice.encode()), _LEAST_OF_RECORDING_BYTES))
    voice = _cut(voice, room - len(recording.encode()))
    return named_file(f"{recording} - {voice}{number}", kind)


def named_file(stem: str, kind: str) -> str:
    """A name that a file can have on every system, made of whatever text."""
    return f"{_cut(_fit(stem), _LONGEST_STEM_BYTES)}.{kind}"


def _fit(text: str) -> str:
    return _UNFIT.sub(" ", text).strip()


def _cut(text: str, most_bytes: int) -> str:
    return text.encode()[:most_bytes].decode(errors="ignore").strip()

"""Takes to download: converted to other formats on request, with readable file names."""

from pathlib import PurePath
from typing import Any

from engine.audio.stems import cut_recording
from engine.effects.settings import Effects
from engine.texts import tr
from studio.actions.arrivals import workplace
from studio.actions.effects import wet_take
from studio.actions.names import name_of_take
from studio.actions.preferences import FORMATS, preferences_of
from studio.errors import Invalid, NotFound
from studio.store.accounts import Account
from studio.store.kinds import CONVERSION
from studio.store.records.conversion import Rendered
from studio.store.storage import StoredFile
from studio.store.studio import Studio
from studio.store.tasks import Task, find


def take_download(
    studio: Studio,
    account: Account,
    task_id: str,
    take: int,
    kind: str,
    base_url: str,
    now_s: float,
    effects: Effects | None = None,
) -> dict[str, str]:
    """Return the `url` and `name` of a take in this format, which is made on first request and kept beside the take.

    take: 1 for the first; effects: instead of its own. Names and mp3 are as the account prefers them. Raises NotFound,
    Invalid for a format not in FORMATS, DiskFull, Unavailable.
    """
    task = find(studio.database, account.id, task_id, kind=CONVERSION)
    kbps = preferences_of(studio.database, account).mp3_kbps
    key = stored_take(studio, task, take, kind, effects=effects, mp3_kbps=kbps)
    return {"url": studio.link(key, base_url, now_s), "name": name_of_take(studio.database, account, task, take, kind)}


def first_take(studio: Studio, account: Account, task_id: str, kind: str) -> StoredFile:
    """Return the first take of a completed conversion in this format. Raises as `take_download`, also Invalid
    for one that has failed or was cancelled, with the reason."""
    task = find(studio.database, account.id, task_id, kind=CONVERSION)
    if task.state != "completed":
        raise Invalid([("file", task.error or tr("The conversion was cancelled."))], task.error_code or task.state)
    found = studio.storage.head(stored_take(studio, task, 1, kind))
    if found is None:
        raise NotFound(tr("The takes of this conversion have been deleted."), "file_not_found")
    return found


def stored_take(
    studio: Studio, task: Task, take: int, kind: str, *, effects: Effects | None = None, mp3_kbps: int = 0
) -> str:
    """Return the key of a take in this format, made on first request. Raises as `take_download`."""
    if kind not in FORMATS:
        raise Invalid([("format", tr("The formats are {formats}, not {kind}.", formats=", ".join(FORMATS), kind=kind))])
    original = wet_take(studio, task, take, effects)
    rate = f".{mp3_kbps}" if kind == "mp3" and mp3_kbps else ""
    key = str(PurePath(original).with_suffix(f"{rate}.{kind}"))
    if key != original and studio.storage.head(key) is None:
        with workplace(studio) as place:
            made = place / f"take.{kind}"
            statement = task.result_as(Rendered).statement
            source = studio.storage.fetch(original, place)
            cut_recording(source, made, statement=statement, installation=studio.installation, mp3_kbps=mp3_kbps)
            studio.storage.put_file(made, key)
    return key


def offered(preferred: str = FORMATS[0]) -> list[dict[str, Any]]:
    """Return the downloads <timbre-player> offers, the preferred format first; all are made on request."""
    return [{"label": one} for one in (preferred, *(other for other in FORMATS if other != preferred))]

"""Takes to download: converted to other formats on request, with readable file names."""

from pathlib import PurePath
from typing import Any

from engine.audio.streams import cut_recording
from engine.provenance.statement import Statement
from studio.actions.arrivals import workplace
from studio.actions.conversions import KIND
from studio.actions.names import name_of_take
from studio.actions.repeats import key_of_take
from studio.errors import Invalid
from studio.store.accounts import Account
from studio.store.studio import Studio
from studio.store.tasks import Task, find

FORMATS = ("wav", "flac", "mp3", "m4a")


def take_download(
    studio: Studio, account: Account, task_id: str, take: int, kind: str, base_url: str, now_s: float
) -> dict[str, str]:
    """Return the `url` and `name` of a take in this format, which is made on first request and kept beside the take.

    take: 1 for the first. Raises NotFound, Invalid for a format not in FORMATS, DiskFull, Unavailable.
    """
    task = find(studio.database, account.id, task_id, kind=KIND)
    key = stored_take(studio, task, take, kind)
    return {"url": studio.link(key, base_url, now_s), "name": name_of_take(studio.database, account, task, take, kind)}


def stored_take(studio: Studio, task: Task, take: int, kind: str) -> str:
    """Return the key of a take in this format, made on first request. Raises as `take_download`."""
    if kind not in FORMATS:
        raise Invalid([("format", f"The formats are {', '.join(FORMATS)}, not {kind}.")])
    original = key_of_take(task, take)
    key = str(PurePath(original).with_suffix(f".{kind}"))
    if key != original and studio.storage.head(key) is None:
        with workplace(studio) as place:
            made = place / f"take.{kind}"
            stated = (task.result or {}).get("statement")
            statement = Statement(**stated) if stated else None  # of a task before 0.9
            source = studio.storage.fetch(original, place)
            cut_recording(source, made, statement=statement, installation=studio.installation)
            studio.storage.put_file(made, key)
    return key


def offered(first: dict[str, Any] | None = None) -> list[dict[str, Any]]:
    """Return the downloads <timbre-player> offers: the first exists, the others are made on request."""
    return [first | {"label": FORMATS[0]} if first else {"label": FORMATS[0]}, *({"label": one} for one in FORMATS[1:])]

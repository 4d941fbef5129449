"""Several recordings at once: one conversion each, and all takes in one zip."""

import hashlib
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import NotRequired

from typing_extensions import TypedDict

from engine.conversion.settings import AUTO
from engine.effects.settings import OFF, Effects
from engine.errors import EngineError
from engine.texts import ntr, tr
from studio.actions.account import name_of_take, named_file, preferences_of, unlike, voice_name
from studio.actions.conversions.conversion import ConversionRequest, start_conversion
from studio.actions.conversions.downloads import stored_take
from studio.actions.conversions.views import key_of_take
from studio.actions.recordings import shown_name
from studio.actions.uploads import scratch_folder
from studio.errors import Invalid, NotFound, WrongState
from studio.executors.recovery import end_training
from studio.store.accounts import Account
from studio.store.kinds import CONVERSION
from studio.store.records.conversion import Conversion, Rendered, Settings
from studio.store.studio import Cost, Studio, costs
from studio.store.tasks import ACTIVE, find, request_cancel

MOST_FILES = 100


class Row(TypedDict):
    """A recording of a batch. task: None where it could not be queued; the other fields are in a view."""

    file_name: str
    task: str | None
    error: str | None
    state: NotRequired[str]
    progress: NotRequired[float]
    warning: NotRequired[str | None]
    url: NotRequired[str]


def start_batch(
    studio: Studio,
    account: Account,
    recordings: Sequence[tuple[Path, str]],
    *,
    model: str,
    settings: Settings,
    preset: str = AUTO,
    effects: Effects = OFF,
) -> list[Row]:
    """Queue a conversion of each recording (a file to move, and its name); return a row for each, in order.

    The voice may be untrained. A row is {file_name, task, error}; a recording that fails gets an `error`, and the
    others are still converted. Raises Invalid for no recordings, or too many.
    """
    if not 1 <= len(recordings) <= MOST_FILES:
        text = ntr(
            "Add 1 to {most_files} recording, not {recordings}.",
            "Add 1 to {most_files} recordings, not {recordings}.",
            most_files=MOST_FILES,
            recordings=len(recordings),
        )
        raise Invalid([("recordings", text)])
    form = preferences_of(studio.database, account).form
    request = ConversionRequest(model, settings, preset, untrained=True, effects=effects, form=form)
    rows: list[Row] = []
    for path, file_name in recordings:
        row: Row = {"file_name": shown_name(file_name), "task": None, "error": None}
        try:
            row["task"] = start_conversion(studio, account, path, file_name, request)
        except EngineError as error:
            row["error"] = str(error)
        rows.append(row)
    return rows


def batch_view(
    studio: Studio, account: Account, rows: Sequence[Row], base_url: str = "", now_s: float = 0.0
) -> list[Row]:
    """Return the rows with the present `state`, `progress`, `error` and `warning` of each task, and a link to its
    first take."""
    found: list[Row] = []
    for row in rows:
        now: Row = {"file_name": row["file_name"], "task": row["task"], "error": row.get("error")}
        now |= {"state": "failed", "progress": 0.0, "warning": None}
        if row["task"]:
            try:
                task = find(studio.database, account.id, row["task"], kind=CONVERSION)
                now |= {"state": task.state, "progress": task.progress, "error": task.error}
                now["warning"] = task.result_as(Rendered).warning
                if task.state == "completed" and task.outputs_deleted_at is None:
                    now["url"] = studio.link(key_of_take(task, 1), base_url, now_s)
            except NotFound:
                now["error"] = tr("This conversion has been deleted.")
        found.append(now)
    return found


def cancel_batch(studio: Studio, account: Account, rows: Sequence[Row]) -> None:
    """Cancel all tasks that have not ended."""
    for row in batch_view(studio, account, rows):
        if row["task"] and row["state"] in ACTIVE:
            try:
                request_cancel(studio.database, account.id, row["task"], also=end_training)
            except WrongState:
                continue  # it ended meanwhile


@costs(Cost.APART)
def batch_zip(
    studio: Studio, account: Account, rows: Sequence[Row], kind: str, base_url: str, now_s: float
) -> dict[str, str]:
    """Zip all takes, or return the zip made before, which is kept with the first: its `url` and `name`.

    kind: the format of the takes. Raises NotFound if there are no takes, DiskFull, Unavailable.
    """
    done = [row["task"] for row in batch_view(studio, account, rows) if row["task"] and row["state"] == "completed"]
    tasks = [find(studio.database, account.id, task, kind=CONVERSION) for task in done]
    tasks = [task for task in tasks if task.outputs_deleted_at is None]
    if not tasks:
        raise NotFound(tr("None of these conversions has a result to download."), "no_results")
    place_of_first = tasks[0].asked_as(Conversion).input_key.rpartition("/")[0]
    digest = hashlib.sha256("\n".join([kind, *(task.id for task in tasks)]).encode()).hexdigest()[:16]
    key = f"{place_of_first}/batch-{digest}.zip"
    if studio.storage.head(key) is None:
        with scratch_folder(studio) as scratch:
            made, taken = scratch / "batch.zip", set[str]()
            with zipfile.ZipFile(made, "w", zipfile.ZIP_STORED) as archive:  # audio hardly compresses
                for task in tasks:
                    for take in range(1, len(task.result_as(Rendered).outputs) + 1):
                        file = studio.storage.fetch(stored_take(studio, task, take, kind), scratch / task.id)
                        archive.write(file, unlike(name_of_take(studio.database, account, task, take, kind), taken))
            studio.storage.put_file(made, key)
    voice = voice_name(studio.database, account, tasks[0])
    return {
        "url": studio.link(key, base_url, now_s),
        "name": named_file(
            ntr("{voice} - {tasks} recording", "{voice} - {tasks} recordings", tasks=len(tasks), voice=voice), "zip"
        ),
    }

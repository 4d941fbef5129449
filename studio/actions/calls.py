"""What somebody has done on the page as the calls of the service that do the same."""

import shlex
from collections.abc import Iterator
from typing import Any

from studio.actions.conversions import KIND as CONVERSION
from studio.actions.trainings import KIND as TRAINING
from studio.store.accounts import Account
from studio.store.studio import Studio
from studio.store.tasks import Task, list_tasks

ORIGIN = "{origin}"  # where the service is, as the browser knows it
_LOOKED_AT = 20  # tasks, of which the newest that the service has a call for is taken
_TOKEN = '-H "Authorization: Bearer $TOKEN"'
_SEAM = " \\\n  "  # of a line that goes on in the next
_NAMES = {"takes": "generations_count"}  # of settings that are published under another


def last_call(studio: Studio, account: Account) -> dict[str, str] | None:
    """What was done last, in words, and the lines of curl that do it again; None before there is anything.

    Where the settings do not say where the service is, ORIGIN stands in its place; where a token is to be, $TOKEN.
    """
    for task in list_tasks(studio.database, account.id, limit=_LOOKED_AT)[0]:
        if lines := list(_lines(task, studio.base_url(ORIGIN))):
            return {"what": _what(task), "command": "\n".join(lines)}
    return None


def _lines(task: Task, base_url: str) -> Iterator[str]:
    given = task.parameters
    if task.kind == CONVERSION and "edit" not in given:
        fields = [_file("audio", given.get("file_name") or "recording.wav"), _field("model", task.model_id)]
        fields += [_field("untrained", "true")] if given.get("untrained") else []
        fields += [_field("preset", given["preset"])] if given.get("preset", "auto") != "auto" else []
        fields += [_field(_NAMES.get(name, name), value) for name, value in given["settings"].items()]
        yield _SEAM.join([f"curl -X POST {base_url}/convert", _TOKEN, *fields])
        yield _SEAM.join([f"curl {base_url}/check-task/{task.id}", _TOKEN])
    if task.kind == TRAINING:
        yield _SEAM.join(
            [f"curl -X POST {base_url}/models/{task.model_id}/train", _TOKEN, _field("epochs", given["epochs"])]
        )


def _what(task: Task) -> str:
    if task.kind == TRAINING:
        return f"Training {task.model_id} for {task.parameters['epochs']} epochs"
    return f"Converting {task.parameters.get('file_name') or 'a recording'} to {task.model_id}"


def _field(name: str, value: Any) -> str:
    return f"-F {shlex.quote(f'{name}={value}')}"


def _file(name: str, file_name: str) -> str:
    """A file to be sent: curl reads a name in quotes to their end, whatever is in it."""
    escaped = file_name.replace("\\", "\\\\").replace('"', '\\"')
    return "-F " + shlex.quote(f'{name}=@"{escaped}"')

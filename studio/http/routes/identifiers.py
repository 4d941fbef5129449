"""Ids in addresses and forms: invalid ones are unknown, and never reach the database."""

import re

from engine.texts import tr
from engine.voices.card_rules import is_identifier
from studio.errors import NotFound
from studio.http.routes.fields import shown

_TASK_ID = re.compile(r"[0-9a-z]{1,32}")
_PROJECT_ID = re.compile(r"[0-9a-z]{6,64}")


def known_task_id(given: str) -> str:
    """Return `given` if it can be a task's id. Raises NotFound."""
    unknown = tr("There is no task {given}. GET /tasks lists all tasks.", given=shown(given))
    return _known(given, bool(_TASK_ID.fullmatch(given)), unknown, "task_not_found")


def known_project_id(given: str) -> str:
    """Return `given` if it can be a project's id. Raises NotFound."""
    unknown = tr("There is no project {given}. GET /projects lists all projects.", given=shown(given))
    return _known(given, bool(_PROJECT_ID.fullmatch(given)), unknown, "project_not_found")


def known_model_id(given: str) -> str:
    """Return `given` if it can be a voice's id. Raises NotFound."""
    unknown = tr("There is no voice {given}. GET /models lists the voices you can use.", given=shown(given))
    return _known(given, is_identifier(given), unknown, "model_not_found")


def known_callback_id(given: str) -> str:
    """Return `given` if it can be a callback's id. Raises NotFound."""
    unknown = tr("There is no callback {given}. GET /callbacks lists all callbacks.", given=shown(given))
    return _known(given, bool(_TASK_ID.fullmatch(given)), unknown, "callback_not_found")


def _known(given: str, is_possible: bool, unknown: str, code: str) -> str:
    if not is_possible:
        raise NotFound(unknown, code)
    return given

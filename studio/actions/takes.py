"""Name and star the takes of a conversion; the names are in the history and in file names."""

from typing import Any

from engine.spelling import composed
from engine.texts import ntr
from studio.actions.repeats import key_of_take
from studio.errors import Invalid
from studio.store.accounts import Account
from studio.store.kinds import CONVERSION
from studio.store.studio import Studio
from studio.store.take_labels import TakeLabel, label_of, write_label
from studio.store.tasks import find

LONGEST_NAME = 60


def label_take(
    studio: Studio, account: Account, task_id: str, take: int, name: str | None = None, starred: bool | None = None
) -> dict[str, Any]:
    """Give a take a name, "" for none, and a star, or take it away; None leaves them as they are.

    take: 1 for the first. Returns {number, name, starred}. Raises NotFound, and Invalid for a name that is no line of
    text or has more than LONGEST_NAME characters.
    """
    task = find(studio.database, account.id, task_id, kind=CONVERSION)
    key_of_take(task, take)
    before = label_of(task, take)
    wanted = TakeLabel(
        before.name if name is None else _checked(name), before.starred if starred is None else bool(starred)
    )
    with studio.database.write() as connection:
        write_label(connection, task, take, wanted)
    return {"number": take, "name": wanted.name, "starred": wanted.starred}


def _checked(name: str) -> str:
    name = composed(" ".join(name.split()))
    if not name.isprintable() or len(name) > LONGEST_NAME:
        raise Invalid([("name", ntr(
            "name must be a line of text of at most {longest_name} character.",
            "name must be a line of text of at most {longest_name} characters.",
            longest_name=LONGEST_NAME,
        ))])
    return name

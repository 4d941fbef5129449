"""Saved settings of conversions, by name, and what an account prefers."""

from collections.abc import Mapping
from typing import NotRequired

from sqlalchemy import delete, func, select, update
from typing_extensions import TypedDict

from engine.effects.settings import Effects
from engine.spelling import composed, folded
from engine.texts import tr
from studio.errors import NotFound
from studio.store.database import Database, Now, insert_into
from studio.store.tables import accounts, presets


class StoredPreset(TypedDict):
    """A preset as its row has it; style: the preset of ConversionSettings whose fields the settings change."""

    style: str
    settings: Mapping[str, int | float | str]
    effects: NotRequired[Effects]


def all_presets(database: Database, account_id: str) -> dict[str, StoredPreset]:
    """Return the presets of an account by their names, sorted."""
    wanted = select(presets.c.name, presets.c.conversion).where(presets.c.account_id == account_id)
    with database.read() as connection:
        found = {row.name: row.conversion for row in connection.execute(wanted)}
    return dict(sorted(found.items(), key=lambda one: folded(one[0])))


def save(database: Database, account_id: str, name: str, conversion: StoredPreset, most: int) -> bool:
    """Save a preset, in place of the one with this name; return False if there are `most` others already."""
    with database.write() as connection:
        others = select(func.count()).where(presets.c.account_id == account_id, presets.c.name != name)
        if (connection.scalar(others) or 0) >= most:
            return False
        values = {"conversion": conversion, "saved_at": Now()}
        added = insert_into(connection, presets).values(account_id=account_id, name=name, **values)
        connection.execute(added.on_conflict_do_update(index_elements=["account_id", "name"], set_=values))
        return True


def remove(database: Database, account_id: str, name: str) -> None:
    """Delete a preset. Raises NotFound."""
    with database.write() as connection:
        gone = delete(presets).where(presets.c.account_id == account_id, presets.c.name.in_({name, composed(name)}))
        if not connection.execute(gone).rowcount:
            raise NotFound(tr("There is no preset '{name}'.", name=name), "preset_not_found")


def preferences_of(database: Database, account_id: str) -> Mapping[str, object]:
    """Return what an account prefers; empty for the defaults."""
    with database.read() as connection:
        return connection.scalar(select(accounts.c.preferences).where(accounts.c.id == account_id)) or {}


def set_preferences(database: Database, account_id: str, preferences: Mapping[str, object]) -> None:
    with database.write() as connection:
        connection.execute(update(accounts).where(accounts.c.id == account_id).values(preferences=preferences))

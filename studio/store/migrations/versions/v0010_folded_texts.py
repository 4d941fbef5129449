"""Fold the texts that searches compare: without accents, as well as without case."""

import sqlalchemy as sa
from alembic import op

from engine.spelling import folded
from studio.store.catalogue import name_sort_key

revision = "0010"
down_revision = "0009"
_AT_ONCE = 500

_models = sa.table("models", sa.column("number"), sa.column("name"), sa.column("folded_name"), sa.column("texts"))
_tasks = sa.table("tasks", sa.column("id"), sa.column("texts"))
_projects = sa.table("projects", sa.column("account_id"), sa.column("id"), sa.column("texts"))


def upgrade() -> None:
    """Fold what earlier versions only folded by case."""
    connection = op.get_bind()
    for row in connection.execute(sa.select(_models)).all():
        values = {"folded_name": name_sort_key(row.name), "texts": folded(row.texts)}
        connection.execute(sa.update(_models).where(_models.c.number == row.number).values(values))
    for row in connection.execute(sa.select(_projects)).all():
        own = sa.and_(_projects.c.account_id == row.account_id, _projects.c.id == row.id)
        connection.execute(sa.update(_projects).where(own).values(texts=folded(row.texts)))
    _fold_tasks(connection)


def _fold_tasks(connection: sa.Connection) -> None:
    after = ""
    wanted = sa.select(_tasks).where(_tasks.c.texts.is_not(None)).order_by(_tasks.c.id)
    while rows := connection.execute(wanted.where(_tasks.c.id > after).limit(_AT_ONCE)).all():
        for row in rows:
            if (texts := folded(row.texts)) != row.texts:
                connection.execute(sa.update(_tasks).where(_tasks.c.id == row.id).values(texts=texts))
        after = rows[-1].id

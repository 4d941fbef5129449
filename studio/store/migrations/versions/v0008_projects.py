"""Group conversions by their recording, make tasks searchable, and keep presets and preferences."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"

_AT_ONCE = 1000  # rows
_tasks = sa.table(
    "tasks",
    *(sa.column(name, sa.String) for name in ("id", "kind", "recording", "texts")),
    sa.column("parameters", sa.JSON),
)


def upgrade() -> None:
    """Of earlier conversions the recordings are not known: each is a project of its own, with its edits."""
    op.add_column("tasks", sa.Column("recording", sa.String(length=64), nullable=True))
    op.add_column("tasks", sa.Column("texts", sa.Text(), nullable=True))
    op.create_index(
        "ix_tasks_account_id_recording_created_at_id", "tasks", ["account_id", "recording", "created_at", "id"]
    )
    op.add_column("accounts", sa.Column("preferences", sa.JSON(), nullable=True))
    op.create_table(
        "projects",
        sa.Column("account_id", sa.String(length=32), nullable=False),
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("texts", sa.Text(), nullable=False),
        sa.Column("timeline", sa.JSON(), nullable=False),
        sa.ForeignKeyConstraint(["account_id"], ["accounts.id"], name="fk_projects_account_id"),
        sa.PrimaryKeyConstraint("account_id", "id", name="pk_projects"),
    )
    op.create_table(
        "presets",
        sa.Column("account_id", sa.String(length=32), nullable=False),
        sa.Column("name", sa.String(length=60), nullable=False),
        sa.Column("conversion", sa.JSON(), nullable=False),
        sa.Column("saved_at", sa.Float(), nullable=False),
        sa.ForeignKeyConstraint(["account_id"], ["accounts.id"], name="fk_presets_account_id"),
        sa.PrimaryKeyConstraint("account_id", "name", name="pk_presets"),
    )
    _fill_in(op.get_bind())


def _fill_in(connection: sa.Connection) -> None:
    after = ""
    wanted = sa.select(_tasks.c.id, _tasks.c.parameters).where(_tasks.c.kind == "conversion").order_by(_tasks.c.id)
    while rows := connection.execute(wanted.where(_tasks.c.id > after).limit(_AT_ONCE)).all():
        for task_id, parameters in rows:
            edit = parameters.get("edit") or {}
            texts = (parameters.get("file_name") or "").casefold()
            values = {"recording": edit.get("conversion", task_id), "texts": texts}
            connection.execute(sa.update(_tasks).where(_tasks.c.id == task_id).values(values))
        after = rows[-1][0]

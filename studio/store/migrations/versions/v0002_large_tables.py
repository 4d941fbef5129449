"""Sort voices in the database's order, index large tables, and add duties that one process holds."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
_AT_ONCE = 500


def upgrade() -> None:
    """Create the new columns and tables, and fill them."""
    folded = sa.String(600).with_variant(sa.String(600, collation="C"), "postgresql")
    with op.batch_alter_table("models") as models:
        models.add_column(sa.Column("folded_name", folded, nullable=True))
        models.add_column(sa.Column("texts", sa.Text(), nullable=True))
    _fill()
    with op.batch_alter_table("models") as models:
        models.alter_column("folded_name", existing_type=folded, nullable=False)
        models.alter_column("texts", existing_type=sa.Text(), nullable=False)
        models.drop_index(op.f("ix_models_account_id_state_name_number"))
    columns = ["account_id", "state", "folded_name", "id"]
    op.create_index(op.f("ix_models_account_id_state_folded_name_id"), "models", columns)
    op.drop_index(op.f("ix_tasks_state_kind_priority_created_at"), "tasks")
    queue: list[str | sa.TextClause] = ["state", "kind", sa.text("priority DESC"), "created_at", "id"]
    op.create_index("ix_tasks_queue", "tasks", queue)
    for one in ("state", "kind"):
        name = op.f(f"ix_tasks_account_id_{one}_created_at_id")
        op.create_index(name, "tasks", ["account_id", one, "created_at", "id"])
    op.create_index(op.f("ix_tasks_finished_at"), "tasks", ["finished_at"])
    op.create_table(
        "duties",
        sa.Column("name", sa.String(length=32), nullable=False),
        sa.Column("owner", sa.String(length=100), nullable=False),
        sa.Column("until", sa.Float(), nullable=False),
        sa.Column("said", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_duties")),
    )


def _fill() -> None:
    names = ("number", "id", "name", "folded_name", "texts")
    models = sa.table("models", *(sa.column(name) for name in names), sa.column("card", sa.JSON()))
    connection, after = op.get_bind(), -1
    some = sa.select(models).where(models.c.number > sa.bindparam("after")).order_by(models.c.number).limit(_AT_ONCE)
    while rows := connection.execute(some, {"after": after}).all():
        for row in rows:
            card = row.card or {}
            said = [row.id, row.name, card.get("description") or "", *(card.get("traits") or ())]
            values = {"folded_name": row.name.casefold(), "texts": "\n".join(map(str, said)).casefold()}
            connection.execute(sa.update(models).where(models.c.number == row.number).values(values))
        after = rows[-1].number

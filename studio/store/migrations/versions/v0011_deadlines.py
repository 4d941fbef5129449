"""Keep the deadlines of tasks."""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    """Earlier tasks have none."""
    op.create_table(
        "deadlines",
        sa.Column("task_id", sa.String(length=32), nullable=False),
        sa.Column("account_id", sa.String(length=32), nullable=False),
        sa.Column("at", sa.Float(), nullable=False),
        sa.ForeignKeyConstraint(["account_id"], ["accounts.id"], name="fk_deadlines_account_id"),
        sa.PrimaryKeyConstraint("task_id", name="pk_deadlines"),
    )
    op.create_index("ix_deadlines_at", "deadlines", ["at"])

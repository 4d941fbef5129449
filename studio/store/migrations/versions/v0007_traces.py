"""Keep the place of a task in its trace, for the worker that continues it."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    """Earlier tasks have no trace."""
    op.add_column("tasks", sa.Column("traceparent", sa.String(length=64), nullable=True))

"""Keep the name of a deleted voice in its tasks, for the history."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Leave tasks of voices already deleted without a name: they show the id."""
    op.add_column("tasks", sa.Column("model_name", sa.String(length=200), nullable=True))

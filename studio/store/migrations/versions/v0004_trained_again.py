"""Restart trainings begun before 0.6, whose base cannot be trained further."""

from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Keep the voices themselves: their cards name their base."""
    op.execute("UPDATE models SET epoch = 0, epochs = 0")

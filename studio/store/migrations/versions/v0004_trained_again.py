"""Trainings begin anew: what was learned before 0.6 was learned on another base, and cannot go on."""

from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """The voices themselves stay as they are: their cards say of which base they are."""
    op.execute("UPDATE models SET epoch = 0, epochs = 0")

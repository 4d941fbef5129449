"""Count how long the stages of tasks take."""

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"


def upgrade() -> None:
    """Of earlier tasks that is not known."""
    op.create_table(
        "durations",
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("stage", sa.String(length=32), nullable=False),
        sa.Column("up_to_s", sa.Float(), nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.Column("seconds", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("kind", "stage", "up_to_s", name="pk_durations"),
    )

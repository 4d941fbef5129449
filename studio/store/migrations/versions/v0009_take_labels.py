"""Keep names and stars that users give to takes."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    """Earlier takes have none."""
    op.add_column("tasks", sa.Column("take_labels", sa.JSON(), nullable=True))

"""A task keeps the name of its voice when the voice is deleted, so that the history can still say whose it was."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Of voices that are gone already the name is not known any more: their tasks go by the id."""
    op.add_column("tasks", sa.Column("model_name", sa.String(length=200), nullable=True))

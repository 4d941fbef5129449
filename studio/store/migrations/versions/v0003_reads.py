"""Count reads separately from submissions."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Discard the counts, which cover only the present minute."""
    op.drop_table("rates")
    op.create_table(
        "rates",
        sa.Column("account_id", sa.String(length=32), nullable=False),
        sa.Column("what", sa.String(length=16), nullable=False),
        sa.Column("minute", sa.BigInteger(), nullable=False),
        sa.Column("calls", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["account_id"], ["accounts.id"], name=op.f("fk_rates_account_id")),
        sa.PrimaryKeyConstraint("account_id", "what", "minute", name=op.f("pk_rates")),
    )

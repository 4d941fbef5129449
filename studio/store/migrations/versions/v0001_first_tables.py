"""The first tables."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Create all tables."""
    op.create_table(
        "accounts",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("created_at", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_accounts")),
        sa.UniqueConstraint("name", name=op.f("uq_accounts_name")),
    )
    op.create_table(
        "secrets",
        sa.Column("name", sa.String(length=32), nullable=False),
        sa.Column("value", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_secrets")),
    )
    op.create_table(
        "answers",
        sa.Column("account_id", sa.String(length=32), nullable=False),
        sa.Column("call", sa.String(length=100), nullable=False),
        sa.Column("key", sa.String(length=255), nullable=False),
        sa.Column("fingerprint", sa.String(length=64), nullable=False),
        sa.Column("answer", sa.JSON(), nullable=False),
        sa.Column("created_at", sa.Float(), nullable=False),
        sa.ForeignKeyConstraint(["account_id"], ["accounts.id"], name=op.f("fk_answers_account_id")),
        sa.PrimaryKeyConstraint("account_id", "call", "key", name=op.f("pk_answers")),
    )
    op.create_index(op.f("ix_answers_created_at"), "answers", ["created_at"], unique=False)
    op.create_table(
        "models",
        sa.Column("number", sa.Integer(), autoincrement=True, nullable=False),
        sa.Column("account_id", sa.String(length=32), nullable=False),
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("gender", sa.String(length=32), nullable=True),
        sa.Column("age", sa.String(length=32), nullable=True),
        sa.Column("base_language", sa.String(length=8), nullable=True),
        sa.Column("genre", sa.String(length=32), nullable=True),
        sa.Column("voice_type", sa.String(length=32), nullable=True),
        sa.Column("card", sa.JSON(), nullable=False),
        sa.Column("voice_key", sa.String(length=500), nullable=True),
        sa.Column("dataset_key", sa.String(length=500), nullable=True),
        sa.Column("training_key", sa.String(length=500), nullable=True),
        sa.Column("epoch", sa.Integer(), nullable=False),
        sa.Column("epochs", sa.Integer(), nullable=False),
        sa.Column("failure_told", sa.Integer(), nullable=False),
        sa.Column("data_report", sa.JSON(), nullable=True),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("created_at", sa.Float(), nullable=False),
        sa.Column("updated_at", sa.Float(), nullable=False),
        sa.ForeignKeyConstraint(["account_id"], ["accounts.id"], name=op.f("fk_models_account_id")),
        sa.PrimaryKeyConstraint("number", name=op.f("pk_models")),
        sa.UniqueConstraint("account_id", "id", name=op.f("uq_models_account_id_id")),
    )
    op.create_index(
        op.f("ix_models_account_id_state_name_number"),
        "models",
        ["account_id", "state", "name", "number"],
        unique=False,
    )
    op.create_table(
        "rates",
        sa.Column("account_id", sa.String(length=32), nullable=False),
        sa.Column("minute", sa.BigInteger(), nullable=False),
        sa.Column("calls", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["account_id"], ["accounts.id"], name=op.f("fk_rates_account_id")),
        sa.PrimaryKeyConstraint("account_id", "minute", name=op.f("pk_rates")),
    )
    op.create_table(
        "tasks",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("account_id", sa.String(length=32), nullable=False),
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("model_id", sa.String(length=64), nullable=True),
        sa.Column("parameters", sa.JSON(), nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("priority", sa.Integer(), nullable=False),
        sa.Column("not_before", sa.Float(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("fence", sa.BigInteger(), nullable=False),
        sa.Column("owner", sa.String(length=100), nullable=True),
        sa.Column("lease_until", sa.Float(), nullable=True),
        sa.Column("cancel_requested", sa.Integer(), nullable=False),
        sa.Column("progress", sa.Float(), nullable=False),
        sa.Column("message", sa.Text(), nullable=False),
        sa.Column("result", sa.JSON(), nullable=True),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("error_code", sa.String(length=64), nullable=True),
        sa.Column("request_id", sa.String(length=64), nullable=True),
        sa.Column("created_at", sa.Float(), nullable=False),
        sa.Column("started_at", sa.Float(), nullable=True),
        sa.Column("finished_at", sa.Float(), nullable=True),
        sa.Column("outputs_deleted_at", sa.Float(), nullable=True),
        sa.ForeignKeyConstraint(["account_id"], ["accounts.id"], name=op.f("fk_tasks_account_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_tasks")),
    )
    op.create_index(
        op.f("ix_tasks_account_id_created_at_id"), "tasks", ["account_id", "created_at", "id"], unique=False
    )
    op.create_index(op.f("ix_tasks_account_id_kind_state"), "tasks", ["account_id", "kind", "state"], unique=False)
    op.create_index(
        op.f("ix_tasks_account_id_model_id_kind_created_at_id"),
        "tasks",
        ["account_id", "model_id", "kind", "created_at", "id"],
        unique=False,
    )
    op.create_index(
        op.f("ix_tasks_state_kind_priority_created_at"),
        "tasks",
        ["state", "kind", "priority", "created_at"],
        unique=False,
    )
    op.create_index(
        "uq_tasks_running_training",
        "tasks",
        ["account_id", "model_id"],
        unique=True,
        sqlite_where=sa.text("kind = 'training' AND state = 'running'"),
        postgresql_where=sa.text("kind = 'training' AND state = 'running'"),
    )
    op.create_table(
        "tokens",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("account_id", sa.String(length=32), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("created_at", sa.Float(), nullable=False),
        sa.Column("expires_at", sa.Float(), nullable=True),
        sa.Column("revoked_at", sa.Float(), nullable=True),
        sa.Column("used_at", sa.Float(), nullable=True),
        sa.ForeignKeyConstraint(["account_id"], ["accounts.id"], name=op.f("fk_tokens_account_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_tokens")),
        sa.UniqueConstraint("digest", name=op.f("uq_tokens_digest")),
    )
    op.create_index(op.f("ix_tokens_account_id"), "tokens", ["account_id"], unique=False)

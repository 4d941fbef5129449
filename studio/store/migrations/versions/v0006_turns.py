"""Give each task its queue, its cost and its turn, so that accounts are served in turn."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """Tasks that wait already keep their order: they come first, the oldest before the others."""
    op.drop_index("ix_tasks_queue", "tasks")
    op.drop_column("tasks", "priority")
    op.add_column("tasks", sa.Column("queue", sa.String(length=16), nullable=False, server_default="conversion"))
    for name in ("cost", "turn"):
        op.add_column("tasks", sa.Column(name, sa.Float(), nullable=False, server_default="0"))
    op.execute("UPDATE tasks SET queue = kind")
    op.create_index("ix_tasks_queue", "tasks", ["state", "queue", "turn", "created_at", "id"])

"""The first tables, of 0.4. Every database to migrate has them; a new one is created as `studio.store.tables` says."""

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Do nothing."""

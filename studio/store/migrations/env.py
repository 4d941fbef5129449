"""Alembic's entry point: runs the steps in the transaction of `studio.store.migration`."""

from alembic import context

from studio.store.tables import METADATA

context.configure(connection=context.config.attributes["connection"], target_metadata=METADATA)
with context.begin_transaction():
    context.run_migrations()

"""What alembic runs: the steps that are wanted, in the transaction that `studio.store.migration` has begun."""

from alembic import context

from studio.store.tables import METADATA

context.configure(connection=context.config.attributes["connection"], target_metadata=METADATA)
with context.begin_transaction():
    context.run_migrations()

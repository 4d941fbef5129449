"""Migrations for alembic: `env.py` runs the steps in `versions`, called by `studio.store.migration`."""

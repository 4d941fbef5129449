"""Alembic's folder: `env.py` runs the steps in `versions`; `studio.store.migration` is how the studio uses it."""

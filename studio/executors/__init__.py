"""Executors start workers, which claim tasks and carry them out; they share only database and storage."""

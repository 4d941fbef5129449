"""Measures speed, memory and quality: `python -m engine.benchmark`."""

"""Draws recordings, comparisons and trainings with matplotlib."""

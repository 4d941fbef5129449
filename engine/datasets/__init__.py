"""Prepares the recordings of a voice: clips, quality report, measurements."""

"""Reads, writes, resamples and streams audio files."""

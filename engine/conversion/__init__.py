"""Converts recordings: settings, pitch edits, rendering, takes."""

"""Judges conversions: likeness, words, sound quality, pitch."""

"""Judges conversions: speaker similarity, words, sound quality, pitch."""

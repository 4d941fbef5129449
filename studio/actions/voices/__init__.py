"""Voices: their cards, ranges, packages, and what they are made of."""

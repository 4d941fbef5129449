"""Voices on disk: profile, card, weights, package, blend."""

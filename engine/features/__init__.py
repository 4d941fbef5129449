"""Turns clips into what the networks learn from and hear."""

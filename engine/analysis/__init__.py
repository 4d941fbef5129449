"""Measures a recording: pitch, envelope, loudness, notes, vocal range, style."""

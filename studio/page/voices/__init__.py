"""The Voices tab."""

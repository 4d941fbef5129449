"""The Create tab."""

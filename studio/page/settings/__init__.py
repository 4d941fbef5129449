"""The Settings tab."""

"""The Explore tab."""

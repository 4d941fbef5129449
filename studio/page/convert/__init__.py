"""The Convert tab."""

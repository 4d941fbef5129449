"""The Live tab."""

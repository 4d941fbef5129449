"""The History tab."""

"""Converts a performance while it is sung: settings, running estimates, the converter, devices, delay."""

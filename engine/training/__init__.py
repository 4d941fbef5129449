"""Trains a voice from its data set."""

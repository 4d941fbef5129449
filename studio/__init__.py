"""Timbre Studio: the shell around the engine. It knows accounts, files and pages, and holds no signal processing."""

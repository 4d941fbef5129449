"""The command of engine/research/benchmark."""

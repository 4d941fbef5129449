"""The command of engine/research/pretraining."""

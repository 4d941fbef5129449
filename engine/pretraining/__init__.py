"""The base model, trained from a corpus folder with one command: `python -m engine.pretraining --corpus DIR --out DIR`."""

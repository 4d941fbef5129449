"""The base model, trained from a corpus folder: `python -m engine.pretraining --corpus DIR --out DIR`."""

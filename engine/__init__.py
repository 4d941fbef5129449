"""Timbre Studio's engine: the same performance in another voice.

    from engine import convert

    take = convert("vocal.wav", "kathleen").takes[0].audio

A recording is a path, an open file, an `Audio`, or samples with their rate, such as `librosa.load` returns them.
Samples are float32 (channels, samples), full scale is -1..1, and takes have the rate of the recording, but at least
SAMPLE_RATE. A voice is its id or its name, also of one that was made in the studio, its folder, its package, or a
`Voice`. Whatever is wrong raises an `EngineError` with a sentence that says what to do about it.

Functions may be called from several threads at once; processes are started with spawn, not forked.

All names below are those of __init__.pyi. Each is loaded when it is first used, so importing the package does no work.
"""

import lazy_loader

_load, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


def __getattr__(name):
    """Load what is used for the first time. It may bring torch, whose environment is set before."""
    from engine.cores import prepare_torch

    prepare_torch()
    return _load(name)

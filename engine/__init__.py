"""Timbre Studio's engine: the same performance in another voice.

    from engine import convert

    take = convert("vocal.wav", "kathleen").takes[0].audio

A recording is a path, an `Audio`, or samples with their rate, such as `librosa.load` returns them; samples are float32
(channels, samples), full scale is -1..1, and results have SAMPLE_RATE. A voice is its id, its name, its folder, its
package, or a `Voice`. Whatever is wrong raises an `EngineError` with a sentence that says what to do about it.

All names below are those of __init__.pyi. Each is loaded when it is first used, so importing the package does no work.
"""

import os

import lazy_loader

# Read once, when torch is loaded: its threads sleep while they wait for each other. By default they spin, and beside
# other programs that keep the cores busy a conversion took 17 to 19 s instead of 2 to 4. It stands here, ahead of every
# module that loads torch, also for who imports one of them alone. What the user has set is kept.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

"""The networks that measure one recording."""

import importlib.util
import math
import sys

import numpy as np
import pytest

from engine.errors import AudioError, EngineError
from engine.evaluation.evaluator import Evaluator
from engine.evaluation.scores import compare
from tests.engine.evaluation.conftest import RATE, audio

needs_networks = pytest.mark.skipif(
    any(importlib.util.find_spec(name) is None for name in ("resemblyzer", "speechmos", "pocketsphinx", "jiwer")),
    reason="needs the evaluation extra",
)


@pytest.mark.parametrize("package", ["resemblyzer", "speechmos.dnsmos", "pocketsphinx", "jiwer"])
def test_evaluator_names_the_install_command_for_a_missing_package(package, monkeypatch):
    monkeypatch.setitem(sys.modules, package, None)  # makes its import fail
    with pytest.raises(EngineError, match=r"(?s) install .*speechmos.*--no-deps resemblyzer") as caught:
        Evaluator()
    assert package.split(".")[0] in str(caught.value)


@pytest.mark.system
@needs_networks
def test_evaluator_finds_no_speaker_in_silence(evaluator):
    silence = audio(np.zeros(RATE, np.float32))
    heard = evaluator.measure(silence)
    assert heard.embedding is None
    scores = compare(heard, heard, np.ones(256, np.float32))
    assert scores.speaker_similarity is None
    assert scores.word_error is None
    assert math.isfinite(scores.p808)
    with pytest.raises(AudioError, match="not silent"):
        evaluator.target_embedding([silence])

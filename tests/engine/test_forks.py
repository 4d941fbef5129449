"""Processes and threads: one that was forked too late says so, and threads change nothing."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from engine import forks
from engine.audio.files import Audio
from engine.conversion.convert import convert
from engine.errors import EngineError
from engine.evaluation.evaluator import Evaluator
from engine.networks.base import load_base
from engine.units import SAMPLE_RATE
from engine.voices.voice import load_voice

ROOT = Path(__file__).parents[2]
# converts a little in a process that is forked before or after the first conversion; threads must not be there before
_FORKED = """
import sys
import numpy as np
import engine

def converted(number):
    tone = 0.1 * np.sin(2 * np.pi * 220 * np.arange(9000) / 44100)
    try:
        return engine.convert((tone, 44100), "koguchi", {"transpose": 0}).takes[0].audio.sample_count
    except engine.EngineError as error:
        return str(error)

if __name__ == "__main__":
    from multiprocessing import get_context
    if sys.argv[1] == "late":
        converted(0)
    with get_context("fork").Pool(1) as pool:
        print(pool.map(converted, [1])[0])
"""


@pytest.mark.skipif(sys.platform != "linux", reason="fork is the default on Linux alone")
@pytest.mark.parametrize(("when", "said"), [("early", "9000"), ("late", 'get_context("spawn"), or use threads')])
def test_a_process_forked_after_a_conversion_raises_instead_of_hanging(tmp_path, when, said):
    program = tmp_path / "program.py"
    program.write_text(_FORKED)
    command = [sys.executable, program, when]
    # with one thread, as tests have, nothing would hang
    environment = os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "4"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert said in done.stdout, done.stderr


def test_every_door_to_computing_refuses_a_forked_process(monkeypatch, sing):
    monkeypatch.setattr(forks, "_first_to_compute", lambda: os.getpid() + 1)
    from engine import analyse

    sung = sing(0.5), SAMPLE_RATE
    for compute in (load_base, lambda: load_voice("koguchi"), lambda: analyse(sung), Evaluator):
        with pytest.raises(EngineError, match="forked"):
            compute()


def test_threads_give_the_same_samples_as_one_after_the_other(sing):
    shared = load_voice("koguchi")
    voices = [shared, "kathleen"] * 2
    jobs = [(Audio(sing(0.6, seed=number), SAMPLE_RATE), voice) for number, voice in enumerate(voices)]

    def samples(job):
        return convert(*job, {"seed": 7}).takes[0].audio.samples

    one_by_one = [samples(job) for job in jobs]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(samples, jobs))
    assert all(np.array_equal(one, other) for one, other in zip(one_by_one, together, strict=True))

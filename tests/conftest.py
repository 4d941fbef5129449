"""Settings and fixtures of all tests."""

import gc
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# whose tests run programs as a whole: commands, workers, live sessions, what notebooks show
SYSTEM_ROOMS = tuple(
    "engine/research/demonstrations engine/live engine/widgets studio/commands studio/executors".split()
)

pytest_plugins = ["tests.services", "tests.browsers", "tests.trainings", "tests.memory", "tests.halves"]

# examples may take as long as they take, wherever the tests run
settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any machine")
# as the command line sets it: networks that wait quietly leave the cores to the processes that other tests start
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
# keys to sign with are made there, and not in the folder of whoever runs the tests
if "TIMBRE_STUDIO_HOME" not in os.environ:
    _home = tempfile.TemporaryDirectory(prefix="timbre-studio-tests-")
    os.environ["TIMBRE_STUDIO_HOME"] = _home.name
# processes that tests start need not compile the studio anew each time
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
# messages are compared in English, whatever the language of the terminal
os.environ["TIMBRE_STUDIO_LANGUAGE"] = "en"
# where two test runners share the machine, two threads in each would only be in each other's way
if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.setdefault("OMP_NUM_THREADS", "1")


def pytest_report_header() -> str:
    """Tell what torch makes of this processor, which decides on the precision of some networks."""
    import torch  # only once the threads are set above

    from engine.devices import choose_device

    able = [name for name in ("avx2", "avx512_f", "avx512_bf16", "amx_bf16") if torch.cpu.get_capabilities().get(name)]
    precision = choose_device("cpu").precision
    built_for = torch.backends.cpu.get_cpu_capability()
    return f"torch {torch.__version__}: {built_for} of {', '.join(able) or 'none'}; trains in {precision} here"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of some rooms as system tests."""
    rooms = [Path(__file__).parent / room for room in SYSTEM_ROOMS]
    for item in items:
        if any(item.path.is_relative_to(room) for room in rooms):
            item.add_marker(pytest.mark.system)


def pytest_collection_finish() -> None:
    """Leave the thousands of tests out of every later search for garbage."""
    gc.collect()
    gc.freeze()


@pytest.fixture
def torch_threads() -> Iterator[int]:
    """How many threads torch works on, before the test and after it, whatever it sets."""
    import torch

    before = torch.get_num_threads()
    yield before
    torch.set_num_threads(before)

"""Settings and fixtures of all tests."""

import gc
import os
import tempfile

pytest_plugins = ["tests.services", "tests.browsers", "tests.trainings", "tests.memory"]

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


def pytest_collection_finish() -> None:
    """Leave the thousands of tests out of every later search for garbage."""
    gc.collect()
    gc.freeze()

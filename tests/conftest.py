"""Settings and fixtures of all tests."""

import os

pytest_plugins = ["tests.services", "tests.browsers"]

# as the command line sets it: networks that wait quietly leave the cores to the processes that other tests start
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
# where two test runners share the machine, two threads in each would only be in each other's way
if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.setdefault("OMP_NUM_THREADS", "1")

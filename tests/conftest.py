"""What holds for all tests."""

import os

# as the command line sets it: networks that wait quietly leave the cores to the processes that other tests start
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

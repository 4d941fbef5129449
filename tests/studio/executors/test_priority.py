import os
import subprocess
import sys

import pytest

from studio.executors.priority import lower_priority
from tests.waiting import wait_until

FAMILY = """
import subprocess, sys, threading
threading.Thread(target=threading.Event().wait, daemon=True).start()
child = subprocess.Popen([sys.executable, "-c", "import time; print(1, flush=True); time.sleep(600)"])
print(child.pid, flush=True)
child.wait()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not show what a process has started")
def test_lower_priority_reaches_threads_and_processes_that_run_already():
    with subprocess.Popen([sys.executable, "-c", FAMILY], stdout=subprocess.PIPE, text=True) as family:
        child = int(family.stdout.readline())
        threads = wait_until(lambda: (found := os.listdir(f"/proc/{family.pid}/task")) and len(found) > 1 and found)
        lower_priority(family.pid)
        assert {os.getpriority(os.PRIO_PROCESS, int(one)) for one in threads} == {19}
        assert os.getpriority(os.PRIO_PROCESS, child) == 19
        assert os.getpriority(os.PRIO_PROCESS, 0) != 19
        os.kill(child, 9)
    lower_priority(family.pid)  # which has ended

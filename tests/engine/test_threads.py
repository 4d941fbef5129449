"""What importing the engine settles before torch's threads come up."""

import os
import subprocess
import sys

import pytest

_ASK = "import os, engine; print(os.environ['OMP_WAIT_POLICY'])"


@pytest.mark.parametrize(("given", "expected"), [(None, "PASSIVE"), ("ACTIVE", "ACTIVE")])
def test_engine_sets_omp_wait_policy_to_passive_unless_it_is_already_set(given, expected):
    environment = {name: value for name, value in os.environ.items() if name != "OMP_WAIT_POLICY"}
    environment |= {"OMP_WAIT_POLICY": given} if given else {}
    said = subprocess.run([sys.executable, "-c", _ASK], env=environment, capture_output=True, text=True, check=True)
    assert said.stdout.strip() == expected

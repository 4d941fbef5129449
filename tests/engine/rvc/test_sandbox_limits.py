import os
import sys

import pytest

from engine.confinement.landlock import landlock_version
from engine.rvc import sandbox_limits as here
from engine.rvc.sandbox import ModelProcess
from engine.rvc.sandbox_limits import LimitsHere, limits_here
from tests.engine.confinement.test_payload import namespaces_can_be_had


@pytest.mark.system
@pytest.mark.skipif(sys.platform != "linux", reason="other systems are not known here")
def test_limits_here_are_those_of_the_processes_in_which_models_run():
    if landlock_version() < 1 and not namespaces_can_be_had():
        pytest.skip("this system has nothing to confine a process with")
    assert limits_here() == LimitsHere(reads=False, starts=False, calls=False, sees=False)
    assert limits_here().confine


@pytest.mark.system
def test_limits_here_say_what_an_unconfined_process_could_do(monkeypatch):
    """The same attempts in this process, which is not confined: they are real ones."""
    from engine.confinement.trial import attempt

    def call(self, function, arguments):
        return attempt(*arguments)

    monkeypatch.setattr(ModelProcess, "call", call)
    found = here.limits_here.__wrapped__()
    assert (found.reads, found.confine) == (True, False)
    if os.name == "posix":
        assert (found.starts, found.calls) == (True, True)

"""What Windows is told: the structures as its headers lay them out, and the calls in their order."""

import ctypes
import struct

import pytest

from engine.confinement.windows import (
    LOW_INTEGRITY,
    BasicLimits,
    ExtendedLimits,
    limits_of,
    lower_integrity,
    put_in_job,
)


class Library:
    """Notes its calls, and answers each with 1; those named in `failing` with 0."""

    def __init__(self, *failing):
        self.calls, self.failing = [], failing

    def __getattr__(self, name):
        def call(*given):
            self.calls.append((name, *given))
            return 0 if name in self.failing else 1

        return call


@pytest.mark.skipif(struct.calcsize("P") != 8, reason="the sizes are those of 64 bits")
def test_structures_have_the_layout_of_winnt_h():
    assert (ctypes.sizeof(BasicLimits), ctypes.sizeof(ExtendedLimits)) == (64, 144)
    offsets = {name: getattr(BasicLimits, name).offset for name in ("flags", "processes", "affinity", "scheduling")}
    assert offsets == {"flags": 16, "processes": 40, "affinity": 48, "scheduling": 60}
    assert (ExtendedLimits.transfers.offset, ExtendedLimits.process_memory.offset) == (64, 112)


def test_limits_of_allow_one_process_and_so_much_memory():
    limits = limits_of(5 << 30)
    assert (limits.basic.processes, limits.process_memory) == (1, 5 << 30)
    # ACTIVE_PROCESS, PROCESS_MEMORY, DIE_ON_UNHANDLED_EXCEPTION, KILL_ON_JOB_CLOSE
    assert limits.basic.flags == 0x8 | 0x100 | 0x400 | 0x2000
    assert limits_of(0).basic.flags == 0x8 | 0x400 | 0x2000


def test_put_in_job_limits_the_job_before_it_has_the_process():
    kernel = Library()
    assert put_in_job(77, 1 << 20, kernel) == 1
    expected = ["CreateJobObjectW", "SetInformationJobObject", "SetInformationJobObject", "AssignProcessToJobObject"]
    assert [name for name, *_ in kernel.calls] == expected
    assert [given[1] for name, *given in kernel.calls if name == "SetInformationJobObject"] == [9, 4]
    assert [one.value for one in kernel.calls[-1][1:]] == [1, 77]


@pytest.mark.parametrize("failing", ["CreateJobObjectW", "SetInformationJobObject", "AssignProcessToJobObject"])
def test_put_in_job_says_when_windows_refuses(failing):
    with pytest.raises(OSError, match="refused a limit"):
        put_in_job(77, 0, Library(failing))


def test_lower_integrity_sets_the_low_level_of_its_own_token():
    kernel, security = Library(), Library()
    lower_integrity(kernel, security)
    assert [
        name for name, *_ in security.calls
    ] == "OpenProcessToken ConvertStringSidToSidW GetLengthSid SetTokenInformation".split()
    assert security.calls[1][1] == LOW_INTEGRITY
    assert security.calls[3][2] == 25  # TokenIntegrityLevel
    with pytest.raises(OSError, match="refused a limit"):
        lower_integrity(kernel, Library("SetTokenInformation"))

"""What Windows has: a job object, in which a process stays alone and has little memory, and low integrity.

Low integrity forbids writing to what is the user's, and messages to other windows; reading it does not forbid. Nothing
of this keeps a process from the network.
"""

import ctypes
import sys

_EXTENDED_LIMITS, _USER_INTERFACE = 9, 4  # JOBOBJECTINFOCLASS
_ONE_PROCESS, _PROCESS_MEMORY, _DIE, _END_WITH_JOB = 0x8, 0x100, 0x400, 0x2000  # JOB_OBJECT_LIMIT_...
_NO_USER_INTERFACE = 0xFF  # JOB_OBJECT_UILIMIT_...: handles, clipboard, settings, desktops, leaving Windows
_CHANGE_TOKEN, _INTEGRITY_LEVEL, _INTEGRITY = 0x0080 | 0x0008, 25, 0x20
LOW_INTEGRITY = "S-1-16-4096"


class BasicLimits(ctypes.Structure):
    """JOBOBJECT_BASIC_LIMIT_INFORMATION of winnt.h."""

    _fields_ = [
        *(("process_time", ctypes.c_int64), ("job_time", ctypes.c_int64), ("flags", ctypes.c_uint32)),
        *(("least_working_set", ctypes.c_size_t), ("most_working_set", ctypes.c_size_t)),
        *(("processes", ctypes.c_uint32), ("affinity", ctypes.c_size_t), ("priority", ctypes.c_uint32)),
        ("scheduling", ctypes.c_uint32),
    ]


class ExtendedLimits(ctypes.Structure):
    """JOBOBJECT_EXTENDED_LIMIT_INFORMATION of winnt.h."""

    _MEMORIES = ("process_memory", "job_memory", "peak_process_memory", "peak_job_memory")
    _fields_ = [
        ("basic", BasicLimits),
        ("transfers", ctypes.c_uint64 * 6),
        *((name, ctypes.c_size_t) for name in _MEMORIES),
    ]


class _Label(ctypes.Structure):
    """TOKEN_MANDATORY_LABEL of winnt.h."""

    _fields_ = [("identifier", ctypes.c_void_p), ("attributes", ctypes.c_uint32)]


def limits_of(memory_bytes: int) -> ExtendedLimits:
    """Return the limits of a job: one process, so much memory (0: any), and none that outlives the job."""
    limits = ExtendedLimits()
    limits.basic.flags = _ONE_PROCESS | _DIE | _END_WITH_JOB | (_PROCESS_MEMORY if memory_bytes else 0)
    limits.basic.processes = 1
    limits.process_memory = memory_bytes
    return limits


def put_in_job(process: int, memory_bytes: int, kernel: ctypes.CDLL | None = None) -> int:
    """Put a process into a job of its own, and return the handle of the job: with the last one the process ends.

    process: its handle. kernel: kernel32. Raises OSError.
    """
    kernel = kernel or _library("kernel32")
    job = _checked(kernel.CreateJobObjectW(None, None))
    limits, interface = limits_of(memory_bytes), ctypes.c_uint32(_NO_USER_INTERFACE)
    handle = ctypes.c_void_p(job)
    for kind, values in ((_EXTENDED_LIMITS, limits), (_USER_INTERFACE, interface)):
        _checked(kernel.SetInformationJobObject(handle, kind, ctypes.byref(values), ctypes.sizeof(values)))
    _checked(kernel.AssignProcessToJobObject(handle, ctypes.c_void_p(process)))
    return job


def lower_integrity(kernel: ctypes.CDLL | None = None, security: ctypes.CDLL | None = None) -> None:
    """Let this process write to nothing that is the user's, for good. Raises OSError.

    kernel, security: kernel32 and advapi32.
    """
    kernel, security = kernel or _library("kernel32"), security or _library("advapi32")
    token, identifier = ctypes.c_void_p(), ctypes.c_void_p()
    own = ctypes.c_void_p(kernel.GetCurrentProcess())
    _checked(security.OpenProcessToken(own, _CHANGE_TOKEN, ctypes.byref(token)))
    _checked(security.ConvertStringSidToSidW(LOW_INTEGRITY, ctypes.byref(identifier)))
    label = _Label(identifier, _INTEGRITY)
    length = ctypes.sizeof(label) + security.GetLengthSid(identifier)
    _checked(security.SetTokenInformation(token, _INTEGRITY_LEVEL, ctypes.byref(label), length))
    kernel.LocalFree(identifier)
    kernel.CloseHandle(token)


def close_job(job: int) -> None:
    """End the job, and what runs in it."""
    _library("kernel32").CloseHandle(ctypes.c_void_p(job))


def _library(name: str) -> ctypes.CDLL:
    if sys.platform != "win32":
        raise OSError("this is not Windows")
    library = ctypes.WinDLL(name, use_last_error=True)
    if name == "kernel32":
        library.CreateJobObjectW.restype = library.GetCurrentProcess.restype = ctypes.c_void_p
        library.LocalFree.argtypes = [ctypes.c_void_p]
    return library


def _checked(answer: int) -> int:
    """Return the answer of a call. Raises OSError where it is none."""
    if not answer:
        raise OSError("Windows refused a limit")
    return answer

"""A filter of Linux's system calls (seccomp), for all threads of a process: no processes, programs, sockets or writing.

The filter is a program of the kernel's packet filter (linux/filter.h), written here from a table. It refuses what
work on a model never calls, and all calls newer than the table, which libraries know how to do without. Other
processors than those in the table have other numbers, and get no filter.
"""

import ctypes
import errno
import os
import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from engine.confinement.kernel import checked, give_up_privileges, system

_SET_FILTER, _ALL_THREADS = 1, 1
_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _KILL, _ERROR = 0x7FFF0000, 0x80000000, 0x00050000
_NUMBER, _PROCESSOR, _FIRST_ARGUMENT = 0, 4, 16  # offsets in struct seccomp_data
_OTHER_NUMBERS = 0x40000000  # of x86_64: the calls of the x32 ABI
_THREAD = 0x10000  # of clone
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
_OWNERS = (8, 10, 15)  # of fcntl: who receives signals of a file, and which
_LAST = 449  # futex_waitv, of Linux 5.16
_NEWER = (453, 454, 455, 456, 462)  # map_shadow_stack, futex_wake, _wait and _requeue, mseal: of newer C libraries


class _Calls(NamedTuple):
    """Numbers of calls by name, of x86_64 and of aarch64; -1 where one has none."""

    x86_64: int
    aarch64: int


def _table(words: str) -> Mapping[str, _Calls]:
    rows = (row.split() for row in words.split(","))
    return {name: _Calls(int(first), int(second)) for name, first, second in rows}


_REFUSED = _table(
    # processes and programs
    "fork 57 -1, vfork 58 -1, execve 59 221, execveat 322 281, setns 308 268, unshare 272 97,"
    # other processes
    "ptrace 101 117, process_vm_readv 310 270, process_vm_writev 311 271, process_madvise 440 440,"
    "process_mrelease 448 448, kcmp 312 272, pidfd_open 434 434, pidfd_getfd 438 438, pidfd_send_signal 424 424,"
    "tkill 200 130, migrate_pages 256 238, move_pages 279 239, setpriority 141 140, ioprio_set 251 30,"
    "sched_setscheduler 144 119, sched_setparam 142 118, sched_setattr 314 274,"
    # network, and what other processes share
    "socket 41 198, socketpair 53 199, connect 42 203, bind 49 200, listen 50 201, accept 43 202, accept4 288 242,"
    "sendto 44 206, recvfrom 45 207, sendmsg 46 211, recvmsg 47 212, sendmmsg 307 269, recvmmsg 299 243,"
    "shmget 29 194, shmat 30 196, shmctl 31 195, msgget 68 186, msgsnd 69 189, msgrcv 70 188, msgctl 71 187,"
    "semget 64 190, semop 65 193, semctl 66 191, semtimedop 220 192, mq_open 240 180, mq_unlink 241 181,"
    # the kernel by other ways
    "io_uring_setup 425 425, io_uring_enter 426 426, io_uring_register 427 427, bpf 321 280, perf_event_open 298 241,"
    "userfaultfd 323 282, memfd_secret 447 447, keyctl 250 219, add_key 248 217, request_key 249 218,"
    "init_module 175 105, finit_module 313 273, delete_module 176 106, kexec_load 246 104, kexec_file_load 320 294,"
    "reboot 169 142, swapon 167 224, swapoff 168 225, acct 163 89, quotactl 179 60, quotactl_fd 443 443,"
    "settimeofday 164 170, clock_settime 227 112, adjtimex 159 171, clock_adjtime 305 266, sethostname 170 161,"
    "setdomainname 171 162, iopl 172 -1, ioperm 173 -1, modify_ldt 154 -1, uselib 134 -1, personality 135 92,"
    "syslog 103 116, lookup_dcookie 212 18,"
    # file systems, and files past what Landlock sees
    "open_by_handle_at 304 265, name_to_handle_at 303 264, mount 165 40, umount2 166 39, pivot_root 155 41,"
    "chroot 161 51, open_tree 428 428, move_mount 429 429, fsopen 430 430, fsconfig 431 431, fsmount 432 432,"
    "fspick 433 433, mount_setattr 442 442, inotify_init 253 -1, inotify_init1 294 26, fanotify_init 300 262,"
    "creat 85 -1, truncate 76 45, mkdir 83 -1, mkdirat 258 34, mknod 133 -1, mknodat 259 33, rmdir 84 -1,"
    "unlink 87 -1, unlinkat 263 35, rename 82 -1, renameat 264 38, renameat2 316 276, link 86 -1, linkat 265 37,"
    "symlink 88 -1, symlinkat 266 36, chmod 90 -1, fchmod 91 52, fchmodat 268 53, chown 92 -1, fchown 93 55,"
    "lchown 94 -1, fchownat 260 54, utime 132 -1, utimes 235 -1, utimensat 280 88, futimesat 261 -1, setxattr 188 5,"
    "lsetxattr 189 6, fsetxattr 190 7, removexattr 197 14, lremovexattr 198 15, fremovexattr 199 16"
)
_UNKNOWN = _table("clone3 435 435, openat2 437 437")  # libraries then make the older calls, whose arguments can be seen
_CLONE, _FCNTL, _PRLIMIT, _AFFINITY = _table("clone 56 220, fcntl 72 25, prlimit 302 261, affinity 203 122").values()
_OPEN, _OPEN_AT = _table("open 2 -1, openat 257 56").values()
_SIGNALS = _table("kill 62 129, tgkill 234 131, rt_sigqueueinfo 129 138, rt_tgsigqueueinfo 297 240").values()


@dataclass(frozen=True)
class Processor:
    """A processor as the kernel's audit names it, and its place in the table."""

    audit: int
    place: int  # of its column
    call: int  # number of seccomp

    def of(self, calls: _Calls) -> int:
        """Return the number of a call."""
        return calls[self.place]


PROCESSORS = {"x86_64": Processor(0xC000003E, 0, 317), "aarch64": Processor(0xC00000B7, 1, 277)}


def close_system_calls(writes: bool = False) -> bool:
    """Refuse this process and all its threads the calls of the table, for good; false where that is not possible.

    writes: whether it may open files for writing, which a GPU needs.
    """
    processor = PROCESSORS.get(os.uname().machine)
    if processor is None or struct.calcsize("P") != 8:
        return False
    program = filter_of(processor, os.getpid(), writes)

    class Program(ctypes.Structure):
        _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_char_p)]

    given = Program(len(program) // 8, program)
    try:
        give_up_privileges()
        checked(system().syscall(processor.call, _SET_FILTER, _ALL_THREADS, ctypes.byref(given)))
    except OSError:  # a kernel without it
        return False
    return True


def filter_of(processor: Processor, process: int, writes: bool = False) -> bytes:
    """Return the program for a process of this number: instructions of eight bytes, as the kernel reads them."""
    of = processor.of
    refused = _ERROR | errno.EPERM
    lines = [_line(_LOAD, _PROCESSOR), _line(_EQUAL, processor.audit, 1, 0), _line(_RETURN, _KILL)]
    lines += [_line(_LOAD, _NUMBER)]
    if processor.place == 0:
        lines += [_line(_AT_LEAST, _OTHER_NUMBERS, 0, 1), _line(_RETURN, refused)]
    lines += _answer((of(one) for one in _REFUSED.values()), refused)
    lines += _answer((of(one) for one in _UNKNOWN.values()), _ERROR | errno.ENOSYS)
    lines += _looking(of(_CLONE), 0, [_line(_ANY_BIT, _THREAD, 1, 0)])
    first, second, third = _OWNERS
    owners = [_line(_EQUAL, first, 2, 0), _line(_EQUAL, second, 1, 0), _line(_EQUAL, third, 0, 1)]
    lines += _looking(of(_FCNTL), 1, owners)
    for one in (_PRLIMIT, _AFFINITY):  # of itself alone, which both call 0
        lines += _looking(of(one), 0, [_line(_EQUAL, 0, 1, 0)])
    for one in _SIGNALS:
        lines += _looking(of(one), 0, [_line(_EQUAL, process, 1, 0)])
    if not writes:
        for one, place in ((_OPEN, 1), (_OPEN_AT, 2)):
            lines += _looking(of(one), place, [_line(_ANY_BIT, _WRITES, 0, 1)])
    lines += _answer(_NEWER, _ALLOW)
    lines += [_line(_AT_LEAST, _LAST + 1, 0, 1), _line(_RETURN, _ERROR | errno.ENOSYS), _line(_RETURN, _ALLOW)]
    return b"".join(lines)


def _answer(numbers: Iterable[int], answer: int) -> list[bytes]:
    """Give an answer to each of these calls; the number is loaded."""
    return [line for one in numbers if one >= 0 for line in (_line(_EQUAL, one, 0, 1), _line(_RETURN, answer))]


def _looking(number: int, argument: int, tests: list[bytes]) -> list[bytes]:
    """Refuse a call unless its argument passes the tests, whose jumps lead to the refusal or over it."""
    if number < 0:
        return []
    offset = _FIRST_ARGUMENT + 8 * argument  # its lower half, in which all that is looked at lies
    inside = [_line(_LOAD, offset), *tests, _line(_RETURN, _ERROR | errno.EPERM), _line(_RETURN, _ALLOW)]
    return [_line(_EQUAL, number, 0, len(inside)), *inside]


def _line(code: int, value: int, if_so: int = 0, if_not: int = 0) -> bytes:
    return struct.pack("<HBBI", code, if_so, if_not, value)

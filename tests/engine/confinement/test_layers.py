"""Each limit of Linux alone, in a process of its own, so that none hides that another does not hold."""

import os
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from engine.confinement.landlock import landlock_version
from engine.confinement.system_calls import _REFUSED, PROCESSORS, filter_of
from tests.engine.confinement.test_payload import namespaces_can_be_had

pytestmark = [pytest.mark.skipif(sys.platform != "linux", reason="these are Linux's")]
SECRET = (
    "import os, sys; from pathlib import Path;own, secret = map(Path, sys.argv[1:]); paths = [Path('/proc/self'), own];"
)
TRY = """
def tried(work):
    try:
        return bool(work()) or True
    except OSError as refused:
        return refused.errno
print([tried(own.read_bytes), tried(secret.read_bytes)])
"""


def alone(tmp_path, script, *more):
    """What a script prints that has given up something: it is given a file that it may read, and one it may not."""
    own, secret = tmp_path / "own", tmp_path / "secret"
    for path in (own, secret):
        path.write_bytes(b"x")
        path.chmod(0o600)
    command = [sys.executable, "-c", SECRET + script, own, secret]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.skipif(landlock_version() < 1 if sys.platform == "linux" else True, reason="this kernel has no Landlock")
def test_landlock_alone_shows_what_is_given_and_nothing_else(tmp_path):
    ended = alone(tmp_path, f"from engine.confinement.landlock import forbid_files; forbid_files(paths, []);{TRY}")
    assert ended.stdout == "[True, 13]\n", ended.stderr


def test_root_of_its_own_alone_shows_what_is_given_and_nothing_else(tmp_path):
    if not namespaces_can_be_had():
        pytest.skip("this system gives nobody namespaces")
    ended = alone(
        tmp_path,
        "from engine.confinement.namespaces import change_root, leave_namespaces;"
        f"paths = [own, Path('/lib'), Path('/usr/lib')]; assert leave_namespaces() and change_root(paths);{TRY}"
        "print(sorted(os.listdir('/')), tried(lambda: os.open('/lib/new', os.O_WRONLY | os.O_CREAT)))\n",
    )
    shown = [tmp_path.parts[1], "lib", "proc", "usr"]
    assert ended.stdout == f"[True, 2]\n{sorted(shown)} 30\n", ended.stderr


def test_root_of_its_own_is_whole_or_not_at_all(tmp_path):
    if not namespaces_can_be_had():
        pytest.skip("this system gives nobody namespaces")
    ended = alone(
        tmp_path,
        "from engine.confinement.namespaces import change_root, leave_namespaces;"
        f"assert leave_namespaces(); print(change_root([own, Path('/no/such/folder')]));{TRY}",
    )
    assert ended.stdout == "False\n[True, True]\n", ended.stderr


@pytest.mark.skipif(os.geteuid() != 0 if sys.platform == "linux" else True, reason="only root gives up being root")
def test_user_of_its_own_has_no_right_but_to_read(tmp_path):
    ended = alone(
        tmp_path,
        f"from engine.confinement.linux import take_own_user; print(take_own_user(), os.getuid() != 0);{TRY}"
        "print(tried(lambda: os.open(secret, os.O_WRONLY)), tried(lambda: os.kill(os.getppid(), 0)))\n",
    )
    assert ended.stdout == "True True\n[True, True]\n13 1\n", ended.stderr


@pytest.mark.skipif(os.uname().machine not in PROCESSORS, reason="this processor has no filter")
def test_filter_alone_refuses_processes_and_sockets_to_threads_that_run_already(tmp_path):
    ended = alone(
        tmp_path,
        "import socket, threading; from engine.confinement.system_calls import close_system_calls;"
        "go, found = threading.Event(), []\n"
        "def there():\n    go.wait(); found.extend(map(tried, (os.fork, socket.socket)))\n"
        f"{TRY}thread = threading.Thread(target=there); thread.start()\n"
        "print(close_system_calls()); go.set(); thread.join(); print(found)\n"
        "for work in (os.fork, lambda: os.execv('/bin/true', ['true']), socket.socket,"
        " lambda: os.kill(os.getppid(), 0), lambda: os.open(own, os.O_WRONLY), lambda: own.chmod(0o777), own.unlink,"
        " lambda: os.kill(-1, 0)):\n"
        "    print(tried(work), end=' ')\n"
        "os.kill(os.getpid(), 0); threading.Thread(target=print, args=('threads go on',)).start()\n",
    )
    assert ended.stdout == "[True, True]\nTrue\n[1, 1]\n1 1 1 1 1 1 1 1 threads go on\n", ended.stderr


# ---- the filter as the kernel reads it, for a processor that this is not, too

ALLOWED, ENDED, REFUSED, UNKNOWN = "allowed", "ended", "refused", "unknown"
ANSWERS = {0x7FFF0000: ALLOWED, 0x80000000: ENDED, 0x00050001: REFUSED, 0x00050026: UNKNOWN}


def answered(program, audit, number, *arguments):
    """Run a filter as the kernel does (linux/filter.h) on a call."""
    filled = (*arguments, 0, 0, 0, 0, 0, 0)[:6]
    data = struct.pack("<IIQ6Q", number, audit, 0, *filled)
    at = held = 0
    while True:
        code, if_so, if_not, value = struct.unpack_from("<HBBI", program, 8 * at)
        at += 1
        match code:
            case 0x20:
                (held,) = struct.unpack_from("<I", data, value)
            case 0x06:
                return ANSWERS[value]
            case _:
                so = {0x15: held == value, 0x35: held >= value, 0x45: bool(held & value)}[code]
                at += if_so if so else if_not


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_filter_of_refuses_what_the_table_names_and_allows_what_libraries_do(machine):
    processor, own = PROCESSORS[machine], 4711
    program = filter_of(processor, own)

    def answer(x86_64, aarch64, *arguments):
        return answered(program, processor.audit, (x86_64, aarch64)[processor.place], *arguments)

    assert len(program) // 8 < 4096  # BPF_MAXINSNS
    for name, numbers in _REFUSED.items():
        if numbers[processor.place] >= 0:
            assert answer(*numbers) == REFUSED, name
    assert answer(56, 220, 0x3D0F00) == ALLOWED  # clone of a thread, as the C library asks
    assert answer(56, 220, 17) == answer(56, 220, 0x4111) == REFUSED  # of a process, as fork and vfork
    assert answer(435, 435) == answer(437, 437) == answer(450, 450) == answer(600, 600) == UNKNOWN
    assert answer(453, 453) == answer(449, 449) == answer(0, 63) == answer(9, 222) == ALLOWED
    assert answer(257, 56, 2**64 - 100, 0, os.O_RDONLY | os.O_CLOEXEC) == ALLOWED
    for flags in (os.O_WRONLY, os.O_RDWR, os.O_CREAT, os.O_TRUNC, 0o20200002):
        assert answer(257, 56, 0, 0, flags) == REFUSED
        of_a_gpu = filter_of(processor, own, writes=True)
        assert answered(of_a_gpu, processor.audit, (257, 56)[processor.place], 0, 0, flags) == ALLOWED
    for signal in ((62, 129), (234, 131), (129, 138), (297, 240)):
        assert answer(*signal, own, 9) == ALLOWED
        for other in (0, 1, 2**32 - 1, own + 1):
            assert answer(*signal, other, 9) == REFUSED
    expected = [ALLOWED, ALLOWED, REFUSED, REFUSED, REFUSED, ALLOWED]
    assert [answer(72, 25, 3, command) for command in (1, 3, 8, 10, 15, 1030)] == expected
    for call, process in (((302, 261), 1), ((203, 122), own)):
        assert (answer(*call, 0), answer(*call, process)) == (ALLOWED, REFUSED)
    other = next(one for name, one in PROCESSORS.items() if name != machine)
    assert {answered(program, audit, 0) for audit in (other.audit, 0x40000003, 0x40000028)} == {ENDED}
    if machine == "x86_64":
        assert {answered(program, processor.audit, 0x40000000 | number) for number in (0, 1, 57, 520)} == {REFUSED}


HEADERS = {
    "x86_64": ("/usr/include/x86_64-linux-gnu/asm/unistd_64.h", "/usr/include/asm/unistd_64.h"),
    "aarch64": ("/usr/include/asm-generic/unistd.h",),
}


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_table_has_the_numbers_of_the_headers(machine):
    header = next((Path(one) for one in HEADERS[machine] if Path(one).exists()), None)
    if header is None:
        pytest.skip("the headers of the kernel are not installed")
    words = (line.split() for line in header.read_text().splitlines())
    numbered = [one for one in words if len(one) == 3 and one[1].startswith("__NR") and one[2].isdigit()]
    known = {name.removeprefix("__NR3264_").removeprefix("__NR_"): number for _, name, number in numbered}
    place = PROCESSORS[machine].place
    for name, numbers in _REFUSED.items():
        if name in known:
            assert numbers[place] == int(known[name]), name
        else:
            assert numbers[place] == -1 or numbers[place] >= 424, name  # newer than these headers

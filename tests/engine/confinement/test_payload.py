"""What programs in models can do: compiled ones, and calls of the C library, in the process that models run in."""

import ctypes
import os
import shutil
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from engine.confinement.landlock import landlock_version
from engine.confinement.linux import most_threads
from engine.rvc import sandbox, sandbox_process
from engine.rvc.sandbox import ModelFileError, ModelProcess

pytestmark = [
    pytest.mark.system,
    pytest.mark.skipif(sys.platform != "linux", reason="the limits of other systems are tested by what they are told"),
]

HERE = "tests.engine.confinement.test_payload"
LIBRARY = ctypes.pythonapi  # all of the C library, without asking Python's audit hook
REFUSED = {-1, -2, -13, -22, -38}  # EPERM, ENOENT where it is not, EACCES, EINVAL for a user not there, ENOSYS
CONFINED = pytest.mark.skipif(
    sys.platform == "linux" and landlock_version() < 1 and os.geteuid() != 0, reason="this kernel has no Landlock"
)


# ---- what the tests have done there


def attack(payload, name, path):
    """Call a function of a compiled payload, which the model's own file is."""
    LIBRARY.dlopen.restype = LIBRARY.dlsym.restype = ctypes.c_void_p
    LIBRARY.dlsym.argtypes = [ctypes.c_void_p, ctypes.c_char_p]
    library = LIBRARY.dlopen(payload.encode(), os.RTLD_NOW)
    function = LIBRARY.dlsym(library, f"attack_{name}".encode())
    return ctypes.CFUNCTYPE(ctypes.c_long, ctypes.c_char_p)(function)(path.encode()), {}


def open_by_the_c_library(*paths):
    """Which of these can be opened for reading."""
    return [path for path in paths if LIBRARY.open(path.encode(), os.O_RDONLY) >= 0], {}


def start_by_the_c_library():
    """Fork, become another program, open a socket, look at the parent; true where one of it is possible."""
    child = LIBRARY.fork()
    if child == 0:
        os._exit(0)
    parent = os.getppid()
    return {
        "fork": child > 0,
        "vfork by number": _called(58) if os.uname().machine == "x86_64" else False,
        "execve": LIBRARY.execl(b"/bin/true", b"true", None) >= 0,
        "socket": LIBRARY.socket(2, 1, 0) >= 0,
        "ptrace": LIBRARY.ptrace(16, parent, None, None) >= 0,
        "kill": LIBRARY.kill(parent, 0) >= 0,
    }, {}


def _called(number):
    answer = LIBRARY.syscall(number)
    if answer == 0:
        os._exit(0)
    return answer > 0


def files_that_are_open():
    """What the descriptors of the process lead to."""
    there = [f"/proc/self/fd/{one}" for one in os.listdir("/proc/self/fd")]
    return sorted({os.readlink(one).split(":")[0] for one in there if os.path.lexists(one)}), {}


def look_around(parent):
    """Of itself: its namespaces, its environment, and what it sees of the system."""
    spaces = [os.readlink(f"/proc/self/ns/{name}") for name in ("net", "mnt", "ipc")]
    there = [one for one in ("/etc", "/home", "/root", "/var", f"/proc/{parent}", "/proc/1") if os.path.exists(one)]
    return [spaces, there, os.getuid()], {}


# ---- the tests


@pytest.fixture
def victims(tmp_path):
    """What others have on the machine: a token database, a recording, and the ways to them."""
    home = tmp_path / "studio"
    recording = home / "storage" / "accounts" / "other" / "song.wav"
    recording.parent.mkdir(parents=True)
    for path in (home / "studio.sqlite", recording):
        path.write_bytes(b"secret")
        path.chmod(0o600)
    links = tmp_path / "models" / "link.wav", tmp_path / "models" / "folder"
    links[0].parent.mkdir()
    links[0].symlink_to(recording)
    links[1].symlink_to(home)
    parent = os.getpid()
    return [
        *map(str, (home / "studio.sqlite", recording, links[0], links[1] / "studio.sqlite")),
        *(str(Path(__file__).parents[3] / "pyproject.toml"), f"{links[0].parent}/../studio/studio.sqlite"),
        *(f"/proc/self/root{recording}", f"/proc/self/cwd{recording}", f"/proc/{parent}/root{recording}"),
        *(f"/proc/{parent}/environ", f"/proc/{parent}/mem", f"/proc/{parent}/maps", "/proc/1/environ"),
        *("/proc/1/cmdline", "/proc/kcore", "/etc/passwd", "/etc/shadow", str(Path.home() / ".bashrc")),
    ]


@pytest.fixture
def process(victims, tmp_path):
    path = tmp_path / "models" / "Mia.onnx"
    path.write_bytes(b"PK")
    process = ModelProcess(HERE, path)
    yield process
    process.stop()


@pytest.fixture
def payload(victims, tmp_path):
    """A model that is a compiled program."""
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        pytest.skip("there is no compiler")
    path = tmp_path / "models" / "Mia.so"
    source = Path(__file__).with_name("payload.c")
    subprocess.run([compiler, "-O1", "-shared", "-fPIC", "-w", "-o", path, source, "-lpthread"], check=True)
    process = ModelProcess(HERE, path)
    yield lambda name, about="": process.call("attack", [str(path), name, str(about)])[0]
    process.stop()


@CONFINED
def test_process_reads_nothing_but_its_model_by_the_c_library(process, victims, tmp_path):
    own = str(tmp_path / "models" / "Mia.onnx")
    assert process.call("open_by_the_c_library", [*victims, own])[0] == [own]
    assert not [one for one in victims[:4] if not Path(one).exists()]  # they are there


def test_process_starts_calls_and_touches_nothing_by_the_c_library(process):
    assert process.call("start_by_the_c_library", [])[0] == dict.fromkeys(
        ("fork", "vfork by number", "execve", "socket", "ptrace", "kill"), False
    )


def test_process_has_no_files_of_the_studio_open(process, tmp_path):
    with (tmp_path / "studio" / "studio.sqlite").open("rb") as held:
        os.set_inheritable(held.fileno(), True)
        found = process.call("files_that_are_open", [])[0]
    assert {one.split("/")[1] if one.startswith("/") else one for one in found} <= {"pipe", "tmp", "dev", "proc"}
    assert not [one for one in found if "studio" in one]


@CONFINED
def test_compiled_program_reads_nothing_but_its_model(payload, victims, tmp_path):
    assert payload("read", tmp_path / "models" / "Mia.so") == 1
    for path in victims:
        assert payload("read", path) in REFUSED, path
    for folder in ("/", "/etc", "/home", "/root", "/proc", tmp_path, tmp_path / "studio", tmp_path / "models"):
        assert payload("list", folder) in REFUSED, folder
    assert payload("by_descriptors", victims[0]) in REFUSED


def test_compiled_program_writes_changes_and_removes_nothing(payload, victims, tmp_path):
    secret = tmp_path / "studio" / "studio.sqlite"
    for path in (secret, tmp_path / "models" / "new", tmp_path / "models" / "Mia.so", "/tmp/new", "/dev/shm/new"):
        for way in ("write", "change", "remove"):
            assert payload(way, path) in REFUSED, (way, path)
    assert (secret.read_bytes(), oct(secret.stat().st_mode)[-3:]) == (b"secret", "600")
    assert not Path("/tmp/new").exists()


WAYS = "fork clone3 program socket unix_socket trace memory signal everybody io_uring bpf handle namespace user".split()


@pytest.mark.parametrize("way", [*WAYS, "other_numbers"])
def test_compiled_program_starts_nothing_and_reaches_nobody(payload, way):
    before = len(os.listdir("/proc"))
    assert payload(way) in REFUSED
    assert len(os.listdir("/proc")) < before + 500


def test_compiled_program_has_few_threads(payload):
    """By a limit of its user, where it has one of its own; else it is ended."""
    started = 0
    with suppress(ModelFileError):  # which says that it needs too much
        started = payload("threads")
    assert started <= most_threads()


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="others have no second kind of calls")
def test_compiled_program_that_makes_the_calls_of_another_processor_is_ended(payload):
    with pytest.raises(ModelFileError, match="crashed the process"):
        payload("other_processor")


def test_compiled_program_that_ignores_the_signal_of_its_limit_is_ended(payload, monkeypatch):
    for name in ("_FIRST_WORK_S", "_WORK_S"):
        monkeypatch.setattr(sandbox, name, 0.5)
    monkeypatch.setattr(sandbox_process, "_SPARE_S", 1.0)
    assert payload("clone3") in REFUSED  # it is started
    with pytest.raises(ModelFileError, match="needs more memory or time"):
        payload("work")


def test_process_sees_nothing_of_the_system(process):
    """Where namespaces can be had; Landlock alone forbids to open what is seen."""
    if not namespaces_can_be_had():
        pytest.skip("this system gives nobody namespaces")
    spaces, there, user = process.call("look_around", [os.getpid()])[0]
    assert not set(spaces) & {os.readlink(f"/proc/self/ns/{name}") for name in ("net", "mnt", "ipc")}
    assert "/home" not in there
    assert f"/proc/{os.getpid()}" not in there
    assert (user == os.getuid()) is (os.geteuid() != 0)  # root gives it a user of its own


def namespaces_can_be_had():
    own = ["--mount", "--net", "--ipc", *([] if os.geteuid() == 0 else ["--user", "--map-current-user"])]
    command = ["unshare", *own, "true"]
    return shutil.which("unshare") and not subprocess.run(command, stderr=subprocess.DEVNULL, check=False).returncode

"""Processes of their own, as they are: each test starts one."""

import ctypes
import gc
import os
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np
import psutil
import pytest

from engine.errors import VoiceError
from engine.rvc import sandbox, sandbox_process
from engine.rvc.sandbox import ModelFileError, ModelProcess, run_apart

pytestmark = pytest.mark.system

SYSTEM = ctypes.CDLL(None)
HERE = "tests.engine.rvc.test_sandbox"


# ---- what the tests have done there


def until(look: Callable[[], bool]) -> None:
    """Wait as `tests.waiting` does, which a confined process, that imports this file, cannot import."""
    from tests.waiting import wait_until

    wait_until(look)


def fill_memory(*_):
    return len(bytearray(1 << 36)), {}


def call_outside(*_):
    socket.create_connection(("127.0.0.1", 9))


def run_a_program(*_):
    subprocess.run(["true"])


def write(path, *_):
    Path(path).with_name("written").write_bytes(b"x")


def reach_out_without_python(path, *_):
    """As a fault in a library would."""
    made = SYSTEM.creat(str(Path(path).with_name("written")).encode(), 0o600)
    call = SYSTEM.socket(socket.AF_INET, socket.SOCK_STREAM, 0)
    address = struct.pack("=HH4s8x", socket.AF_INET, socket.htons(9), bytes([127, 0, 0, 1]))
    called = SYSTEM.connect(call, address, len(address))
    return [made, called, SYSTEM.kill(os.getppid(), 0), SYSTEM.execl(b"/bin/true", b"true", None)], {}


def read_where_nothing_is(path, *_):
    (Path(path).parent / "none").read_bytes()


def work_without_end(*_):
    while True:
        pass


def sleep_without_end(*_):
    time.sleep(1e6)


def crash(*_):
    os.abort()


def talk_without_end(*_):
    print("no answer", flush=True)
    for _ in range(100):
        with suppress(OSError):
            os.write(2, b"x" * 10_000)
    return None, {}


def answer_too_much(*_):
    return None, {"samples": np.zeros(1 << 20, np.float32)}


def fail(*_):
    raise KeyError("a mistake of ours")


def refuse(*_):
    raise VoiceError("Not this one.")


def environment(*_):
    return dict(os.environ), {}


def forge(header):
    """Answer past our own functions, as a program in a model could, and say no more."""
    answers = next(one for one in range(3, 20) if os.path.exists(f"/proc/self/fd/{one}") and _is_pipe(one))
    content = header.encode()
    os.write(answers, struct.pack("<Q", len(content)) + content)
    time.sleep(1e6)


def _is_pipe(number):
    return os.readlink(f"/proc/self/fd/{number}").startswith("pipe:")


def doubled(number, **given):
    return [number, os.getpid()], {name: 2 * values for name, values in given.items()}


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "Mia.onnx"
    path.write_bytes(b"PK")
    return path


@pytest.fixture
def process(path):
    process = ModelProcess(HERE, path)
    yield process
    process.stop()


# ---- the tests


@pytest.mark.parametrize(
    ("task", "code", "said"),
    [
        *(("fill_memory", "too_large", "needs more memory or time"), ("crash", "unsafe", "crashed the process")),
        *(("call_outside", "unsafe", "could run a program"), ("run_a_program", "unsafe", "could run a program")),
        *(("write", "unsafe", "could run a program"), ("read_where_nothing_is", "not_readable", "could not be read")),
        ("answer_too_much", "unsafe", "crashed the process"),
    ],
)
def test_run_apart_turns_what_a_file_does_into_one_sentence_that_names_it(path, task, code, said):
    with pytest.raises(ModelFileError, match=rf'^"Mia\.onnx" .*{said}[^\n]*\.$') as caught:
        run_apart(f"{HERE}:{task}", path)
    assert caught.value.code == code
    assert [one.name for one in path.parent.iterdir()] == ["Mia.onnx"]


def test_run_apart_raises_refusals_and_our_own_mistakes_as_they_are(path):
    with pytest.raises(RuntimeError, match="a mistake of ours"):
        run_apart(f"{HERE}:fail", path)
    with pytest.raises(VoiceError, match=r"^Not this one\.$"):
        run_apart(f"{HERE}:refuse", path)
    with pytest.raises(RuntimeError, match="No module named"):
        run_apart("engine.rvc.no_such_module:fail", path)


def test_process_that_works_without_end_is_stopped_by_its_share_of_the_processor(process, monkeypatch):
    monkeypatch.setattr(sandbox, "_FIRST_WORK_S", 0.5)
    monkeypatch.setattr(sandbox, "_WORK_S", 0.5)
    for _ in range(2):
        with pytest.raises(ModelFileError, match="needs more memory or time") as caught:
            process.call("work_without_end", [])
        assert caught.value.code == "too_large"


def test_process_that_only_waits_is_stopped_by_the_clock(process, monkeypatch):
    process.call("doubled", [1])
    monkeypatch.setattr(sandbox, "_CLOCK", 0.01)
    with pytest.raises(ModelFileError, match="needs more memory or time"):
        process.call("sleep_without_end", [])


def test_share_of_the_processor_grows_with_the_sound_that_is_rendered(process, monkeypatch):
    """Work of past calls does not count, and a long rendering may take what a short one may not."""
    monkeypatch.setattr(sandbox, "_WORK_S", 1.0)
    for _ in range(3):
        process.call("work_for", [0.6], seconds=0.0)
    process.call("work_for", [3.0], seconds=1.0)
    with pytest.raises(ModelFileError):
        process.call("work_for", [30.0], seconds=0.0)


def work_for(seconds):
    """So many seconds of the processor."""
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass
    return None, {}


def test_process_answers_many_calls_and_a_crash_does_not_harm_the_next(process):
    given = {"whole": np.arange(3), "real": np.ones((2, 3), np.float32), "none": np.zeros((0, 4), np.float16)}
    (number, pid), found = process.call("doubled", [1], given, largest=1000)
    assert number == 1
    assert all(np.array_equal(found[name], 2 * values) for name, values in given.items())
    assert [one.dtype for one in found.values()] == [one.dtype for one in given.values()]
    assert process.call("doubled", [2])[0] == [2, pid]
    with pytest.raises(ModelFileError, match="crashed"):
        process.call("crash", [])
    with pytest.raises(VoiceError, match="Not this one"):
        process.call("refuse", [])
    (number, other), _ = process.call("doubled", [3])
    assert (number, other != pid) == (3, True)


def test_process_that_ended_between_calls_is_started_again(process):
    _, pid = process.call("doubled", [1])[0]
    psutil.Process(pid).kill()
    psutil.wait_procs([child for child in psutil.Process().children() if child.pid == pid])
    assert process.call("doubled", [2])[0][0] == 2


@pytest.mark.parametrize("noticed", [True, False])
def test_process_without_calls_ends_and_the_next_call_starts_another(process, monkeypatch, noticed):
    """Also where it ends just when it is called."""
    monkeypatch.setattr(sandbox, "_IDLE_S", 0.01)
    _, pid = process.call("doubled", [1])[0]
    until(lambda: psutil.Process(pid).status() == psutil.STATUS_ZOMBIE)
    if not noticed:
        monkeypatch.setattr(sandbox_process.Running, "has_ended", False)
    monkeypatch.setattr(sandbox, "_IDLE_S", 60.0)
    number, other = process.call("doubled", [2])[0]
    assert (number, other != pid) == (2, True)
    assert process.call("doubled", [3])[0] == [3, other]


def test_each_device_has_one_process(process):
    assert process.on("cpu") is process
    assert process.on("cuda:0") is process.on("cuda:0")


def test_what_libraries_print_is_no_answer(process):
    assert process.call("talk_without_end", []) == (None, {})
    assert process.call("doubled", [1])[0][0] == 1


@pytest.mark.skipif(sys.platform != "linux", reason="Landlock is Linux's")
def test_process_cannot_write_call_signal_or_start_programs_even_where_python_is_not_asked(process, path):
    if SYSTEM.syscall(444, None, 0, 1) < 6:
        pytest.skip("this kernel has no Landlock, or one that lets signals through")
    assert process.call("reach_out_without_python", [str(path)])[0] == [-1, -1, -1, -1]
    assert not path.with_name("written").exists()


def test_process_has_none_of_the_users_environment(process, monkeypatch):
    secrets = {"AWS_SECRET_ACCESS_KEY", "TIMBRE_STUDIO_DATABASE_URL", "HOME"}
    for name in secrets:
        monkeypatch.setenv(name, "secret")
    found, _ = process.call("environment", [])
    assert not found.keys() & {*secrets, "PATH"}
    assert found.keys() <= (
        {*sandbox_process._KEPT, "PYTHONPATH", "PYTHONDONTWRITEBYTECODE", "OMP_NUM_THREADS", "OMP_WAIT_POLICY"}
        | {"OPENBLAS_NUM_THREADS"}
        | {"MALLOC_ARENA_MAX", "LC_CTYPE", "KMP_DUPLICATE_LIB_OK", "KMP_INIT_AT_FORK", "CUDA_MODULE_LOADING"}
    )


@pytest.mark.skipif(sys.platform != "linux", reason="the pipe is found by Linux's ways")
@pytest.mark.parametrize(
    "header",
    [
        *("nothing", "[]", "[1, {}]", "[[], {}]", "[{}, {}]", '[{"error": 1}, {}]'),
        *('[{"error": ["refused", 1, 2]}, {}]', '[{"error": ["mistake", [], 0]}, {}]', "[" * 5000),
    ],
)
def test_process_that_forges_its_answer_is_one_error(process, header):
    with pytest.raises(ModelFileError, match="crashed the process"):
        process.call("forge", [header])
    assert process.call("doubled", [1])[0][0] == 1


def test_process_ends_with_the_object_that_owns_it(path):
    process = ModelProcess(HERE, path)
    _, pid = process.call("doubled", [1])[0]
    del process
    gc.collect()
    assert not psutil.pid_exists(pid)


PARENT = f"""
import sys
from pathlib import Path
from engine.rvc.sandbox import ModelProcess
process = ModelProcess("{HERE}", Path(sys.argv[1]))
print(process.call("doubled", [1])[0][1], flush=True)
process.call("work_without_end", [])
"""


def test_process_ends_with_its_parent_in_the_middle_of_a_call(path):
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", PARENT, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) as parent:
        child = psutil.Process(int(parent.stdout.readline()))
        parent.kill()
        parent.wait()
    until(lambda: not child.is_running() or child.status() == psutil.STATUS_ZOMBIE)

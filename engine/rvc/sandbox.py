"""Work on files from anybody in processes of their own, which may compute and answer, and nothing else.

    run_apart("engine.rvc.checkpoint:extract", source, target=target) -> what the function returned
    process = ModelProcess("engine.rvc.onnx_models", path); process.call("run", [...], arrays, seconds=1.5)

`engine.rvc.confined` is what runs there, and says how it is confined. A process that crashes, or takes more time or
memory than any model of RVC needs, is one error here; the next call starts another.
"""

import os
import signal
import subprocess
import sys
import tempfile
import threading
import weakref
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

from engine.errors import VoiceError
from engine.files import shown_name
from engine.rvc.messages import Arrays, receive, send
from engine.texts import tr

# seconds of the processor: for the first call, which loads the model, for any other, and for each second of sound
_FIRST_WORK_S, _WORK_S, _WORK_PER_SECOND = 60.0, 10.0, 10.0
_CLOCK = 20  # times that by the clock, which goes on while others work
_IDLE_S = 60.0  # after which a process without calls gives its memory back
_LAST_WORDS = 2_000  # characters of what a failed process said
# what Python, its libraries and a GPU's driver need to be found; nothing of the user's
_KEPT = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "SYSTEMROOT", "CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER")


class ModelFileError(VoiceError):
    """A file that is no model the studio can use; `code` says why in one word."""

    def __init__(self, message: str, code: str) -> None:
        super().__init__(message)
        self.code = code


def too_demanding(name: str) -> ModelFileError:
    """Return the error of a file that needs more than a model would."""
    text = tr(
        '"{name}" needs more memory or time than a model of RVC, and was stopped: get it from another source.',
        name=name,
    )
    return ModelFileError(text, "too_large")


def unsafe(name: str) -> ModelFileError:
    """Return the error of a file that holds a program."""
    text = tr(
        '"{name}" holds more than weights, and could run a program: it was not opened. Get it from another source.',
        name=name,
    )
    return ModelFileError(text, "unsafe")


def crashed(name: str) -> ModelFileError:
    """Return the error of a file that ended the process which worked on it."""
    text = tr('"{name}" crashed the process it ran in, and was stopped: get it from another source.', name=name)
    return ModelFileError(text, "unsafe")


def no_such_speaker(name: str, speaker: int, speakers: int | None = None) -> ModelFileError:
    """Return the error of a speaker that a model lacks; speakers: how many it has, where it says so."""
    range_of = tr(
        "they are numbered from 0 to {speakers}",
        speakers=speakers - 1,
    ) if speakers else tr("they are numbered from 0")
    return ModelFileError(tr(
        '"{name}" has no speaker {speaker}: {range_of}.',
        name=name, speaker=speaker, range_of=range_of,
    ), "no_such_speaker")


def run_apart(function: str, source: Path, *arguments: str, target: Path | None = None) -> Any:
    """Call `module:function(source, name, *arguments)` in a process of its own, and return its values.

    target: where the file that the function made is written, by this process. Raises ModelFileError where the function
    did, where the file cannot be read, and where the process ran out of time or memory.
    """
    if not source.is_file():
        raise ModelFileError(tr('There is no file "{source}".', source=source), "no_file")
    module, name = function.split(":")
    process = ModelProcess(module, source)
    try:
        told = [str(source.absolute()), shown_name(source), *arguments]
        values, arrays = process.call(name, told, largest=_largest_file(source))
    finally:
        process.stop()
    if target is not None:
        target.write_bytes(arrays["file"].data)
    return values


def _largest_file(source: Path) -> int:
    """Return how large a file may be that is made of another: half-precision numbers may become whole ones."""
    return 2 * source.stat().st_size + (1 << 20)


class ModelProcess:
    """A process that works on one file from anybody: started at the first call, and anew after it ended.

    It serves any number of threads, one after another, and ends with this object or this process, or without calls.
    """

    def __init__(self, module: str, source: Path, name: str = "", threads: int = 1, device: str = "cpu") -> None:
        """Say what runs there and on what.

        module: whose functions are called. source: their file. name: what errors call it, by default the file's.
        device: where networks run; only on the processor memory is limited: a GPU's driver reserves all there is.
        """
        self._module, self._source, self._name = module, source, name or shown_name(source)
        self._threads, self._device = threads, device
        self._elsewhere: dict[str, ModelProcess] = {}
        self._lock = threading.Lock()
        self._running: _Running | None = None
        self._end: weakref.finalize[Any, ModelProcess] | None = None

    def on(self, device: str) -> "ModelProcess":
        """Return the process for another device, which is started when it is called; or this one."""
        if device == self._device:
            return self
        made = ModelProcess(self._module, self._source, self._name, self._threads, device)
        return self._elsewhere.setdefault(device, made)

    def call(
        self,
        function: str,
        arguments: Sequence[Any],
        arrays: Arrays | None = None,
        seconds: float = 0.0,
        largest: int = 0,
    ) -> tuple[Any, dict[str, Any]]:
        """Return the values and arrays of `function(*arguments, **arrays)`.

        arguments: JSON values. seconds: of sound that are rendered, which limits the time. largest: bytes of the arrays
        that are returned. Raises VoiceError where the function did, and ModelFileError where the process was stopped.
        """
        with self._lock:
            try:
                answer, found = self._ask(function, arguments, arrays or {}, seconds, largest)
            except _Ended as cause:
                self.stop()
                raise self._error(cause) from cause
            except BaseException:  # in the middle of a message
                self.stop()
                raise
        self._refuse(answer)
        return answer["values"], found

    def stop(self) -> None:
        """End the process, if it runs."""
        if self._end is not None:
            self._end()
            self._running = self._end = None

    def _ask(
        self, function: str, arguments: Sequence[Any], arrays: Arrays, seconds: float, largest: int
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Ask the process that runs, or a new one. Raises _Ended."""
        running, work_s = self._running, _WORK_S + _WORK_PER_SECOND * seconds
        is_new = running is None or running.has_ended
        if running is None or is_new:
            self.stop()
            running, work_s = self._start(), work_s + _FIRST_WORK_S
        request = {"function": function, "arguments": list(arguments), "work_s": work_s}
        try:
            return running.ask(request, arrays, _CLOCK * work_s, largest)
        except _Ended as cause:
            if is_new or not cause.was_idle:
                raise
        self.stop()
        return self._ask(function, arguments, arrays, seconds, largest)

    def _start(self) -> "_Running":
        running = _Running(self._module, self._source, self._threads, self._device)
        self._running, self._end = running, weakref.finalize(self, running.stop)
        return running

    def _error(self, end: "_Ended") -> Exception:
        if end.took_too_long:
            return too_demanding(self._name)
        return RuntimeError(end.last_words) if end.last_words else crashed(self._name)

    def _refuse(self, answer: dict[str, Any]) -> None:
        """Raise the error of an answer that has one."""
        match answer.get("error"):
            case None:
                return
            case ["refused", text, None]:
                raise VoiceError(text)
            case ["refused", text, code]:
                raise ModelFileError(text, code)
            case ["memory", *_]:
                raise too_demanding(self._name)
            case ["unsafe", *_]:
                raise unsafe(self._name)
            case ["system", text, _]:
                raise ModelFileError(tr(
                    '"{name}" could not be read: {text}.',
                    name=self._name, text=text,
                ), "not_readable")
            case [_, text, _]:
                raise RuntimeError(text)


class _Ended(Exception):
    """A process that gave no answer."""

    def __init__(self, took_too_long: bool, was_idle: bool, last_words: str) -> None:
        super().__init__(last_words)
        self.took_too_long, self.was_idle, self.last_words = took_too_long, was_idle, last_words


class _Running:
    """One process and its pipes."""

    def __init__(self, module: str, source: Path, threads: int, device: str) -> None:
        environment = {name: os.environ[name] for name in _KEPT if name in os.environ} | {
            "PYTHONPATH": os.pathsep.join(map(os.path.abspath, sys.path)),
            "PYTHONDONTWRITEBYTECODE": "1",
            "OMP_NUM_THREADS": str(threads),
            "OMP_WAIT_POLICY": "PASSIVE",
            "MALLOC_ARENA_MAX": "2",  # or each thread reserves 64 MB
        }
        command = [sys.executable, "-X", "utf8", "-m", "engine.rvc.confined", module, str(os.getpid()), device]
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed by `stop`
        self._process = subprocess.Popen(
            [*command, str(source.stat().st_size), str(_IDLE_S)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env=environment,
            start_new_session=True,  # what a user types in a terminal is for the studio
        )
        self._requests: BinaryIO = self._process.stdin  # type: ignore[assignment]
        self._answers: BinaryIO = self._process.stdout  # type: ignore[assignment]

    @property
    def has_ended(self) -> bool:
        return self._process.poll() is not None

    def ask(self, request: Any, arrays: Arrays, longest_s: float, largest: int) -> tuple[Any, dict[str, Any]]:
        """Return the answer to a request. Raises _Ended without one."""
        late = threading.Event()

        def give_up() -> None:
            late.set()
            self._process.kill()

        timer = threading.Timer(longest_s, give_up)
        timer.daemon = True
        timer.start()
        try:
            send(self._requests, request, arrays)
            return receive(self._answers, largest)
        except (OSError, EOFError, ValueError) as cause:
            if isinstance(cause, ValueError):  # no answer, though it runs
                self._process.kill()
            status = self._process.wait()
            worked_too_long = status == -getattr(signal, "SIGXCPU", 0) < 0
            raise _Ended(late.is_set() or worked_too_long, status == 0, self._last_words(status)) from cause
        finally:
            timer.cancel()

    def _last_words(self, status: int) -> str:
        """Return why Python ended, where it did so by itself: a mistake of ours."""
        if status <= 0:
            return ""
        self._errors.seek(max(0, self._errors.seek(0, os.SEEK_END) - _LAST_WORDS))
        return self._errors.read().decode(errors="replace") or repr(self._process)

    def stop(self) -> None:
        """End it; does nothing a second time."""
        self._process.kill()
        for pipe in (self._requests, self._answers, self._errors):
            with suppress(OSError):  # what was not sent yet
                pipe.close()
        self._process.wait()

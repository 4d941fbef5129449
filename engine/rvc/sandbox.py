"""Work on files from anybody in processes of their own, which may compute and answer, and nothing else.

    run_apart("engine.rvc.checkpoint:extract", source, target=target) -> what the function returned
    process = ModelProcess("engine.rvc.onnx_models", path); process.call("run", [...], arrays, seconds=1.5)

`engine.rvc.confined` is what runs there, and says how it is confined. A process that crashes, or takes more time or
memory than any model of RVC needs, is one error here; the next call starts another.
"""

import threading
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from engine.errors import VoiceError
from engine.files import shown_name
from engine.rvc.messages import Arrays
from engine.rvc.sandbox_process import Ended, Patience, Running
from engine.texts import tr

# seconds of the processor: for the first call, which loads the model, for any other, and for each second of sound
_FIRST_WORK_S, _WORK_S, _WORK_PER_SECOND = 60.0, 10.0, 10.0
_CLOCK = 20  # times that by the clock, which goes on while others work
_IDLE_S = 60.0  # after which a process without calls gives its memory back


class ModelFileError(VoiceError):
    """A file that is not a model the studio can use; `code` says why in one word."""

    def __init__(self, message: str, code: str) -> None:
        super().__init__(message)
        self.code = code


def too_demanding(name: str) -> ModelFileError:
    """Return the error of a file that needs more than a model would."""
    text = tr(
        '"{name}" needs more memory or time than an RVC model does, and was stopped: get it from another source.',
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
    range_of = (
        tr("they are numbered from 0 to {speakers}", speakers=speakers - 1)
        if speakers
        else tr("they are numbered from 0")
    )
    return ModelFileError(
        tr('"{name}" has no speaker {speaker}: {range_of}.', name=name, speaker=speaker, range_of=range_of),
        "no_such_speaker",
    )


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
        if "file" not in arrays:  # an answer that is not ours
            raise crashed(shown_name(source))
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
        self._running: Running | None = None
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
            except Ended as cause:
                self.stop()
                raise self._error(cause) from cause
            except BaseException:  # in the middle of a message
                self.stop()
                raise
        self._refuse(answer)
        return answer["values"], found

    def broken(self) -> ModelFileError:
        """Return the error of an answer that no function here gives."""
        return crashed(self._name)

    def stop(self) -> None:
        """End the process, if it runs."""
        if self._end is not None:
            self._end()
            self._running = self._end = None

    def _ask(
        self, function: str, arguments: Sequence[Any], arrays: Arrays, seconds: float, largest: int
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Ask the process that runs, or a new one. Raises Ended."""
        running, work_s = self._running, _WORK_S + _WORK_PER_SECOND * seconds
        is_new = running is None or running.has_ended
        if running is None or is_new:
            self.stop()
            running, work_s = self._start(), work_s + _FIRST_WORK_S
        request = {"function": function, "arguments": list(arguments), "work_s": work_s}
        try:
            return running.ask(request, arrays, Patience(work_s, _CLOCK * work_s), largest)
        except Ended as cause:
            if is_new or not cause.was_idle:
                raise
        self.stop()
        return self._ask(function, arguments, arrays, seconds, largest)

    def _start(self) -> "Running":
        running = Running(self._module, self._source, self._threads, self._device, _IDLE_S)
        self._running, self._end = running, weakref.finalize(self, running.stop)
        return running

    def _error(self, end: "Ended") -> Exception:
        if end.took_too_long:
            return too_demanding(self._name)
        return RuntimeError(end.last_words) if end.last_words else crashed(self._name)

    def _refuse(self, answer: object) -> None:
        """Raise the error of an answer that has one."""
        if isinstance(answer, dict) and "values" in answer:
            return
        match answer.get("error") if isinstance(answer, dict) else None:
            case ["refused", str(text), None]:
                raise VoiceError(text)
            case ["refused", str(text), str(code)]:
                raise ModelFileError(text, code)
            case ["memory", *_]:
                raise too_demanding(self._name)
            case ["unsafe", *_]:
                raise unsafe(self._name)
            case ["system", str(text), _]:
                raise ModelFileError(
                    tr('"{name}" could not be read: {text}.', name=self._name, text=text), "not_readable"
                )
            case ["mistake", str(text), _]:
                raise RuntimeError(text)
        self.stop()
        raise self.broken()

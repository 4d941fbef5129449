"""A process that answers one question after another, and ends with the process that started it.
Questions are pickled: for programs of ours alone. Strangers' models have `engine.rvc.sandbox_process`."""

import multiprocessing
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Concatenate, ParamSpec

P = ParamSpec("P")


class Child:
    """Runs `serve(pipe, *given)` in a process of its own until `end`; one thread at a time asks it."""

    def __init__(
        self, name: str, serve: Callable[Concatenate[Connection, P], None], *given: P.args, **named: P.kwargs
    ) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=serve, args=(theirs, *given), kwargs=named, name=name, daemon=True)
        self._process.start()
        theirs.close()

    @property
    def pid(self) -> int | None:
        return self._process.pid

    def ask(self, question: object, patience_s: float) -> object:
        """Return the answer. Raises TimeoutError if none comes in time, EOFError and OSError if none can."""
        self._pipe.send(question)
        if not self._pipe.poll(patience_s):
            raise TimeoutError
        return self._pipe.recv()

    def end(self, patience_s: float) -> None:
        """End the process, which has so long to finish what it does."""
        self._pipe.close()
        self._process.join(patience_s)
        if self._process.is_alive():
            self._process.kill()
        self._process.join()

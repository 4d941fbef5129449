"""The studio as tools of an assistant, by the Model Context Protocol (modelcontextprotocol.io), over stdin and stdout.

The tools are the page's actions in the local account: what they convert appears in its history. The workers start with
the first conversion, and stop with the assistant.
"""

import shutil
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Literal, ParamSpec, TypeVar

import anyio
from anyio import to_thread
from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import ToolAnnotations

from engine.errors import EngineError
from engine.files import names_that_fit, replacing
from studio.actions.arrivals import workplace
from studio.actions.conversions import ConversionRequest, start_conversion
from studio.actions.downloads import stored_take
from studio.actions.names import name_of_take
from studio.actions.tasks import cancel_task, task_view
from studio.actions.voices import models_view
from studio.errors import Invalid
from studio.store.studio import Studio
from studio.store.tasks import ACTIVE, find

P = ParamSpec("P")
T = TypeVar("T")
_LOOK_S = 0.5  # between two looks at a task
_TAKE_FORMAT = "wav"
_SHOWN = ("id", "state", "progress", "message", "error", "model", "settings", "output_settings", "scores")
_INSTRUCTIONS = """Converts a recording, sung or spoken, to another voice with the same notes, words and timing. List
the voices first. Convert only to voices whose owners agree, and say that the result is synthetic."""


def build_server(studio: Studio) -> MCPServer:
    """Return the server with its tools: voices, convert, task."""
    server = MCPServer("timbre-studio", title="Timbre Studio", instructions=_INSTRUCTIONS, log_level="WARNING")
    tools = _Tools(studio)
    reads = ToolAnnotations(read_only_hint=True, open_world_hint=False)
    writes = ToolAnnotations(read_only_hint=False, destructive_hint=False, open_world_hint=False)
    server.tool(annotations=reads)(tools.voices)
    server.tool(annotations=writes)(tools.convert)
    server.tool(annotations=writes)(tools.task)
    return server


class _Tools:
    """The tools. Their docstrings and arguments are what an assistant reads."""

    def __init__(self, studio: Studio) -> None:
        self._studio = studio
        self._folders: dict[str, Path] = {}  # of the conversions of this session, for their takes

    async def voices(self) -> dict[str, Any]:
        """List the voices to convert to, with their ids, ranges and descriptions."""
        return await _done(models_view, self._studio, self._studio.local)

    async def convert(
        self,
        recording: str,
        voice: str,
        context: Context,
        transpose: float | Literal["auto", "best"] = "auto",
        takes: int = 1,
        preset: Literal["auto", "melodic", "rhythmic", "spoken"] = "auto",
        folder: str = "",
        wait_s: float = 50.0,
    ) -> dict[str, Any]:
        """Convert a recording on this machine to another voice, and write the takes as wav files.

        recording: path of a wav, flac, mp3, ogg, opus, m4a or aiff file. voice: an id from `voices`. transpose: in
        semitones; or auto, which moves the recording into the voice's range by octaves; or best, the key that leaves
        the fewest notes outside that range. takes: 1 to 10 renderings. folder: where the takes go; default: beside the
        recording. wait_s: if the state is still queued or running after these seconds, ask with `task`.
        """
        source = Path(recording).expanduser()
        target = Path(folder).expanduser() if folder else source.parent
        settings = {"transpose": transpose, "takes": takes}
        task_id = await _done(self._start, source, ConversionRequest(voice, settings, preset))
        self._folders[task_id] = target
        return await self._followed(task_id, wait_s, context)

    async def task(
        self, task_id: str, context: Context, folder: str = "", cancel: bool = False, wait_s: float = 50.0
    ) -> dict[str, Any]:
        """Show how far a conversion is, and write its takes once it is completed.

        task_id: from `convert`. folder: where the takes go; default: as given to `convert`. cancel: stop it. wait_s:
        how long to wait for its end, in seconds.
        """
        if folder:
            self._folders[task_id] = Path(folder).expanduser()
        if cancel:
            await _done(cancel_task, self._studio, self._studio.local, task_id, "", time.time())
        return await self._followed(task_id, wait_s, context)

    def _start(self, source: Path, request: ConversionRequest) -> str:
        with names_that_fit():
            there = source.is_file()
        if not there:
            raise Invalid([("recording", f"There is no file {source}.")])
        with workplace(self._studio) as place:  # the action takes the file away
            copy = Path(shutil.copyfile(source, place / source.name))
            return start_conversion(self._studio, self._studio.local, copy, source.name, request)

    async def _followed(self, task_id: str, wait_s: float, context: Context) -> dict[str, Any]:
        """Report progress until the task ends or the time is over; return its state, and the paths of its takes."""
        end_s = anyio.current_time() + wait_s
        while True:
            view = await _done(task_view, self._studio, self._studio.local, task_id, "", time.time())
            if view["state"] not in ACTIVE or anyio.current_time() >= end_s:
                break
            await context.report_progress(view["progress"], 1.0, view["message"])
            await anyio.sleep(_LOOK_S)
        files = await _done(self._written, task_id) if view["state"] == "completed" else []
        return {name: view.get(name) for name in _SHOWN} | {"files": files}

    def _written(self, task_id: str) -> list[str]:
        """Write the takes of a conversion into its folder, under the names that the page gives them."""
        studio, folder = self._studio, self._folders.get(task_id)
        if folder is None:
            return []
        task = find(studio.database, studio.local.id, task_id)
        written = []
        with workplace(studio) as place:
            for take in range(1, len((task.result or {}).get("outputs", [])) + 1):
                target = folder / name_of_take(studio.database, studio.local, task, take, _TAKE_FORMAT)
                stored = studio.storage.fetch(stored_take(studio, task, take, _TAKE_FORMAT), place)
                try:
                    folder.mkdir(parents=True, exist_ok=True)
                    with replacing(target) as unfinished:
                        shutil.copyfile(stored, unfinished)
                except OSError as cause:
                    text = f"The takes cannot be written to {folder}: {cause.strerror or cause}."
                    raise Invalid([("folder", text)]) from cause
                written.append(str(target))
        return written


async def _done(action: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run an action in a thread; its errors reach the assistant as their sentence."""
    try:
        return await to_thread.run_sync(partial(action, *args, **kwargs))
    except EngineError as error:
        raise ToolError(str(error)) from error

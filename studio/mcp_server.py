"""The studio as tools of an assistant, by the Model Context Protocol (modelcontextprotocol.io), over stdin and stdout.

The tools are the page's actions in the local account: what they convert appears in its history. The workers start with
the first conversion, and stop with the assistant.
"""

import errno
import filecmp
import os
import shutil
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal, ParamSpec, TypeVar

import anyio
from anyio import to_thread
from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS, CallToolResult, GetPromptResult, InputRequiredResult, ToolAnnotations
from pydantic import Field, ValidationError, WithJsonSchema

from engine.conversion.settings import AUTO, ConversionSettings
from engine.errors import EngineError
from engine.files import numbered, replacing
from engine.spelling import pasted_path
from studio.actions.account import name_of_take
from studio.actions.conversions.conversion import ConversionRequest, check_conversion, submit_conversion
from studio.actions.conversions.downloads import stored_take
from studio.actions.tasks import cancel_task, task_view
from studio.actions.uploads import scratch_folder
from studio.actions.voices.voice import models_view
from studio.errors import Invalid
from studio.http.errors import field_text
from studio.http.field_names import unknown_fields
from studio.http.routes.fields import shown
from studio.http.routes.setting_fields import setting_named
from studio.settings.service import MEGABYTE
from studio.store.free_space import refuse_full_disk
from studio.store.records.codec import plain
from studio.store.records.conversion import Rendered
from studio.store.studio import Studio
from studio.store.tasks import ACTIVE, Task, find

P = ParamSpec("P")
T = TypeVar("T")
_LOOK_S = 0.5  # between two looks at a task
_TAKE_FORMAT = "wav"
_LONGEST_SHOWN = 200
_LARGEST_RECORDING = 1_000_000_000  # bytes, an hour of 24 bit in stereo: a call is to end while its assistant waits
_SHOWN = ("id", "state", "progress", "message", "error", "model", "settings", "output_settings", "scores")
_INSTRUCTIONS = """Converts a recording, sung or spoken, to another voice with the same notes, words and timing. List
the voices first. Convert only to voices whose owners agree, and say that the result is synthetic."""
_Path = Annotated[str, Field(max_length=4096)]
_Id = Annotated[str, Field(max_length=200)]
_Seconds = Annotated[float, Field(strict=True, ge=0, le=3600, allow_inf_nan=False)]
_Takes = Annotated[int, Field(strict=True)]
# the engine knows the range, and says it in one sentence
_Transpose = Annotated[
    Annotated[float, Field(strict=True)] | Annotated[str, Field(max_length=20)],
    Field(description=setting_named(ConversionSettings, "transpose").metadata["meaning"]),
    WithJsonSchema({"anyOf": [{"type": "number"}, {"enum": ["auto", "best"]}], "default": AUTO}),
]


def build_server(studio: Studio) -> MCPServer:
    """Return the server with its tools: voices, convert, task."""
    server = _Server("timbre-studio", title="Timbre Studio", instructions=_INSTRUCTIONS, log_level="WARNING")
    tools = _Tools(studio)
    reads = ToolAnnotations(read_only_hint=True, open_world_hint=False)
    writes = ToolAnnotations(read_only_hint=False, destructive_hint=False, open_world_hint=False)
    server.tool(annotations=reads)(tools.voices)
    server.tool(annotations=writes)(tools.convert)
    server.tool(annotations=writes)(tools.task)
    return server


Answer = dict[str, Any]  # of a tool


class _Server(MCPServer):
    """A server that refuses arguments its tools do not take, and tells what is wrong with others in a sentence each."""

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context[Any, Any] | None = None
    ) -> CallToolResult | InputRequiredResult:
        """Call a tool. Raises ToolError with sentences for the assistant."""
        schemas = {tool.name: tool.input_schema for tool in await self.list_tools()}
        if name not in schemas:
            raise ToolError(f"There is no tool {shown(name)}: there are {', '.join(schemas)}.")
        known = schemas[name].get("properties", {})
        if others := [given for given in arguments if given not in known]:
            raise ToolError(str(unknown_fields(others, known)))
        try:
            return await super().call_tool(name, arguments, context)
        except ToolError as error:
            if not isinstance(error.__cause__, ValidationError):
                raise
            sentences: dict[str, str] = {}
            for one in error.__cause__.errors():  # of a union, one for each of its kinds
                field = str(one["loc"][0])
                sentences.setdefault(field, field_text(field, one))
            raise ToolError(" ".join(sentences.values())) from error

    async def get_prompt(
        self, name: str, arguments: dict[str, Any] | None = None, context: Context[Any, Any] | None = None
    ) -> GetPromptResult | InputRequiredResult:
        """Refuse any prompt: there is none. Raises MCPError; the SDK would log a traceback."""
        raise MCPError(INVALID_PARAMS, "There are no prompts here.")


class _Tools:
    """The tools. Their docstrings and arguments are what an assistant reads."""

    def __init__(self, studio: Studio) -> None:
        self._studio = studio
        self._folders: dict[str, Path] = {}  # of the conversions of this session, for their takes

    async def voices(self) -> Answer:
        """List the voices to convert to, with their ids, ranges and descriptions."""
        return {**plain(await _done(models_view, self._studio, self._studio.local))}

    async def convert(
        self,
        recording: _Path,
        voice: _Id,
        context: Context,
        transpose: _Transpose = AUTO,
        takes: _Takes = 1,
        preset: Literal["auto", "melodic", "rhythmic", "spoken"] = "auto",
        folder: _Path = "",
        wait_s: _Seconds = 50.0,
    ) -> Answer:
        """Convert a recording on this machine to another voice, and write the takes as wav files.

        recording: path of a wav, flac, mp3, ogg, opus, m4a or aiff file. voice: an id from `voices`. takes: 1 to 10
        renderings. folder: where the takes go, numbered where files have their names; default: beside the recording.
        wait_s: if the state is still queued or running after these seconds, ask with `task`.
        """
        settings = {"transpose": transpose, "takes": takes}
        request = ConversionRequest(voice, settings, preset)
        task_id, self._folders[task_id] = await _done(self._start, recording, folder, request)
        return await self._followed(task_id, wait_s, context)

    async def task(
        self, task_id: _Id, context: Context, folder: _Path = "", cancel: bool = False, wait_s: _Seconds = 50.0
    ) -> Answer:
        """Show how far a conversion is, and write its takes once it is completed.

        task_id: from `convert`. folder: where the takes go; default: as given to `convert`. cancel: stop it. wait_s:
        how long to wait for its end, in seconds.
        """
        if folder:
            await _done(find, self._studio.database, self._studio.local.id, task_id)
            self._folders[task_id] = await _done(_writable_folder, folder)
        if cancel:
            await _done(cancel_task, self._studio, self._studio.local, task_id, "", time.time())
        return await self._followed(task_id, wait_s, context)

    def _start(self, recording: str, folder: str, request: ConversionRequest) -> tuple[str, Path]:
        """Start a conversion; return the task's id, and the folder for its takes."""
        source = _path_of(recording)
        _refuse_large(source)
        checked = check_conversion(self._studio, self._studio.local, source, source.name, request)
        target = _writable_folder(folder or str(source.parent))
        with scratch_folder(self._studio) as place:  # the action takes the file away
            copy = place / source.name
            try:
                refuse_full_disk(self._studio, source.stat().st_size)
                shutil.copyfile(source, copy)
            except OSError as cause:
                text = f"The recording cannot be copied: {cause.strerror or cause}."
                raise Invalid([("recording", text)]) from cause
            return submit_conversion(self._studio, self._studio.local, copy, checked), target

    async def _followed(self, task_id: str, wait_s: float, context: Context) -> Answer:
        """Report progress until the task ends or the time is over; return its state, and the paths of its takes."""
        end_s = anyio.current_time() + wait_s
        while True:
            view = await _done(task_view, self._studio, self._studio.local, task_id, "", time.time())
            if view.state not in ACTIVE or anyio.current_time() >= end_s:
                break
            await context.report_progress(view.progress, 1.0, view.message)
            await anyio.sleep(_LOOK_S)
        files = await _done(self._written, task_id) if view.state == "completed" else []
        shown = plain(view)
        return {name: shown.get(name) for name in _SHOWN} | {"files": files}

    def _written(self, task_id: str) -> list[str]:
        """Write the takes of a conversion into its folder, under the names that the page gives them."""
        studio, folder = self._studio, self._folders.get(task_id)
        if folder is None:
            return []
        task = find(studio.database, studio.local.id, task_id)
        takes = range(1, len(task.result_as(Rendered).outputs) + 1)
        try:
            return [str(self._written_take(task, take, folder)) for take in takes]
        except OSError as cause:
            raise _not_writable(folder, cause) from cause

    def _written_take(self, task: Task, take: int, folder: Path) -> Path:
        """Write a take under the first name that is free, unless it is there already. Raises OSError."""
        studio = self._studio
        name = name_of_take(studio.database, studio.local, task, take, _TAKE_FORMAT)
        with scratch_folder(studio) as place:
            stored = studio.storage.fetch(stored_take(studio, task, take, _TAKE_FORMAT), place)
            return next(target for target in numbered(folder / name) if _is_written(stored, target))


def _is_written(stored: Path, target: Path) -> bool:
    """Copy a file unless something has that name; return whether its contents are there. Raises OSError."""
    if os.path.lexists(target):
        return target.is_file() and filecmp.cmp(stored, target, shallow=False)
    with suppress(FileExistsError), replacing(target) as unfinished:
        shutil.copyfile(stored, unfinished)
        target.touch(exist_ok=False)  # claims the name, so that nothing is ever replaced
        return True
    return False


def _refuse_large(source: Path) -> None:
    """Refuse a file by its size, before it is read, which may take minutes. Raises Invalid."""
    try:
        size = source.stat().st_size
    except (OSError, ValueError):
        return  # said where it is opened
    if size > _LARGEST_RECORDING:
        text = (
            f"{shown(source.name)} has {size / MEGABYTE:.0f} MB; an assistant may give a recording of at most "
            f"{_LARGEST_RECORDING / MEGABYTE:.0f} MB: export it as FLAC, or convert it on the page."
        )
        raise Invalid([("recording", text)])


def _path_of(text: str) -> Path:
    """Return an absolute path of this machine. Raises Invalid."""
    try:
        return Path(pasted_path(text)).expanduser().absolute()
    except RuntimeError as cause:
        user = shown(text.partition("/")[0])
        raise Invalid([("path", f"There is no user {user} on this machine: give the whole path.")]) from cause


def _writable_folder(text: str) -> Path:
    """Return a folder to write into, which is made if it is not there. Raises Invalid."""
    folder = _path_of(text)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not os.access(folder, os.W_OK | os.X_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    except (OSError, ValueError) as cause:  # of a name with a zero byte
        raise _not_writable(folder, cause) from cause
    return folder


def _not_writable(folder: Path, cause: OSError | ValueError) -> Invalid:
    reason = "it is a file" if isinstance(cause, FileExistsError) else getattr(cause, "strerror", None) or cause
    return Invalid([("folder", f"The takes cannot be written to {str(folder)[:_LONGEST_SHOWN]}: {reason}.")])


async def _done(action: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run an action in a thread; its errors reach the assistant as their sentence."""
    try:
        return await to_thread.run_sync(partial(action, *args, **kwargs))
    except EngineError as error:
        raise ToolError(str(error).replace("GET /models", "The tool voices")) from error

"""The tools as an assistant uses them: through the SDK's own client, over stdin and stdout."""

import os
import shutil
import sys
from pathlib import Path

import anyio
import pytest

pytest.importorskip("mcp")

from mcp import Client, StdioServerParameters

import engine

pytestmark = pytest.mark.system

SPEECH = Path(engine.__path__[0]) / "samples" / "speech.flac"
WORK_S = 240.0


def talked(conversation) -> None:
    """Hold a conversation with the server as a process of its own."""

    async def hold() -> None:
        command = StdioServerParameters(command=sys.executable, args=["-m", "studio", "mcp"], env=dict(os.environ))
        async with Client(command, read_timeout_seconds=WORK_S) as client:
            await conversation(client)

    anyio.run(hold)


def test_mcp_server_converts_a_recording_and_writes_the_takes(tmp_path):
    recording = Path(shutil.copy(SPEECH, tmp_path / "line one.flac"))
    told: list[float] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        told.append(progress)

    async def conversation(client: Client) -> None:
        assert {tool.name for tool in (await client.list_tools()).tools} == {"voices", "convert", "task"}
        voices = (await client.call_tool("voices")).structured_content
        assert {"kathleen", "koguchi"} <= {voice["id"] for voice in voices["models"]}

        given = {"recording": str(recording), "voice": "kathleen", "takes": 2, "wait_s": WORK_S}
        done = (await client.call_tool("convert", given, progress_callback=hear)).structured_content
        assert done["state"] == "completed", done
        assert [Path(file).parent for file in done["files"]] == [tmp_path, tmp_path]
        assert all(Path(file).stat().st_size > 100_000 for file in done["files"])
        assert recording.read_bytes() == SPEECH.read_bytes()
        assert told == sorted(told)
        assert told

        given = {"task_id": done["id"], "folder": str(tmp_path / "again")}
        again = (await client.call_tool("task", given)).structured_content
        assert [Path(file).read_bytes() for file in again["files"]] == [
            Path(file).read_bytes() for file in done["files"]
        ]

    talked(conversation)


def test_mcp_server_reports_errors_in_sentences(tmp_path):
    refused = [
        ("convert", {"recording": str(tmp_path / "none.wav"), "voice": "kathleen"}, "There is no file"),
        ("convert", {"recording": str(SPEECH), "voice": "nobody"}, "nobody"),
        ("convert", {"recording": str(SPEECH), "voice": "kathleen", "takes": 11}, "takes must be a whole number"),
        ("convert", {"recording": __file__, "voice": "kathleen"}, "audio"),
        ("task", {"task_id": "0" * 24}, "There is no such task"),
    ]

    async def conversation(client: Client) -> None:
        for tool, given, sentence in refused:
            answer = await client.call_tool(tool, given)
            assert answer.is_error
            assert sentence in answer.content[0].text
            assert "Traceback" not in answer.content[0].text

    talked(conversation)

"""The tools as an assistant uses them: through the SDK's own client, over stdin and stdout."""

import math
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest

pytest.importorskip("mcp")

from mcp import Client, StdioServerParameters
from mcp.server.mcpserver.exceptions import ToolError, UnexpectedToolError
from mcp.shared.exceptions import MCPError

import engine
from engine.errors import EngineError
from studio.actions.conversions.conversion import ConversionRequest
from studio.mcp_server import _is_written, _Tools, build_server
from studio.settings.environment import Settings
from studio.settings.service import ServiceSettings
from studio.store.studio import Studio, open_studio

SPEECH = Path(engine.__path__[0]) / "samples" / "speech.flac"
WORK_S = 240.0


def talked(conversation) -> None:
    """Hold a conversation with the server as a process of its own."""

    async def hold() -> None:
        command = StdioServerParameters(command=sys.executable, args=["-m", "studio", "mcp"], env=dict(os.environ))
        async with Client(command, read_timeout_seconds=WORK_S) as client:
            await conversation(client)

    anyio.run(hold)


@pytest.mark.system
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

        taken, free = (Path(file) for file in done["files"])
        sound = taken.read_bytes()
        taken.write_bytes(b"mine")
        for _ in range(2):  # the second time it is there
            given = {"task_id": done["id"], "folder": str(tmp_path)}
            written = (await client.call_tool("task", given)).structured_content["files"]
            assert written == [str(taken.with_stem(f"{taken.stem}-2")), str(free)]
            assert Path(written[0]).read_bytes() == sound
            assert taken.read_bytes() == b"mine"
            assert len(list(tmp_path.glob("*.wav"))) == 3

    talked(conversation)


@pytest.mark.system
def test_mcp_server_reports_errors_in_sentences(tmp_path):
    refused = [
        ("convert", {"recording": str(tmp_path / "none.wav"), "voice": "kathleen"}, "does not exist"),
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


# ---- hostile arguments


@pytest.fixture
def studio(home) -> Iterator[Studio]:
    studio = open_studio(Settings(home), ServiceSettings(free_disk_mb=0))
    yield studio
    studio.close()


@pytest.fixture
def places(tmp_path) -> Path:
    """A folder with what is no recording, and one."""
    shutil.copy(SPEECH, tmp_path / "line.flac")
    (tmp_path / "text").write_text("no sound")
    (tmp_path / "folder").mkdir()
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "zero.wav").symlink_to("/dev/zero")
    os.mkfifo(tmp_path / "pipe.wav")
    with (tmp_path / "sparse.wav").open("wb") as file:
        file.write(EMPTY_WAV)  # behind which chunks would be sought
        file.truncate(3_000_000_000)
    return tmp_path


EMPTY_WAV = b"RIFF\0\0\0\0WAVEfmt \x10\0\0\0\1\0\1\0\x44\xac\0\0\x88\x58\1\0\2\0\x10\0"
RECORDINGS = [
    *("none.wav", "text", "folder", "loop", "zero.wav", "pipe.wav", "sparse.wav", "/dev/zero", "a\0b", "a" * 3000),
    *("a" * 100_000, "\ud800", "", "~nobody-of-this-name/a.wav", 5, None, ["line.flac"], {}),
]
FOLDERS = [
    *("text", "pipe.wav", "/dev/null", "loop", "a\0b", "a" * 3000, "a" * 100_000, "\ud800"),
    *("~nobody-of-this-name", 5, None, ["x"]),
]
REST = {
    "voice": ["nobody", "", "\0", "\ud800", "x" * 100_000, "../../etc", 5, None],
    "takes": [0, 11, -1, 10**30, "2", 1.5, True, None, math.inf],
    "transpose": [25, 1e308, math.nan, -math.inf, "sideways", "x" * 100_000, True, [1], None],
    "preset": ["loud", "", 5, None],
    "wait_s": [-1, 1e9, math.inf, math.nan, "soon", True, None],
    "likenes": [0.1],
}
TASKS = {
    "task_id": ["0" * 24, "", "\0", "\ud800", "x" * 100_000, 5, None],
    "cancel": ["maybe", 5, None],
    "folder": ["a\0b", 5],
    "wait_s": [-1, math.nan],
    "takes": [1],
}
HOSTILE = [
    *(("convert", "recording", value) for value in RECORDINGS),
    *(("convert", "folder", value) for value in FOLDERS),
    *(("convert", name, value) for name, values in REST.items() for value in values),
    *(("task", name, value) for name, values in TASKS.items() for value in values),
    ("voices", "genre", "jazz"),
]


@pytest.mark.parametrize(("tool", "name", "value"), HOSTILE, ids=map(str, range(len(HOSTILE))))
def test_every_tool_answers_a_hostile_argument_with_one_short_sentence(studio, places, monkeypatch, tool, name, value):
    monkeypatch.chdir(places)
    before = set(places.rglob("*"))
    given = {"convert": {"recording": "line.flac", "voice": "kathleen", "wait_s": 0}, "task": {"task_id": "0" * 24}}
    monkeypatch.setattr(shutil, "copyfile", None)  # nothing is copied before it has been looked at
    with pytest.raises(ToolError) as refused:
        anyio.run(build_server(studio).call_tool, tool, given.get(tool, {}) | {name: value})
    assert not isinstance(refused.value, UnexpectedToolError)
    sentence = str(refused.value)
    assert sentence.endswith((".", "?"))
    assert "\n" not in sentence
    assert len(sentence) < 500
    assert set(places.rglob("*")) == before


def test_server_refuses_unknown_tools_and_prompts_in_a_short_sentence(studio):
    """A prompt was a traceback in the log, and a name of 100,000 letters came back."""
    with pytest.raises(ToolError, match=r"There is no tool 'aaa.*: there are voices, convert, task") as refused:
        anyio.run(build_server(studio).call_tool, "a" * 100_000, {})
    assert len(str(refused.value)) < 200
    with pytest.raises(MCPError, match="There are no prompts here"):
        anyio.run(build_server(studio).get_prompt, "a")


def test_start_copies_a_recording_only_after_it_is_known_to_be_one(studio, places, monkeypatch):
    copied = []
    monkeypatch.setattr(shutil, "copyfile", lambda source, target: copied.append(source))
    tools, request = _Tools(studio), ConversionRequest("kathleen", {})
    with pytest.raises(EngineError):
        tools._start(str(places / "sparse.wav"), "", request)
    assert not copied
    with pytest.raises((EngineError, FileNotFoundError)):  # the copy is not there
        tools._start(str(places / "line.flac"), "", request)
    assert copied == [places / "line.flac"]


@pytest.mark.parametrize("size", [1_000_000_001, 3_000_000_000, 1 << 40])
def test_start_refuses_a_large_recording_by_its_size_before_it_is_read(studio, places, monkeypatch, size):
    """Three gigabytes of nothing held a call for more than five minutes."""
    os.truncate(places / "sparse.wav", size)
    monkeypatch.setattr("studio.mcp_server.check_conversion", None)  # which would read it
    with pytest.raises(EngineError, match=r"'sparse\.wav' has \d+ MB; .* at most 1000 MB: export it as FLAC"):
        _Tools(studio)._start(str(places / "sparse.wav"), "", ConversionRequest("kathleen", {}))


def test_start_takes_a_recording_of_the_largest_size(studio, places, monkeypatch):
    os.truncate(places / "sparse.wav", 1_000_000_000)
    checked = []
    monkeypatch.setattr("studio.mcp_server.check_conversion", lambda *given: checked.append(given[2]))
    monkeypatch.setattr("studio.mcp_server.submit_conversion", lambda *given: "t")
    monkeypatch.setattr(shutil, "copyfile", lambda source, target: None)
    assert _Tools(studio)._start(str(places / "sparse.wav"), "", ConversionRequest("kathleen", {}))[0] == "t"
    assert checked == [places / "sparse.wav"]


def test_is_written_never_replaces_anything(tmp_path):
    stored = tmp_path / "stored"
    stored.write_bytes(b"take")
    target, link = tmp_path / "take.wav", tmp_path / "link.wav"
    assert _is_written(stored, target)
    assert _is_written(stored, target)  # it is there
    target.write_bytes(b"mine")
    assert not _is_written(stored, target)
    assert target.read_bytes() == b"mine"
    link.symlink_to(tmp_path / "nowhere")
    assert not _is_written(stored, link)
    assert not (tmp_path / "nowhere").exists()
    os.mkfifo(tmp_path / "pipe.wav")
    for taken in (tmp_path / "pipe.wav", Path("/dev/null"), tmp_path):
        assert not _is_written(stored, taken)
    assert not list(tmp_path.glob(".*"))


def test_is_written_leaves_a_file_that_appears_at_the_last_moment(tmp_path, monkeypatch):
    stored, target = tmp_path / "stored", tmp_path / "take.wav"
    stored.write_bytes(b"take")
    copy = shutil.copyfile

    def overtaken(source: Path, unfinished: Path) -> None:
        copy(source, unfinished)
        target.write_bytes(b"mine")

    monkeypatch.setattr(shutil, "copyfile", overtaken)
    assert not _is_written(stored, target)
    assert target.read_bytes() == b"mine"
    assert {path.name for path in tmp_path.iterdir()} == {"stored", "take.wav"}

"""The script for REAPER, run by Lua 5.4 as REAPER does: its JSON, its calls of a real service, and what it does to an
item of a pretended REAPER."""

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import soundfile
from lupa import lua54

import engine
from studio.commands.reaper import SCRIPT
from studio.load.trial_service import TrialService
from tests.waiting import wait_until

SPEECH = Path(engine.__path__[0]) / "samples" / "speech.flac"
NO_ADDRESS = "http://127.0.0.1:9"  # nobody listens at discard


def loaded() -> Any:
    """Return what the script gives a program that is not REAPER."""
    return lua54.LuaRuntime(unpack_returned_tuples=True).execute(SCRIPT.read_text(encoding="utf-8"))


def as_python(value: object) -> object:
    """Return a table as a list if it counts from 1, else as a dictionary; an empty one is a list."""
    if lua54.lua_type(value) != "table":
        return value
    items = {key: as_python(one) for key, one in value.items()}
    return list(items.values()) if set(items) == set(range(1, len(items) + 1)) else items


@pytest.mark.parametrize(
    "value",
    [
        *("", "plain", 'quotes " and \\ and /', "Zoë 声 🎤", "\n\t\r\b\f\x01", 0, -12.5, 1e-7, 6.02e23, True, False),
        *([], [1, [2, ["3"]]], {"a": {"b": [True, {"c": "d"}]}}, [{"id": "mia", "name": "Mia"}]),
    ],
)
@pytest.mark.parametrize("ascii_only", [True, False])
def test_decoded_reads_json(value, ascii_only):
    for text in (json.dumps(value, ensure_ascii=ascii_only), json.dumps(value, indent=2, ensure_ascii=ascii_only)):
        assert as_python(loaded().decoded(text)) == value


def test_decoded_takes_null_as_nothing():
    assert loaded().decoded("null") is None
    assert as_python(loaded().decoded('{"a": null, "b": 1}')) == {"b": 1}


@pytest.mark.parametrize(
    "text", ["", "<html>", '"open', "[1", "[1 2]", '{"a"}', '{"a": }', "{1: 2}", "nul", "1 2", '"\\u12"', "-", '"\\']
)
def test_decoded_refuses_what_is_no_json(text):
    with pytest.raises(lua54.LuaError):
        loaded().decoded(text)


def curl(order: str) -> str:
    """Carry out the calls as REAPER does; return the status code."""
    if shutil.which("curl") is None:
        pytest.skip("curl is not installed.")
    done = subprocess.run(["curl", "--config", order], capture_output=True, text=True, check=False)
    return done.stdout[-3:]


def settings(lua: lua54.LuaRuntime, folder: Path, address: str, token: str) -> Any:
    return lua.table(address=address, token=token, folder=str(folder), run=curl)


@pytest.mark.system
def test_script_converts_a_file_with_an_awkward_name_and_replaces_none(service: TrialService, tmp_path):
    recording = tmp_path / 'take "1"; \\ ä, =@x.flac'
    shutil.copy(SPEECH, recording)
    lua = lua54.LuaRuntime(unpack_returned_tuples=True)
    script = lua.execute(SCRIPT.read_text(encoding="utf-8"))
    given = settings(lua, tmp_path, service.base_url, service.token("reaper"))
    voices = [dict(one.items()) for one in script.voices(given).values()]
    assert {"id": "koguchi", "name": "Koguchi"}.items() <= next(one for one in voices if one["id"] == "koguchi").items()
    task = script.begun(given, str(recording), "koguchi")
    url = wait_until(lambda: script.result(given, task))
    paths = [Path(script.fetched(given, url, str(tmp_path), "a/b: Koguchi")) for _ in range(2)]
    assert [one.name for one in paths] == ["a_b_ Koguchi.wav", "a_b_ Koguchi 2.wav"]
    seconds = [soundfile.info(one).duration for one in paths]
    assert seconds == pytest.approx([soundfile.info(SPEECH).duration] * 2, abs=1e-3)
    assert not list(tmp_path.glob("timbre_studio*"))  # nothing is left that has the token


@pytest.mark.system
def test_script_says_in_one_sentence_what_went_wrong(service: TrialService, tmp_path):
    lua = lua54.LuaRuntime(unpack_returned_tuples=True)
    script = lua.execute(SCRIPT.read_text(encoding="utf-8"))
    token = service.token("reaper")
    for given, call, words in (
        (settings(lua, tmp_path, NO_ADDRESS, "x"), script.voices, "does not answer at http://127.0.0.1:9. Start it"),
        (settings(lua, tmp_path, service.base_url, "wrong"), script.voices, "token"),
        (
            settings(lua, tmp_path, service.base_url, token),
            lambda one: script.begun(one, str(SPEECH), "nobody"),
            "nobody",
        ),
        (settings(lua, tmp_path, service.base_url, token), lambda one: script.result(one, "nothing"), "no such task"),
    ):
        with pytest.raises(lua54.LuaError, match=words):
            call(given)
    assert not list(tmp_path.glob("timbre_studio*"))


class PretendedReaper:
    """As much of REAPER as the script uses: one selected item with one take."""

    def __init__(self, lua: lua54.LuaRuntime, folder: Path, file: str, chosen: int = 1) -> None:
        self.said: list[str] = []
        self.deferred: list[Callable[[], None]] = []
        self.takes = [{"source": file, "D_STARTOFFS": 1.5, "D_VOL": 0.5, "D_PAN": -0.25, "D_PLAYRATE": 0.9}]
        self.item_is_there, self.is_section, self.menu, self.undo = True, False, "", ""
        window = {"init": lambda *_: 1, "quit": lambda: None, "mouse_x": 0, "mouse_y": 0}
        lua.globals()["gfx"] = lua.table_from(window | {"showmenu": self._show_menu(chosen)})
        calls = {
            "ShowMessageBox": lambda text, *_: self.said.append(text),
            "GetOS": lambda: "Other",
            "ExecProcess": self._run,
            "get_action_context": lambda: (False, str(folder / SCRIPT.name)),
            "GetResourcePath": lambda: str(folder),
            "GetProjectPath": lambda: str(folder / "project"),
            "GetSelectedMediaItem": lambda *_: "item" if self.item_is_there else None,
            "GetActiveTake": lambda _: 0,
            "GetMediaItemTake_Source": lambda take: self.takes[take]["source"],
            "GetMediaSourceParent": lambda _: "parent" if self.is_section else None,
            "GetMediaSourceFileName": lambda source, _: source,
            "TakeIsMIDI": lambda _: False,
            "ValidatePtr2": lambda *_: self.item_is_there,
            "AddTakeToMediaItem": lambda _: self.takes.append({}) or len(self.takes) - 1,
            "PCM_Source_CreateFromFile": lambda path: path,
            "SetMediaItemTake_Source": lambda take, source: self.takes[take].update(source=source),
            "GetMediaItemTakeInfo_Value": lambda take, what: self.takes[take].get(what, 0.0),
            "SetMediaItemTakeInfo_Value": lambda take, what, value: self.takes[take].update({what: value}),
            "GetSetMediaItemTakeInfo_String": lambda take, what, value, _: self.takes[take].update({what: value}),
            "SetActiveTake": lambda take: setattr(self, "active", take),
            "Undo_BeginBlock": lambda: None,
            "Undo_EndBlock": lambda text, _: setattr(self, "undo", text),
            "Main_OnCommand": lambda *_: None,
            "UpdateArrange": lambda: None,
            "time_precise": lambda: float(self._seconds()),
            "defer": lambda work: self.deferred.append(work),
        }
        self._passed_s = 0
        lua.globals()["reaper"] = lua.table_from(calls)
        lua.execute(SCRIPT.read_text(encoding="utf-8"))

    def _seconds(self) -> int:
        self._passed_s += 1
        return self._passed_s

    def _show_menu(self, chosen: int) -> Callable[[str], int]:
        def show(menu: str) -> int:
            self.menu = menu
            return chosen

        return show

    def _run(self, command: str, _: int) -> str:
        program, order = command.split(" --config ")
        assert program == "/usr/bin/curl"
        return f"0\n{curl(order.strip(chr(34)))}"

    def went_on(self) -> bool:
        """Do what was deferred; return whether it has ended."""
        waiting, self.deferred = list(self.deferred), []
        for one in waiting:
            one()
        return not self.deferred


@pytest.fixture
def place(service: TrialService, tmp_path) -> SimpleNamespace:
    """A folder as `timbre-studio reaper` leaves it, and a recording in a project."""
    (tmp_path / "project").mkdir()
    recording = tmp_path / "project" / "vocal.flac"
    shutil.copy(SPEECH, recording)
    token = service.token("reaper")
    text = f'return {{ address = "{service.base_url}", token = "{token}" }}'
    (tmp_path / "timbre_studio_settings.lua").write_text(text)
    return SimpleNamespace(folder=tmp_path, recording=str(recording))


@pytest.mark.system
def test_script_lays_the_result_into_the_item_as_its_active_take(place):
    reaper = PretendedReaper(lua54.LuaRuntime(unpack_returned_tuples=True), place.folder, place.recording)
    wait_until(reaper.went_on)
    assert reaper.said == []
    voice = reaper.menu.split("|")[0]
    take = reaper.takes[1]
    assert reaper.active == 1
    assert take.items() >= {"D_STARTOFFS": 1.5, "D_VOL": 0.5, "D_PAN": -0.25, "D_PLAYRATE": 0.9}.items()
    assert take["P_NAME"] == voice
    assert take["source"] == str(place.folder / "project" / f"vocal - {voice}.wav")
    assert soundfile.info(take["source"]).duration == pytest.approx(soundfile.info(SPEECH).duration, abs=1e-3)
    assert reaper.undo == f"Timbre Studio: {voice}"


@pytest.mark.system
def test_script_says_where_the_take_is_if_the_item_has_gone(place):
    reaper = PretendedReaper(lua54.LuaRuntime(unpack_returned_tuples=True), place.folder, place.recording)
    reaper.item_is_there = False
    wait_until(reaper.went_on)
    assert [one.partition(";")[0] for one in reaper.said] == ["The item is gone"]
    assert len(reaper.takes) == 1
    assert (place.folder / "project" / f"vocal - {reaper.menu.split('|')[0]}.wav").exists()


@pytest.mark.system
def test_script_does_nothing_if_no_voice_is_chosen(place):
    reaper = PretendedReaper(lua54.LuaRuntime(unpack_returned_tuples=True), place.folder, place.recording, chosen=0)
    assert (reaper.said, reaper.deferred, len(reaper.takes)) == ([], [], 1)


def test_script_asks_for_its_settings_where_they_are_missing(tmp_path):
    reaper = PretendedReaper(lua54.LuaRuntime(unpack_returned_tuples=True), tmp_path, str(SPEECH))
    assert [one.partition(":")[0] for one in reaper.said] == ["Settings are missing"]

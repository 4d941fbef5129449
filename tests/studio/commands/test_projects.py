"""`projects` and `presets` as a user and a script see them."""

import json
import zipfile
from dataclasses import asdict

import numpy as np
import pytest
import soundfile

from engine.provenance.statement import Statement
from studio.actions.account import Preset, save_preset
from studio.actions.conversions.conversion import ConversionRequest, start_conversion
from studio.commands.in_process import local_studio
from studio.store.tasks import claim, complete
from tests.command_line import run

RATE = 16_000


def refused(result) -> str:
    assert (result.exit_code, result.stdout) == (1, "")
    [sentence] = result.stderr.splitlines()
    return sentence


@pytest.fixture
def project(tmp_path, monkeypatch) -> str:
    """The beginning of the id of a project of one take; its folder is the current one."""
    monkeypatch.chdir(tmp_path)
    time_s = np.arange(RATE) / RATE
    for name in ("song.wav", "take.wav", "other.wav"):
        soundfile.write(tmp_path / name, 0.2 * np.sin(2 * np.pi * 220 * time_s), RATE)
    with local_studio() as studio:
        start_conversion(studio, studio.local, tmp_path / "song.wav", "song.wav", ConversionRequest("kathleen", {}))
        task = claim(studio.database, "worker", ["conversion"], 60)
        key = f"tasks/{task.id}/1/take-1.wav"
        studio.storage.put_file(tmp_path / "take.wav", key)
        result = {"outputs": [key], "statement": asdict(Statement("kathleen", "Kathleen", None, {}, None, "0.9"))}
        with studio.database.write() as connection:
            complete(connection, task, result)
        return task.recording[:8]


def test_projects_sets_lists_exports_and_deletes_a_project(project, tmp_path):
    assert run("projects", "set", project, "--name", "Summer", "--tempo", 120, "--at", 4).exit_code == 0
    [row] = [line for line in run("projects").stdout.splitlines() if "Summer" in line]
    assert row.startswith(project)
    assert "Kathleen" in row
    assert "Summer" not in run("projects", "--search", "winter").stdout
    [told] = json.loads(run("projects", "--json").stdout)["projects"]
    assert told["timeline"] == {"tempo_bpm": 120.0, "beats_per_bar": 4, "start_s": 4.0}

    assert run("projects", "export", project).stdout == "Summer.zip\n"
    with zipfile.ZipFile(tmp_path / "Summer.zip") as archive:
        assert "stems/bar 003.1.000 Summer - Kathleen take 1.wav" in archive.namelist()
    assert run("projects", "export", project, "--tempo", 0, "-o", "other.zip").stdout == "other.zip\n"
    with zipfile.ZipFile(tmp_path / "other.zip") as archive:
        assert "stems/00h00m04.000s Summer - recording.wav" in archive.namelist()

    refused_without_answer = run("projects", "delete", project)
    assert refused_without_answer.exit_code == 1
    assert "Nothing was deleted" in refused_without_answer.stderr
    assert run("projects", "delete", project, "--yes").stderr.startswith("Deleted 1 conversion")
    gone = f"There is no project '{project}': `python -m studio projects` lists them."
    assert refused(run("projects", "export", project)) == refused(run("projects", "delete", project)) == gone
    assert run("projects", "list").stdout == run("projects").stdout


def test_projects_refuses_invalid_options_in_one_sentence(project):
    assert "tempo_bpm must be" in refused(run("projects", "export", project, "--tempo", 1000))
    assert "not a day" in refused(run("projects", "--since", "yesterday"))
    assert "cannot be written" in refused(run("projects", "export", project, "-o", "no/such/folder.zip"))


def test_presets_show_prints_what_the_programs_own_set():
    melodic = json.loads(run("presets", "show", "melodic").stdout)
    assert (melodic["style"], melodic["settings"]["accent"]) == ("melodic", 1.0)
    styles = json.loads(run("presets", "show", "auto").stdout)["settings"]
    assert styles["melodic"] == melodic["settings"]
    expected = {"melodic": 1.0, "rhythmic": 0.8, "spoken": 0.8}
    assert {style: values["likeness"] for style, values in styles.items()} == expected


def test_presets_lists_shows_and_deletes_a_preset(project, tmp_path):
    assert run("presets").stdout.split() == ["auto", "melodic", "rhythmic", "spoken"]
    with local_studio() as studio:
        save_preset(studio, studio.local, "Dark", Preset("melodic", {"formant_shift_semitones": -2.0}, "hall"))
    assert run("presets").stdout.split()[4:] == ["Dark"]
    assert json.loads(run("presets", "show", "Dark").stdout)["effects"] == "hall"
    assert run("presets", "delete", "Dark").exit_code == 1  # nobody answers
    assert run("presets", "delete", "Dark", "--yes").exit_code == 0
    soundfile.write(tmp_path / "other.wav", np.zeros(RATE), RATE)
    assert "There is no preset 'Dark'" in refused(run("convert", "other.wav", "--preset", "Dark"))


@pytest.mark.slow
def test_convert_applies_a_saved_preset_and_options_override_it(project, tmp_path):
    with local_studio() as studio:
        save_preset(studio, studio.local, "Low", Preset("melodic", {"formant_shift_semitones": -4.0}))
    for name, options in {"plain": [], "low": ["--preset", "Low"], "same": ["--preset", "Low"]}.items():
        more = ["--formant-shift-semitones", 0] if name == "same" else []
        done = run("convert", "other.wav", "-o", f"{name}.wav", "--preset", "melodic", *options, *more)
        assert done.exit_code == 0, done.stderr
    plain, low, same = (soundfile.read(tmp_path / f"{name}.wav")[0] for name in ("plain", "low", "same"))
    assert (plain == same).all()
    assert np.abs(plain - low).max() > 0.01

"""`create` and `report` as a user and a script see them, and what is in the library's folders after."""

import json
import signal
import zipfile
from pathlib import Path

import numpy as np
import pytest
import soundfile
from rich.progress import Progress

from studio.commands.failures import STOPPED
from tests.command_line import assert_one_sentence, run

RATE = 44_100
SECONDS = 7.0  # of each of two recordings, which is just enough of a voice


def sung(seconds: float, hertz: float = 180.0) -> np.ndarray:
    """Notes with vibrato, short rests between them and a little noise below, float64 (samples,)."""
    time_s = np.arange(round(seconds * RATE)) / RATE
    melody = (np.floor(time_s / 0.7) % 4) * 2 + 0.3 * np.sin(2 * np.pi * 5 * time_s)
    cycles = np.cumsum(hertz * 2 ** (melody / 12)) / RATE
    tone = sum(np.cos(2 * np.pi * number * cycles) / number for number in range(1, 60))
    heard = np.clip(8 * np.sin(np.pi * time_s / 0.7) ** 2, 0, 1) * (time_s % 1.4 < 1.2)
    return 0.1 * tone * heard + 1e-4 * np.random.default_rng(0).standard_normal(len(time_s))


@pytest.fixture
def here(tmp_path, monkeypatch) -> Path:
    """The current folder, with the recordings 1.wav and 2.wav in the folder songs."""
    (tmp_path / "songs").mkdir()
    for number in (1, 2):
        soundfile.write(tmp_path / "songs" / f"{number}.wav", sung(SECONDS, 170 + 30 * number), RATE)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def package(here) -> Path:
    """The recordings as a zip whose model.json calls the voice Gökhan."""
    values = {"name": "Gökhan", "gender": "male", "mood": "happy", "consent": {"by": "Gökhan"}}
    with zipfile.ZipFile(here / "voice.zip", "w") as made:
        made.writestr("model.json", json.dumps(values))
        for number in (1, 2):
            made.write(here / "songs" / f"{number}.wav", f"audio/{number}.wav")
    return here / "voice.zip"


def left(home: Path) -> list[str]:
    return [path.name for path in (home / "datasets").iterdir()] if (home / "datasets").exists() else []


# ---- create


def test_create_makes_a_dataset_of_a_zip_under_an_id_of_its_name(home, package):
    result = run("create", package)
    assert (result.exit_code, result.stdout) == (0, "gokhan\n"), result.stderr
    assert "2 recordings" in result.stderr
    assert "is ready to use, untrained: python -m studio convert RECORDING --voice gokhan" in result.stderr
    assert "Training makes it more like the recordings: python -m studio train gokhan" in result.stderr
    folder = home / "datasets" / "gokhan"
    assert left(home) == ["gokhan"]
    assert {path.name for path in (folder / "audio").iterdir()} == {"1.wav", "2.wav"}
    kept = json.loads((folder / "model.json").read_text(encoding="utf-8"))
    assert (kept["mood"], kept["consent"]) == ("happy", {"by": "Gökhan"})
    assert (folder / "report.json").is_file()
    assert "not trained" in run("voices").stdout
    assert package.is_file()


def test_create_prefers_options_to_the_profile_in_the_package(home, package):
    names = "--name Anna --gender female --description Clear. --base-language de --genre pop --voice-type alto".split()
    more = ["--age", "young adult", "--traits", "clear, warm,"]
    rights = "--licence CC0-1.0 --credit Anna --consent-statement Yes. --consent-date 2025-01-31".split()
    result = run("create", package, *names, *more, *rights)
    assert result.stdout == "anna\n", result.stderr
    kept = json.loads((home / "datasets" / "anna" / "model.json").read_text(encoding="utf-8"))
    assert kept == (
        {"name": "Anna", "gender": "female", "age": "young adult", "description": "Clear."}
        | {"base_language": "de", "traits": ["clear", "warm"], "genre": "pop", "voice_type": "alto"}
        | {"licence": "CC0-1.0", "source": "Anna"}
        | {"consent": {"statement": "Yes.", "by": "Gökhan", "date": "2025-01-31"}, "mood": "happy"}
    )


def test_create_takes_recordings_and_folders_with_a_name(home, here):
    assert run("create", "songs/1.wav", "songs/2.wav", "--name", "Anna").stdout == "anna\n"
    assert run("create", "songs", "--name", "Anna").stdout == "anna-2\n"
    assert run("create", "songs", "--name", "Kathleen").stdout == "kathleen-2\n"  # as there is a demo voice of that id
    assert sorted(left(home)) == ["anna", "anna-2", "kathleen-2"]


def test_create_refuses_too_little_voice_and_leaves_nothing(home, here):
    result = run("create", "songs/1.wav", "--name", "Anna")
    assert_one_sentence(result, "10")
    assert left(home) == []


def test_create_refuses_invalid_input_in_one_sentence_and_leaves_nothing(home, here):
    assert_one_sentence(run("create", "songs"), "name is missing")
    assert_one_sentence(run("create", "nothing.zip", "--name", "Anna"), "nothing.zip")
    assert_one_sentence(run("create", "songs", "--name", "Anna", "--gender", "loud"), "gender must be one of")
    assert_one_sentence(run("create", "songs", "--name", "A", "--consent-date", "soon"), "consent.date must be")
    (here / "bad.zip").write_text("no zip")
    assert_one_sentence(run("create", "bad.zip"), "not a ZIP")
    assert left(home) == []


def test_create_leaves_nothing_when_interrupted(home, here, monkeypatch):
    update, asked = Progress.update, []

    def press_control_c(self, task, **more):
        update(self, task, **more)
        asked.append(more)
        if len(asked) == 2:
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(Progress, "update", press_control_c)
    assert_one_sentence(run("create", "songs", "--name", "Anna"), "Stopped", status=STOPPED)
    assert len(asked) == 2
    assert left(home) == []


# ---- report


def test_report_examines_a_zip_a_folder_a_recording_and_a_created_voice(home, here, package):
    reports = [json.loads(run("report", source, "--json").stdout) for source in ("voice.zip", "songs", "songs/1.wav")]
    assert left(home) == []
    assert [len(found["recordings"]) for found in reports] == [2, 2, 1]
    assert reports[0]["usable_s"] == pytest.approx(2 * reports[2]["usable_s"], rel=0.2)
    assert run("create", package).exit_code == 0
    created = json.loads(run("report", "gokhan", "--json").stdout)
    assert created["recordings"] == reports[0]["recordings"]


def test_report_names_the_recording_the_fault_and_the_remedy(here):
    clipped = np.clip(12 * sung(SECONDS, 250), -1, 1)
    soundfile.write(here / "songs" / "loud.wav", clipped, RATE)
    lines = run("report", "songs").stdout.splitlines()
    assert "3 recordings" in lines[0]
    told = [number for number, line in enumerate(lines) if "loud.wav: " in line]
    assert told
    assert all(lines[number].startswith(("note", "FAULT")) for number in told)
    assert any("clip" in lines[number] for number in told)
    assert any(line.strip().startswith("->") for line in lines)


@pytest.mark.parametrize(("suffix", "magic"), [("png", b"\x89PNG"), ("pdf", b"%PDF")])
def test_report_plot_writes_png_and_pdf(here, suffix, magic):
    result = run("report", "songs", "--plot", f"report.{suffix}")
    assert result.exit_code == 0, result.stderr
    assert (here / f"report.{suffix}").read_bytes().startswith(magic)
    assert sorted(path.name for path in here.iterdir()) == [f"report.{suffix}", "songs"]


def test_report_refuses_invalid_input_in_one_sentence(here):
    assert_one_sentence(run("report", "songs", "--plot", "report.xyz"), "report.xyz")
    assert_one_sentence(run("report", "nothing"), "nothing")
    (here / "songs" / "model.json").write_text('{"name": "Anna", "gender": "loud"}')
    assert_one_sentence(run("report", "songs"), "gender must be one of")

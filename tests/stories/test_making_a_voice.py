"""The whole way on the command line: from a zip to a voice, to a package, and back."""

import json
import zipfile
from pathlib import Path

import pytest
import soundfile

from engine.training.history import read_history
from tests.command_line import run

pytestmark = pytest.mark.system

RATE = 44_100


@pytest.fixture
def package(tmp_path, monkeypatch, vocal, short_trainings) -> Path:
    """A zip with model.json and two recordings."""
    monkeypatch.chdir(tmp_path)
    with zipfile.ZipFile(tmp_path / "mia.zip", "w") as archive:
        archive.writestr("model.json", json.dumps({"name": "Mia", "consent": {"by": "Mia"}, "mood": "sunny"}))
        for number in range(2):
            soundfile.write(tmp_path / "one.wav", vocal(9.0, 200.0 + 40 * number), RATE)
            archive.write(tmp_path / "one.wav", f"audio/take {number}.wav")
    return tmp_path / "mia.zip"


def test_commands_create_train_convert_export_import_and_resume_a_voice(home, package, vocal):
    created = run("create", package, "--gender", "female")
    assert (created.exit_code, created.stdout) == (0, "mia\n"), created.stderr

    trained = run("train", "mia", "--epochs", 1, "--batch", 8)
    assert (trained.exit_code, trained.stdout) == (0, "mia\n"), trained.stderr
    training = home / "datasets" / "mia" / "training"
    assert read_history(training).state == "completed"
    assert (training / "curves.png").stat().st_size > 5_000

    soundfile.write("song.wav", vocal(1.5, 120.0), RATE)
    converted = run("convert", "song.wav", "--voice", "mia", "--transpose", "auto")
    assert (converted.exit_code, converted.stdout) == (0, "song.mia.wav\n"), converted.stderr
    assert soundfile.info("song.mia.wav").frames == round(1.5 * RATE)

    assert run("voices", "export", "mia").stdout == "mia.voice.zip\n"
    voices = home / "voices"
    before = json.loads((voices / "mia" / "card.json").read_text())
    again = run("voices", "import", "mia.voice.zip")
    assert again.stdout == "mia\n", again.stderr  # nothing differs
    assert not (voices / "mia-2").exists()

    more = run("train", "mia", "--epochs", 2, "--batch", 8)
    assert more.exit_code == 0, more.stderr
    assert [line["epoch"] for line in read_history(training).epochs] == [1, 2]

    imported = run("voices", "import", "mia.voice.zip")  # as it was before
    assert imported.stdout == "mia-2\n", imported.stderr
    cards = [before, json.loads((voices / "mia-2" / "card.json").read_text())]
    assert [card.pop("id") for card in cards] == ["mia", "mia-2"]
    assert [card.pop("name") for card in cards] == ["Mia", "Mia 2"]
    assert [bool(card.pop("consent_seal")) for card in cards] == [False, True]
    assert cards[0] == cards[1]
    assert (cards[0]["consent"], cards[0]["other"], cards[0]["gender"]) == ({"by": "Mia"}, {"mood": "sunny"}, "female")

"""`voices` as a user and a script see it."""

import json
import shutil
from pathlib import Path

import pytest
import soundfile
from typer.testing import CliRunner

from engine.training.history import TrainingHistory
from engine.voices.card import DEMO_VOICES, list_voices, load_card
from engine.voices.card_rules import FORMAT
from engine.voices.voice import load_voice
from studio.commands.cli import app
from studio.store.workspaces import alone_in_training, alone_with_untrained
from tests.cards import rewrite_card, update_card
from tests.command_line import assert_one_sentence, run


@pytest.fixture
def own(home) -> Path:
    """The folder of a voice of the user's own, called Anna."""
    folder = home / "voices" / "anna"
    shutil.copytree(DEMO_VOICES / "kathleen", folder)
    rewrite_card(folder, id="anna")
    update_card(folder, name="Anna", voice_type=None, gender=None, genre=None)
    return folder


@pytest.fixture
def recordings(home) -> Path:
    """The folder of recordings that no voice was made of yet, called Berta."""
    folder = home / "datasets" / "berta"
    (folder / "audio").mkdir(parents=True)
    (folder / "model.json").write_text('{"name": "[red]Berta"}')
    soundfile.write(folder / "audio" / "1.wav", [0.0] * 100, 44_100)
    return folder


def ids() -> set[str]:
    return {card["id"] for card in json.loads(run("voices", "--json").stdout)["models"]}


# ---- listing


def test_voices_lists_own_untrained_and_demo_voices(own, recordings):
    table = run("voices").stdout
    assert all(card.id in table for card in list_voices())
    [anna] = [line for line in table.splitlines() if "anna" in line]
    [berta] = [line for line in table.splitlines() if "berta" in line]
    assert "ready" in anna
    assert "not trained" in berta
    assert "[red]Berta" in berta  # a name is a name, not a colour
    assert ids() == {card.id for card in list_voices()} | {"anna"}  # as the service: none that cannot be used


def test_voices_shows_whole_ids_in_a_narrow_terminal(own):
    longest = own.with_name("somebody-with-a-very-long-name")
    own.rename(longest)
    rewrite_card(longest, id=longest.name)
    assert longest.name in CliRunner().invoke(app, ["voices"], env={"COLUMNS": "80"}).stdout


def test_voices_shows_the_progress_of_a_training(recordings):
    (recordings / "training").mkdir()
    begun = TrainingHistory("training", 50, [{"epoch": 7}]).as_json()
    (recordings / "training" / "history.json").write_text(json.dumps(begun))
    assert "in training: 7 of 50 epochs" in run("voices").stdout


def test_voices_lists_all_voices_if_some_are_damaged(own, recordings):
    shutil.copytree(own, own.with_name("nina"))
    assert run("voices").exit_code == 0
    (own / "card.json").write_text("{")
    (recordings / "model.json").write_text("{")
    result = run("voices")
    assert result.exit_code == 0
    assert all(name in result.stdout for name in ("anna", "berta", "nina", "kathleen"))
    assert_one_sentence(run("voices", "export", "anna"), "'anna'")


def test_convert_converts_to_an_own_voice(own, here):
    soundfile.write(here / "vocal.wav", [0.0, 0.1] * 22_050, 44_100)
    result = run("convert", "vocal.wav", "--preset", "melodic", "--voice", "anna")
    assert result.stdout == "vocal.anna.wav\n"


# ---- untrained


@pytest.fixture
def mia(home, here, vocal):
    """A recording of fifteen seconds that no voice was made of yet, and a vocal to convert."""
    soundfile.write(here / "1.wav", vocal(15.0, 200.0), 44_100)
    soundfile.write(here / "vocal.wav", vocal(1.0, 140.0), 44_100)
    assert run("create", "1.wav", "--name", "Mia").stdout == "mia\n"
    return home / "datasets" / "mia"


@pytest.mark.system
def test_convert_uses_an_untrained_voice_and_warns(mia, here, home):
    result = run("convert", "vocal.wav", "--voice", "mia")
    assert (result.exit_code, result.stdout) == (0, "vocal.mia.wav\n"), result.stderr
    assert (
        result.stderr.splitlines()[0]
        == "Mia is untrained: python -m studio train mia makes it more like the recordings."
    )
    assert soundfile.info(here / "vocal.mia.wav").duration == pytest.approx(1.0)
    assert load_card(mia / "untrained").is_untrained
    assert not (mia / "training").exists()
    assert not (home / "voices").exists()
    assert "not trained" in next(line for line in run("voices").stdout.splitlines() if "mia" in line)
    assert "mia" not in ids()


@pytest.mark.system
def test_convert_reuses_an_untrained_voice_until_its_recordings_change(mia, here, vocal):
    def made() -> tuple[int, int]:
        assert run("convert", "vocal.wav", "--voice", "mia").exit_code == 0
        return (mia / "untrained" / "weights.safetensors").stat().st_mtime_ns, len(list((mia / "clips").iterdir()))

    first = made()
    assert made() == first
    soundfile.write(mia / "audio" / "2.wav", vocal(3.0, 210.0), 44_100)
    again = made()
    assert again[0] != first[0]
    assert again[1] == first[1] + 1  # the others are not analysed again
    (mia / "model.json").write_text('{"name": "Mia Muster"}')
    result = run("convert", "vocal.wav", "--voice", "mia")
    assert "Mia Muster is untrained" in result.stderr


@pytest.mark.system
def test_convert_uses_the_untrained_voice_in_place_of_one_of_an_earlier_base(mia, own, home):
    rewrite_card(own, format=FORMAT - 1)
    own.rename(home / "voices" / "mia")
    assert "Mia is untrained" in run("convert", "vocal.wav", "--voice", "mia").stderr


@pytest.mark.system
def test_voices_delete_removes_the_untrained_voice_too(mia, here, home):
    assert run("convert", "vocal.wav", "--voice", "mia").exit_code == 0
    with alone_with_untrained(mia, lambda fraction, message: None):
        assert_one_sentence(run("voices", "delete", "mia", "--yes"), "being analysed")
    assert run("voices", "delete", "mia", "--yes").exit_code == 0
    assert list((home / "datasets").iterdir()) == []
    assert_one_sentence(run("convert", "vocal.wav", "--voice", "mia"), "There is no voice 'mia'")


@pytest.mark.system
def test_voices_export_and_blend_refuse_an_untrained_voice(mia, here):
    assert run("convert", "vocal.wav", "--voice", "mia").exit_code == 0
    assert_one_sentence(run("voices", "export", "mia"), "not trained yet", "train it first")
    assert_one_sentence(run("voices", "blend", "mia", "kathleen"), "not trained yet", "train it first")


def test_convert_refuses_a_voice_with_too_little_sound(recordings, here):
    soundfile.write(here / "vocal.wav", [0.0] * 44_100, 44_100)
    assert_one_sentence(run("convert", "vocal.wav", "--voice", "berta"), "only 0.0 s of usable voice")
    assert not (recordings / "untrained").exists()
    assert not (here / "vocal.berta.wav").exists()


# ---- export and import


def test_voices_export_and_import_round_trip_a_voice(own, here, home):
    result = run("voices", "export", "anna")
    assert (result.exit_code, result.stdout) == (0, "anna.voice.zip\n")
    card = load_card(own)
    assert run("voices", "delete", "anna", "--yes").exit_code == 0
    assert not own.exists()
    result = run("voices", "import", "anna.voice.zip")
    assert (result.exit_code, result.stdout) == (0, "anna\n")
    assert "licence: CC-BY-4.0" in result.stderr
    assert load_card(own) == card
    assert sorted(path.name for path in here.iterdir()) == ["anna.voice.zip"]


def test_voices_import_of_what_is_here_already_makes_no_second_voice(own, here):
    run("voices", "export", "anna")
    assert run("voices", "import", "anna.voice.zip").stdout == "anna\n"
    assert "anna-2" not in ids()
    rewrite_card(own, description="Another.")
    assert run("voices", "import", "anna.voice.zip").stdout == "anna-2\n"  # its profile differs


def test_voices_marks_and_exports_a_voice_of_an_earlier_base(own, here):
    rewrite_card(own, format=FORMAT - 1)
    shown = next(line for line in run("voices").stdout.splitlines() if "anna" in line)
    assert "again" in shown
    assert "anna" not in {one["id"] for one in json.loads(run("voices", "--json").stdout)["models"]}
    assert run("voices", "export", "anna").stdout == "anna.voice.zip\n"
    soundfile.write(here / "vocal.wav", [0.0] * 44_100, 44_100)
    assert_one_sentence(run("convert", "vocal.wav", "--voice", "anna"), "earlier version", "Train it again")


@pytest.mark.parametrize("output", ["a.zip", "folder"])
def test_voices_export_writes_to_the_given_file_or_folder(own, here, output):
    (here / "folder").mkdir()
    expected = "a.zip" if output == "a.zip" else "folder/anna.voice.zip"
    assert run("voices", "export", "anna", "-o", output).stdout == f"{expected}\n"
    assert (here / expected).is_file()


def test_voices_import_keeps_ids_and_names_unique_unless_replacing(here, recordings, home):
    assert run("voices", "export", "kathleen").exit_code == 0
    again = run("voices", "import", "kathleen.voice.zip")
    assert (again.exit_code, again.stdout) == (0, "kathleen\n")  # nothing differs
    assert "already here" in again.stderr
    assert run("voices", "import", "kathleen.voice.zip", "--name", "Kathleen 2").stdout == "kathleen-2\n"
    assert run("voices", "import", "kathleen.voice.zip", "--name", "Kathy").stdout == "kathy\n"
    assert run("voices", "import", "kathleen.voice.zip", "--replace", "kathy").stdout == "kathy\n"
    assert ids() == {card.id for card in list_voices()} | {"kathleen-2", "kathy"}
    cards = [load_card(home / "voices" / name) for name in ("kathleen-2", "kathy")]
    assert [(card.id, card.name) for card in cards] == [("kathleen-2", "Kathleen 2"), ("kathy", "Kathleen")]
    assert_one_sentence(run("voices", "import", "kathleen.voice.zip", "--replace", "kathleen"), "demo voice")


def test_voices_export_and_import_failures_are_one_sentence(here, home):
    assert_one_sentence(run("voices", "export", "nobody"), "There is no voice 'nobody'. `python -m studio")
    assert_one_sentence(run("voices", "export", "kathleen", "-o", "nowhere/a.zip"), "could not be written")
    assert_one_sentence(run("voices", "import", "nothing.zip"), "nothing.zip")
    (here / "text.zip").write_text("la la la")
    assert_one_sentence(run("voices", "import", "text.zip"), "text.zip", "is not a voice package")
    assert sorted(path.name for path in here.iterdir()) == ["text.zip"]
    assert not (home / "voices").exists()


# ---- blend


def test_voices_blend_makes_a_usable_voice(own, home):
    result = run("voices", "blend", "anna", "koguchi", "--share", 0.25, "--name", "Mia Ö")
    assert (result.exit_code, result.stdout) == (0, "mia-o\n"), result.stderr
    assert "Anna (75 %) and Koguchi (25 %)" in result.stderr
    assert "CC-BY-SA-4.0" in result.stderr
    blend = load_voice("mia-o", home / "voices")
    assert blend.card.name == "Mia Ö"
    assert soundfile.info(blend.preview).duration > 1.0
    assert "mia-o" in ids()


def test_voices_blend_without_a_name_joins_both_names(home):
    assert run("voices", "blend", "kathleen", "kerstin").stdout == "kathleen-and-kerstin\n"
    assert load_card(home / "voices" / "kathleen-and-kerstin").name == "Kathleen and Kerstin"


def test_voices_blend_failure_is_one_sentence_and_leaves_nothing(home):
    assert_one_sentence(run("voices", "blend", "kathleen", "nobody"), "nobody")
    assert_one_sentence(run("voices", "blend", "kathleen", "kerstin", "--share", 1.5), "share", "from 0 to 1")
    assert_one_sentence(run("voices", "blend", "kathleen", "kerstin", "--share", "nan"), "share")
    assert_one_sentence(run("voices", "blend", "kathleen", "kerstin", "--name", ""), "name must be")
    assert not (home / "voices").exists()


# ---- delete


def test_voices_delete_asks_first(own):
    refused = run("voices", "delete", "anna", given="n\n")
    assert refused.exit_code == 1
    assert refused.stderr.endswith("Nothing was deleted.\n")
    unanswered = run("voices", "delete", "anna", given="")
    assert unanswered.exit_code == 1
    assert unanswered.stderr.endswith("there was no answer. Use --yes to skip the question.\n")
    assert "anna" in ids()
    result = run("voices", "delete", "anna", given="y\n")
    assert result.exit_code == 0
    assert "Delete anna?" in result.stderr
    assert "anna" not in ids()


def test_voices_delete_names_and_removes_recordings_and_training(own, recordings, home):
    shutil.copytree(own, home / "voices" / "berta")
    result = run("voices", "delete", "berta", given="y\n")
    assert "the recordings it was made of, and its training" in result.stderr
    assert list((home / "datasets").iterdir()) == []
    assert list((home / "voices").iterdir()) == [own]
    assert sorted(path.name for path in own.iterdir()) == ["card.json", "preview.wav", "weights.safetensors"]


def test_voices_delete_refuses_a_voice_in_training(recordings):
    with alone_in_training(recordings):
        assert_one_sentence(run("voices", "delete", "berta", "--yes"), "being trained")
    assert (recordings / "audio" / "1.wav").exists()


def test_voices_delete_removes_a_voice_before_its_training(recordings, home):
    assert run("voices", "delete", "berta", "--yes").exit_code == 0
    assert list((home / "datasets").iterdir()) == []


def test_voices_delete_removes_a_damaged_voice(own):
    assert "anna" in ids()
    (own / "card.json").write_text("{")
    assert run("voices", "delete", "anna", "--yes").exit_code == 0
    assert not own.exists()


@pytest.mark.parametrize("identifier", ["nobody", "../voices", "kathleen", ""])
def test_voices_delete_refuses_unknown_and_demo_voices_without_asking(own, identifier):
    assert_one_sentence(run("voices", "delete", identifier))
    assert own.exists()
    assert (DEMO_VOICES / "kathleen" / "card.json").exists()


def test_voices_help_names_every_command():
    text = run("voices", "--help").stdout
    assert all(name in text for name in ("export", "import", "blend", "delete", "--json"))

import shutil

import numpy as np
import pytest

from engine.audio.files import Audio, write_audio
from engine.errors import AudioError, EngineError, VoiceError
from engine.voices.card import DEMO_VOICES, list_voices
from engine.voices.card_rules import FORMAT
from engine.widgets.choosers import SAMPLES, RecordingChooser, voice_chooser
from tests.cards import rewrite_card


@pytest.fixture
def folder(tmp_path):
    shutil.copy(SAMPLES / "speech.flac", tmp_path / "speech.flac")
    (tmp_path / "deeper").mkdir()
    shutil.copy(SAMPLES / "singing.flac", tmp_path / "deeper" / "song.flac")
    (tmp_path / "notes.txt").write_text("no recording")
    (tmp_path / "torn.wav").write_bytes(b"RIFF")
    return tmp_path


def names(chooser: RecordingChooser) -> list[str]:
    return [label for label, _ in chooser._list.options]


def test_recording_chooser_offers_the_samples_by_default():
    chooser = RecordingChooser(chosen="singing")
    assert {"singing", "speech", "singing-high"} <= set(names(chooser))
    assert chooser.name == "singing"
    assert chooser.audio.duration_s == pytest.approx(8.9)


def test_recording_chooser_accepts_files_and_folders(folder):
    chooser = RecordingChooser([folder / "deeper", str(folder / "speech.flac")])
    assert names(chooser) == ["song", "speech"]
    assert chooser.path == folder / "deeper" / "song.flac"


def test_recording_chooser_notifies_followers_of_a_new_choice(folder):
    chooser = RecordingChooser([folder / "deeper", folder / "speech.flac"])
    seen = []
    chooser.follow(lambda: seen.append((chooser.name, round(chooser.audio.duration_s, 1))))
    assert not seen
    chooser._list.value = folder / "speech.flac"
    assert seen == [("speech", 5.3)]
    assert len(chooser._playing.children) == 1


def test_recording_chooser_reports_an_unreadable_file_and_keeps_its_choice(folder):
    chooser = RecordingChooser([folder / "speech.flac", folder / "torn.wav"])
    seen = []
    chooser.follow(lambda: seen.append(chooser.name))
    chooser._list.value = folder / "torn.wav"
    assert "torn.wav" in chooser._told.value
    assert chooser.name == "speech"
    assert chooser._list.value == folder / "speech.flac"
    assert not seen


def test_recording_chooser_selects_an_upload(folder, tmp_path):
    chooser = RecordingChooser([folder / "speech.flac"])
    seen = []
    chooser.follow(lambda: seen.append(chooser.name))
    write_audio(tmp_path / "mine.wav", Audio(np.zeros((1, 4410), np.float32), 44_100))
    content = memoryview((tmp_path / "mine.wav").read_bytes())
    chooser._take_in([{"name": "../../mine.wav", "content": content}])
    assert chooser.name == "mine"
    assert names(chooser) == ["mine", "speech"]
    assert chooser.audio.duration_s == pytest.approx(0.1)
    assert seen == ["mine"]
    assert chooser.path.parent != tmp_path.parent.parent  # a name that leads out of the folder leads nowhere


def test_recording_chooser_reports_an_upload_that_is_not_audio(folder):
    chooser = RecordingChooser([folder / "speech.flac"])
    chooser._take_in([{"name": "letter.wav", "content": b"dear"}])
    assert "letter.wav" in chooser._told.value
    assert chooser.name == "speech"


def test_recording_chooser_refuses_an_empty_folder_and_a_missing_file(tmp_path):
    with pytest.raises(EngineError, match="No recordings"):
        RecordingChooser([tmp_path])
    with pytest.raises(AudioError):
        RecordingChooser([tmp_path / "missing.wav"])


def test_voice_chooser_shows_the_range_of_each_voice():
    chooser = voice_chooser(chosen="koguchi")
    assert chooser.value == "koguchi"
    assert len(chooser.options) == len(list_voices())
    assert all(" to " in label for label, _ in chooser.options)


def test_voice_chooser_excludes_voices_of_an_earlier_base(tmp_path):
    with pytest.raises(VoiceError, match="no usable voice here"):
        voice_chooser(tmp_path)
    shutil.copytree(DEMO_VOICES / "koguchi", tmp_path / "old")
    rewrite_card(tmp_path / "old", format=FORMAT - 1)
    with pytest.raises(VoiceError, match="no usable voice here"):
        voice_chooser(tmp_path)
    with pytest.raises(VoiceError, match="'old' was made with an earlier version"):
        voice_chooser([tmp_path, DEMO_VOICES], chosen="old")
    assert [value for _, value in voice_chooser([tmp_path, DEMO_VOICES]).options] == [v.id for v in list_voices()]

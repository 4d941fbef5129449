import numpy as np
import pytest

from engine.audio.files import Audio, write_audio
from engine.plots.recording import look_at
from engine.units import SAMPLE_RATE
from engine.widgets import viewers
from engine.widgets.choosers import RecordingChooser
from engine.widgets.viewers import comparer, conversion_viewer, describe_difference, explorer


@pytest.fixture
def chooser(tmp_path, sing) -> RecordingChooser:
    for name, seconds, hertz in (("low", 2.0, 150.0), ("high", 1.0, 300.0)):
        write_audio(tmp_path / f"{name}.wav", Audio(sing(seconds, hertz)[None], SAMPLE_RATE))
    return RecordingChooser([tmp_path / "low.wav", tmp_path / "high.wav"])


def picture(box) -> bytes:
    return bytes(box.children[-1].value)


@pytest.fixture
def drawn(monkeypatch) -> list:
    """Each drawing that an explorer makes."""
    calls = []
    plot = viewers.plot_recording

    def counted(look, *given):
        calls.append((look.name, *given))
        return plot(look, *given)

    monkeypatch.setattr(viewers, "plot_recording", counted)
    return calls


def test_explorer_redraws_once_for_each_changed_control(chooser, drawn):
    box = explorer(chooser)
    window, scale, notes, _ = box.children
    first = picture(box)
    window.value = (0.5, 1.0)
    scale.value = "linear"
    notes.value = False
    assert drawn == [
        ("low", 0.0, 2.0, "note", True),
        ("low", 0.5, 1.0, "note", True),
        ("low", 0.5, 1.0, "linear", True),
        ("low", 0.5, 1.0, "linear", False),
    ]
    assert picture(box) != first


def test_explorer_shows_a_newly_chosen_recording_from_its_beginning(chooser, drawn):
    box = explorer(chooser)
    chooser._list.value = chooser._list.options[1][1]
    assert box.children[0].max == pytest.approx(1.0)
    assert drawn[-1] == ("high", 0.0, 1.0, "note", True)
    assert len(drawn) <= 3


def test_comparer_describes_the_difference_between_two_recordings(chooser, tmp_path):
    other = RecordingChooser([tmp_path / "low.wav", tmp_path / "high.wav"])
    box = comparer(chooser, other)
    told = box.children[1]
    assert "same times" in told.value
    before = picture(box.children[0])
    other._list.value = tmp_path / "high.wav"
    assert "12.0 semitones higher" in told.value
    assert picture(box.children[0]) != before


def test_describe_difference_reports_timing_pitch_and_level_in_sentences(sing):
    song = look_at(Audio(sing(3.0, 200.0)[None], SAMPLE_RATE), "song")
    late = look_at(
        Audio(np.concatenate([np.zeros(22_050, np.float32), 0.5 * sing(3.0, 200.0)])[None], SAMPLE_RATE), "late"
    )
    text = describe_difference(song, late)
    begin = "It is the same performance, the second 0.5 s later. The second is at the same pitch. "
    begin += "It is 6.0 dB quieter. Apart from that, "
    assert text.startswith(begin)
    assert int(text.removeprefix(begin).partition("%")[0]) >= 97  # but for the frames where it begins
    higher = look_at(Audio(sing(3.0, 200.0 * 2 ** (2 / 12))[None], SAMPLE_RATE), "higher")
    assert "The second is 2.0 semitones higher. It is " in describe_difference(song, higher)
    silence = look_at(Audio(np.zeros((1, 44_100), np.float32), SAMPLE_RATE), "silence")
    assert describe_difference(song, silence) == "They are not the same performance: their timing differs."


def test_conversion_viewer_redraws_for_each_take_window_and_scale(sing):
    before, *takes = (look_at(Audio(sing(1.0, hertz)[None], SAMPLE_RATE), str(hertz)) for hertz in (200, 210, 220))
    box = conversion_viewer(before, takes, 0)
    take, window, scale, _ = box.children
    pictures = {picture(box)}
    for control, value in ((take, 1), (window, (0.2, 0.7)), (scale, "mel")):
        control.value = value
        pictures.add(picture(box))
    assert len(pictures) == 4

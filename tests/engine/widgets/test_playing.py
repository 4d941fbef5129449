import numpy as np
import pytest
import soundfile

from engine.audio.files import Audio, read_audio, write_audio
from engine.widgets.choosers import SAMPLES
from engine.widgets.playing import player, players


def heard(widget, folder) -> Audio:
    """What a player plays."""
    path = folder / "heard.flac"
    path.write_bytes(bytes(widget.children[1].value))
    return read_audio(path)


def test_player_plays_audio_losslessly(tmp_path):
    audio = Audio(np.linspace(-0.9, 0.9, 8000, dtype=np.float32)[None].repeat(2, 0), 16_000)
    shown = player(audio, "<before>")
    assert "&lt;before&gt;" in shown.children[0].value
    again = heard(shown, tmp_path)
    assert again.rate == 16_000
    np.testing.assert_allclose(again.samples, audio.samples, atol=1e-6)


def test_player_plays_flac_and_wav_files(tmp_path):
    audio = read_audio(SAMPLES / "speech.flac")
    write_audio(tmp_path / "speech.wav", audio)
    for path in (SAMPLES / "speech.flac", tmp_path / "speech.wav"):
        np.testing.assert_allclose(heard(player(path), tmp_path).samples, audio.samples, atol=1e-6)
    assert bytes(player(SAMPLES / "speech.flac").children[1].value) == (SAMPLES / "speech.flac").read_bytes()


def test_player_clips_samples_beyond_full_scale(tmp_path):
    shown = player(Audio(np.array([[0.5, 1.7, -2.0]], np.float32), 44_100))
    assert heard(shown, tmp_path).samples[0] == pytest.approx([0.5, 1.0, -1.0], abs=1e-5)


def test_players_returns_one_player_per_sound(tmp_path):
    soundfile.write(tmp_path / "a.wav", np.zeros(100), 44_100)
    box = players({"one": tmp_path / "a.wav", "two": Audio(np.zeros((1, 100), np.float32), 44_100)})
    assert ["one" in child.children[0].value for child in box.children] == [True, False]

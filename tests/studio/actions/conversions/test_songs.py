import math

import numpy as np
import pytest
import soundfile

from engine.errors import SettingsError
from engine.songs.parts import Part
from studio.actions.conversions.songs import SongRequest, TakeInMix, mix_again
from studio.errors import Invalid, NotFound
from studio.store.accounts import account_prefix
from studio.store.tasks import claim, complete, submit

RATE = 44_100


@pytest.fixture
def song(studio, tmp_path):
    account = studio.local
    with studio.database.write() as connection:
        asked = {"input_key": "a", "file_name": "My song.wav", "settings": {}}
        task_id = submit(connection, account.id, "conversion", asked, model_id="kathleen")
    task = claim(studio.database, "test", ("conversion",), 60.0)
    keys = {}
    for name, hertz in (("vocal", 220.0), ("backing", 330.0)):
        tone = 0.2 * np.sin(2 * np.pi * hertz * np.arange(RATE) / RATE)
        soundfile.write(tmp_path / f"{name}.wav", tone, RATE, subtype="PCM_24")
        keys[name] = f"{account_prefix(account)}tasks/{task_id}/1/{name}.wav"
        studio.storage.put_file(tmp_path / f"{name}.wav", keys[name])
    with studio.database.write() as connection:
        complete(connection, task, {"outputs": [keys["vocal"]], "lanes": keys})
    return task_id


@pytest.fixture
def plain(studio, tmp_path):
    """A conversion of two takes, without a backing, of a tone of 440 Hz."""
    account = studio.local
    with studio.database.write() as connection:
        place = f"{account_prefix(account)}tasks/plain"
        asked = {"input_key": f"{place}/recording.wav", "file_name": "Mine.wav", "settings": {}}
        task_id = submit(connection, account.id, "conversion", asked, model_id="kathleen")
    keys = []
    for name, hertz in (("recording", 440.0), ("1", 495.0), ("2", 550.0)):
        soundfile.write(tmp_path / f"{name}.wav", 0.1 * np.sin(2 * np.pi * hertz * np.arange(RATE) / RATE), RATE)
        take = f"{account_prefix(account)}tasks/{task_id}/1/{name}.wav"
        keys.append(asked["input_key"] if name == "recording" else take)
        studio.storage.put_file(tmp_path / f"{name}.wav", keys[-1])
    task = claim(studio.database, "test", ("conversion",), 60.0)
    with studio.database.write() as connection:
        complete(connection, task, {"outputs": keys[1:]})
    return task_id


def test_mix_again_applies_the_faders_and_reuses_the_file(studio, song, tmp_path):
    faders = {"vocal": {"gain_db": -6.0}, "backing": {"mute": True}}
    made = [mix_again(studio, studio.local, song, faders, "wav", "http://here", 0.0) for _ in range(2)]
    assert made[0] == made[1]
    assert made[0]["name"] == "My song - Kathleen mix.wav"
    [key] = [key for key in studio.storage.list_keys(f"tasks/{song}") if "/mix-" in key]
    mixed, _ = soundfile.read(studio.storage.fetch(key, tmp_path))
    assert np.abs(mixed).max() == pytest.approx(0.2 * 10 ** (-6 / 20), abs=1e-3)


def test_mix_again_adds_harmonies_where_they_are_in_the_stereo_field(studio, song, tmp_path):
    faders = {"vocal": {}, "backing": {"mute": True}, f"harmony-{song}": {"gain_db": -6.0, "pan": 1.0}}
    mix_again(studio, studio.local, song, faders, "wav", "http://here", 0.0)
    [key] = [key for key in studio.storage.list_keys(f"tasks/{song}") if "/mix-" in key]
    mixed, _ = soundfile.read(studio.storage.fetch(key, tmp_path))
    left, right = np.abs(mixed).max(axis=0)
    assert left == pytest.approx(0.2, abs=1e-3)
    assert right == pytest.approx(0.2 * (1 + math.sqrt(2) * 10 ** (-6 / 20)), abs=2e-3)


def test_mix_again_moves_all_but_the_backing(studio, song, tmp_path):
    faders, later = {"backing": {"mute": True}}, TakeInMix(shift_s=0.25)
    mix_again(studio, studio.local, song, faders, "wav", "http://here", 0.0, later)
    [key] = [key for key in studio.storage.list_keys(f"tasks/{song}") if "/mix-" in key]
    mixed, rate = soundfile.read(studio.storage.fetch(key, tmp_path))
    first = np.flatnonzero(np.abs(mixed) > 1e-3)[0] / rate
    assert first == pytest.approx(0.25, abs=0.01)


def test_mix_again_adds_another_take_and_the_recording_at_their_faders(studio, song, tmp_path, plain):
    faders = {"vocal": {"mute": True}, f"take-{plain} 2": {"gain_db": -6.0, "pan": 1.0}, "recording": {"pan": -1.0}}
    mix_again(studio, studio.local, plain, faders, "wav", "http://here", 0.0, TakeInMix(1))
    [key] = [key for key in studio.storage.list_keys(f"tasks/{plain}") if "/mix-" in key]
    mixed, _ = soundfile.read(studio.storage.fetch(key, tmp_path))
    left, right = np.abs(np.fft.rfft(mixed, axis=0)).argmax(axis=0)
    assert (left, right) == (440, 550)  # a second of each
    np.testing.assert_allclose(np.abs(mixed).max(axis=0), [0.1 * 2**0.5, 0.1 * 2**0.5 * 10 ** (-6 / 20)], atol=2e-3)


def test_mix_again_places_a_take_beside_a_song_where_its_recording_begins(studio, song, tmp_path, plain):
    faders = {"vocal": {}, "backing": {"mute": True}, f"take-{plain} 1": {}}
    mix_again(studio, studio.local, song, faders, "wav", "http://here", 0.0, TakeInMix(shift_s=0.25))
    [key] = [key for key in studio.storage.list_keys(f"tasks/{song}") if "/mix-" in key]
    assert soundfile.info(studio.storage.fetch(key, tmp_path)).duration == pytest.approx(1.25)


def test_mix_again_of_a_take_alone_is_at_its_fader(studio, tmp_path, plain):
    mix_again(studio, studio.local, plain, {"vocal": {"gain_db": -6.0}}, "wav", "http://here", 0.0, TakeInMix(2))
    [key] = [key for key in studio.storage.list_keys(f"tasks/{plain}") if "/mix-" in key]
    mixed, _ = soundfile.read(studio.storage.fetch(key, tmp_path))
    assert np.abs(mixed).max() == pytest.approx(0.1 * 10 ** (-6 / 20), abs=1e-3)


@pytest.mark.parametrize("lane", ["take-nowhere 1", "take-{plain} 3", "take-{plain} one", "take-{plain}"])
def test_mix_again_refuses_a_take_that_is_gone(studio, plain, lane):
    faders = {"vocal": {}, lane.format(plain=plain): {}}
    with pytest.raises(NotFound):
        mix_again(studio, studio.local, plain, faders, "wav", "http://here", 0.0)


def test_mix_again_refuses_a_harmony_that_is_gone(studio, song):
    with pytest.raises(NotFound):
        mix_again(studio, studio.local, song, {"harmony-nowhere": {}}, "wav", "http://here", 0.0)


@pytest.mark.parametrize(
    ("faders", "kind", "error"),
    [
        ({"vocal": {"gain_db": "loud"}}, "wav", SettingsError),
        ({"vocal": {"mute": True}, "backing": {"mute": True}}, "wav", SettingsError),
        ({"vocal": [1]}, "wav", SettingsError),
        ({}, "exe", Invalid),
    ],
)
def test_mix_again_refuses_invalid_faders_and_formats(studio, song, faders, kind, error):
    with pytest.raises(error):
        mix_again(studio, studio.local, song, faders, kind, "http://here", 0.0)
    assert not [key for key in studio.storage.list_keys(f"tasks/{song}") if "/mix-" in key]


def test_mix_again_refuses_a_song_of_another_account(studio, song, other):
    with pytest.raises(NotFound):
        mix_again(studio, other, song, {}, "wav", "http://here", 0.0)


@pytest.mark.parametrize(
    ("start_s", "voices"),
    [
        (0.0, [(0.0, "mia"), (10.0, "ella"), (20.0, "mia")]),
        (5.0, [(0.0, "mia"), (5.0, "ella"), (15.0, "mia")]),
        (10.0, [(0.0, "ella"), (10.0, "mia")]),
        (25.0, [(0.0, "mia")]),
    ],
)
def test_song_request_of_a_later_beginning_keeps_each_voice_where_it_sang(start_s, voices):
    parts = [Part(0.0, "mia"), Part(10.0, "ella"), Part(20.0, "mia")]
    cut = SongRequest(parts, offset_s=1.5).from_second(start_s)
    assert [(one.start_s, one.voice) for one in cut.parts] == voices
    assert cut.offset_s == 1.5 + start_s
    assert SongRequest(parts).from_second(start_s).offset_s is None  # it is found

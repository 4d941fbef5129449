"""Voices are loaded once, and again when they have changed."""

import shutil

import pytest

import engine.voices.imported
from engine.errors import VoiceError
from engine.voices.card import DEMO_VOICES, new_voice_folder
from studio.executors import voice_cache
from studio.executors.voice_cache import VoiceCache
from tests.cards import update_card
from tests.waiting import OwnClock


@pytest.fixture
def folder(tmp_path):
    return shutil.copytree(DEMO_VOICES / "kathleen", tmp_path / "kathleen")


@pytest.fixture
def loads(monkeypatch) -> list:
    """The folders that were really read."""
    seen, real = [], engine.voices.imported.load_any_voice
    monkeypatch.setattr(engine.voices.imported, "load_any_voice", lambda folder: (seen.append(folder), real(folder))[1])
    return seen


def test_voice_cache_loads_a_voice_once(folder, loads):
    cache = VoiceCache()
    assert cache.voice(folder) is cache.voice(folder)
    assert loads == [folder]


def test_voice_cache_reloads_a_changed_voice(folder, loads):
    cache = VoiceCache()
    cache.voice(folder)
    update_card(folder, name="Renamed")
    assert cache.voice(folder).card.name == "Renamed"
    assert len(loads) == 2


def test_voice_cache_drops_the_least_recently_used_voice(folder, tmp_path, loads):
    cache = VoiceCache(most=2)
    others = [shutil.copytree(folder, tmp_path / name) for name in ("one", "two")]
    for one in (folder, others[0], folder, others[1], folder, others[0]):
        cache.voice(one)
    assert loads == [folder, *others, others[0]]


def test_voice_cache_waits_for_a_voice_being_replaced(folder, tmp_path, monkeypatch):
    shutil.copytree(folder, tmp_path / "copy")
    shutil.rmtree(folder)
    clock = OwnClock()
    monkeypatch.setattr(clock, "sleep", lambda seconds: shutil.copytree(tmp_path / "copy", folder))
    monkeypatch.setattr(voice_cache, "time", clock)
    assert VoiceCache().voice(folder).card.name


def test_voice_cache_refuses_a_missing_voice_within_2_s(tmp_path, monkeypatch):
    clock = OwnClock()
    monkeypatch.setattr(voice_cache, "time", clock)
    with pytest.raises(VoiceError):
        VoiceCache().voice(tmp_path / "nobody")
    assert 0 < sum(clock.slept) < 2.0


def test_voice_cache_never_mixes_card_and_weights_during_a_replacement(folder, monkeypatch):
    """It is replaced at the very moment between the two."""
    real, replaced = engine.voices.voice.load_weights, []

    def replace_first(path):
        if not replaced:
            replaced.append(path)
            with new_voice_folder(folder) as unfinished:
                shutil.copytree(DEMO_VOICES / "kathleen", unfinished, dirs_exist_ok=True)
            update_card(folder, name="Renamed")
        return real(path)

    monkeypatch.setattr(engine.voices.voice, "load_weights", replace_first)
    assert VoiceCache().voice(folder).card.name == "Renamed"

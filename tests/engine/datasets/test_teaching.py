"""An imported voice sings recordings, with small random networks."""

import numpy as np
import pytest
import soundfile

from engine.audio.files import open_audio
from engine.datasets.teaching import (
    TeachingSource,
    bundled_sources,
    refuse_as_teacher,
    taught_profile,
    teaching_recordings,
)
from engine.errors import AudioError, Cancelled, DatasetError, VoiceError
from engine.rvc import contentvec
from engine.training.checkpoint_audition import FOREIGN
from engine.voices.imported import load_any_voice
from engine.voices.profile import TAUGHT_BY, read_profile
from tests.cards import update_card
from tests.engine.rvc.models import import_small, use_small_contentvec, write_small_contentvec

RATE = 22_050
OWNER = {"statement": "I agree.", "by": "Mia Muster", "date": "2026-01-02"}


@pytest.fixture
def teacher(tmp_path, monkeypatch):
    """The folder of an imported voice."""
    monkeypatch.setenv("TIMBRE_STUDIO_HOME", str(tmp_path))
    write_small_contentvec(tmp_path)
    use_small_contentvec(monkeypatch)
    contentvec._loaded.cache_clear()
    yield tmp_path / "voices" / import_small(tmp_path / "voices", "v1").id
    contentvec._loaded.cache_clear()


@pytest.fixture
def sources(tmp_path):
    """Two short recordings of odd lengths."""
    paths = [tmp_path / "low.wav", tmp_path / "high.wav"]
    for path, samples in zip(paths, (22_051, 30_007), strict=True):
        time_s = np.arange(samples) / RATE
        soundfile.write(path, sum(0.1 * np.sin(2 * np.pi * 196 * n * time_s) / n for n in range(1, 9)), RATE)
    return [TeachingSource(paths[0]), TeachingSource(paths[1], 4.0)]


def test_teaching_recordings_are_named_in_order_and_exactly_as_long_as_the_sources(teacher, sources, tmp_path):
    shown = []
    made = teaching_recordings(
        load_any_voice(teacher), sources, tmp_path / "sung", report=lambda fraction, message: shown.append(fraction)
    )
    assert [path.name for path in made] == ["01-low.flac", "02-high.flac"]
    assert shown == sorted(shown)
    assert (shown[0], shown[-1]) == (0.0, 1.0)
    for path, source in zip(made, sources, strict=True):
        with open_audio(path) as sung, open_audio(source.path) as sang:
            assert round(sung.duration_s * sung.rate) == round(sang.duration_s * sung.rate)
    plain = teaching_recordings(load_any_voice(teacher), [TeachingSource(sources[1].path)], tmp_path / "plain")[0]
    assert plain.read_bytes() != made[1].read_bytes()


def test_teaching_recordings_leaves_nothing_after_cancelling_or_an_error(teacher, sources, tmp_path):
    def stop(fraction, message):
        if fraction > 0.6:
            raise Cancelled

    voice = load_any_voice(teacher)
    with pytest.raises(Cancelled):
        teaching_recordings(voice, sources, tmp_path / "sung", report=stop)
    (tmp_path / "low.wav").write_text("no sound")
    with pytest.raises(AudioError, match=r"low\.wav"):
        teaching_recordings(voice, sources[::-1], tmp_path / "sung")
    with pytest.raises(DatasetError, match="no recordings"):
        teaching_recordings(voice, [], tmp_path / "sung")
    with pytest.raises(DatasetError, match="already exists"):
        teaching_recordings(voice, sources, tmp_path / "voices")
    assert not list(tmp_path.glob("sung*"))


def test_teaching_recordings_raises_without_contentvec_and_leaves_nothing(teacher, sources, tmp_path, monkeypatch):
    monkeypatch.setenv("TIMBRE_STUDIO_HOME", str(tmp_path / "empty"))
    contentvec._loaded.cache_clear()
    with pytest.raises(VoiceError, match="needs ContentVec"):
        teaching_recordings(load_any_voice(teacher), sources, tmp_path / "sung")
    assert not (tmp_path / "sung").exists()


def test_taught_profile_carries_over_consent_licence_and_origin(teacher):
    card = load_any_voice(teacher).card
    assert read_profile(taught_profile(card)).source == "taught by Mia, imported from Mia.pth"
    update_card(
        teacher, consent=OWNER, licence="CC BY 4.0", source="Mia Muster, 2026", traits=["warm"], gender="female"
    )
    profile = read_profile(taught_profile(load_any_voice(teacher).card, " Mia II "))
    assert (profile.name, profile.gender, profile.traits) == ("Mia II", "female", ("warm",))
    assert (profile.consent, profile.licence) == (OWNER, "CC BY 4.0")
    assert profile.source == "Mia Muster, 2026; taught by Mia, imported from Mia.pth"
    assert profile.vocal_range is None
    assert profile.other[TAUGHT_BY] == {"name": "Mia", "file": "Mia.pth", "sha256": card.model["sha256"]}


@pytest.mark.parametrize("licence", ["CC BY-ND 4.0", "CC-BY-NC-ND", "No derivatives, please"])
def test_teaching_refuses_no_derivatives_licences_and_voices_of_the_studio(teacher, sources, tmp_path, licence):
    update_card(teacher, licence=licence)
    with pytest.raises(VoiceError, match="allows no derivatives"):
        teaching_recordings(load_any_voice(teacher), sources, tmp_path / "sung")
    update_card(teacher, licence="CC BY 4.0, made in Indiana")
    refuse_as_teacher(load_any_voice(teacher).card)
    with pytest.raises(VoiceError, match="voice of this studio already"):
        refuse_as_teacher(load_any_voice("kathleen").card)


def test_bundled_sources_exclude_the_recordings_used_for_scoring():
    found = bundled_sources()
    assert len(found) == len({(one.path, one.transpose) for one in found}) == 6
    assert not {one.path for one in found} & set(FOREIGN.glob("*"))

from pathlib import Path

import numpy as np
import pytest
import torch

from engine.analysis.envelope import BANDS
from engine.audio.files import Audio, read_audio
from engine.errors import TrainingError
from engine.features.clips import Clip, analyse_clip
from engine.features.retrieval import MOST_RETRIEVAL_FRAMES
from engine.networks.base import load_base
from engine.networks.content_encoder import CONTENT
from engine.training.fine_tuning import FineTuning
from engine.training.plan import TrainingPlan
from engine.training.snapshot import measure_contrast, portray, snapshot
from engine.units import SAMPLE_RATE
from engine.voices.profile import VoiceProfile
from engine.voices.voice import load_voice, save_voice

SAMPLES = Path(__file__).parents[3] / "engine" / "samples"


@pytest.fixture(scope="module")
def clips(sing) -> list[Clip]:
    """Thirteen seconds of a voice whose notes go from 200 to 283 Hz."""
    return [analyse_clip(Audio(sing(6.5, hertz=200.0, seed=seed)[None], SAMPLE_RATE)) for seed in (1, 2)]


@pytest.fixture(scope="module")
def speaking() -> Clip:
    return analyse_clip(read_audio(SAMPLES / "speech.flac"))


@pytest.fixture(scope="module")
def tuning(clips) -> FineTuning:
    return FineTuning(load_base(), clips, TrainingPlan(batch=2, foreign=1))


def test_portray_measures_fields_missing_in_the_profile(clips):
    card = portray(VoiceProfile("Mia"), clips, "mia")
    assert (card.id, card.name, card.gender, card.genre) == ("mia", "Mia", None, None)
    assert card.vocal_range == {"min": "G3", "max": "D4"}
    assert card.voice_type is not None
    assert 54.5 < card.pitch.low < card.pitch.median < card.pitch.high < 62
    assert 4_000 < card.bandwidth_hertz < 22_050


def test_portray_keeps_fields_given_in_the_profile(clips):
    stated = VoiceProfile(
        *("Mia", "female", "adult", "Bright.", "de", ("light",), "pop", "alto", {"min": "E3", "max": "A5"}, "CC0"),
        *("herself", {"by": "Mia"}, {"shoes": 7}),
    )
    card = portray(stated, clips, "mia")
    assert card.vocal_range == {"min": "E3", "max": "A5"}
    assert (card.voice_type, card.traits, card.licence, card.consent) == ("alto", ["light"], "CC0", {"by": "Mia"})
    assert card.other == {"shoes": 7}


def test_portray_measures_spoken_and_sung_pitch_separately(speaking, clips):
    """Recorded speech, and notes from 200 to 283 Hz."""
    card = portray(VoiceProfile("Mia"), [speaking, *clips], "mia")
    assert card.spoken_pitch == portray(VoiceProfile("Mia"), [speaking], "mia").pitch
    assert card.sung_pitch == portray(VoiceProfile("Mia"), clips, "mia").pitch
    assert card.spoken_pitch.median < card.pitch.median < card.sung_pitch.median


def test_portray_leaves_sung_pitch_empty_for_a_little_singing(speaking, clips):
    card = portray(VoiceProfile("Mia"), [*3 * [speaking], clips[0].piece(0, 30)], "mia")
    assert card.sung_pitch is None
    assert card.spoken_pitch is not None


def test_portray_refuses_silence():
    silent = analyse_clip(Audio(np.zeros((1, 2 * SAMPLE_RATE), np.float32), SAMPLE_RATE))
    with pytest.raises(TrainingError, match="no voice"):
        portray(VoiceProfile("Mia"), [silent], "mia")


def test_snapshot_returns_a_voice_that_can_be_saved_and_loaded(tuning, clips, tmp_path):
    voice = snapshot(tuning, portray(VoiceProfile("Mia"), clips, "mia"), {"epochs": 3})
    save_voice(voice, tmp_path / "mia")
    again = load_voice(tmp_path / "mia")
    assert again.card.training == {"epochs": 3}
    assert 300 < len(again.retrieval_frames) <= MOST_RETRIEVAL_FRAMES
    torch.testing.assert_close(again.timbre, voice.timbre, atol=1e-3, rtol=1e-3)


def test_measure_contrast_is_higher_for_a_flatter_decoder(tuning):
    decoder, timbre = tuning.averaged()
    centre, contrast = measure_contrast(tuning, decoder, timbre)
    assert centre.shape == contrast.shape == (BANDS,)
    assert (contrast >= 1).all()
    with torch.no_grad():
        decoder.leave[-1].weight *= 0.5  # everything it says is half as far from its mean
    _, flat = measure_contrast(tuning, decoder, timbre)
    assert (flat >= contrast - 1e-4).all()
    assert flat.mean() > contrast.mean() + 0.05


def test_measure_contrast_decodes_only_a_share_of_each_long_recording(tuning, monkeypatch):
    decoder, timbre = tuning.averaged()
    decoded = []
    real = decoder.forward
    monkeypatch.setattr(
        decoder, "forward", lambda content, *rest: (decoded.append(content.shape), real(content, *rest))[1]
    )
    monkeypatch.setattr("engine.training.snapshot._CONTRAST_FRAMES", 400)
    measure_contrast(tuning, decoder, timbre)
    assert decoded == [(1, 200, CONTENT), (1, 200, CONTENT)]


def test_snapshot_leaves_the_training_unchanged(tuning, clips):
    before = {name: value.clone() for name, value in tuning.state()["learned"].items()}
    voice = snapshot(tuning, portray(VoiceProfile("Mia"), clips, "mia"), {})
    with torch.no_grad():
        voice.timbre.add_(1)
    assert all(torch.equal(value, before[name]) for name, value in tuning.state()["learned"].items())
    assert not torch.equal(tuning.averaged()[1], voice.timbre)

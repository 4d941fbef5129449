from pathlib import Path

import numpy as np
import pytest
import soundfile
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.analysis.envelope import BANDS, LOW_BANDS, SILENT
from engine.audio.files import Audio
from engine.errors import AudioError, Cancelled
from engine.features.augmentations import VOICE_AUGMENTATIONS
from engine.features.clips import analyse_clip, analysed_clip, analysed_clips, file_digest
from engine.networks.content_encoder import CONTENT
from engine.units import SAMPLE_RATE, frame_count


@pytest.fixture
def recording(tmp_path, sing) -> Path:
    path = tmp_path / "one.wav"
    soundfile.write(path, sing(2.0), SAMPLE_RATE)
    return path


def test_analyse_clip_returns_frames_relative_to_the_level(sing):
    stereo = Audio(np.stack([sing(2.0, rate=48_000)] * 2), 48_000)
    clip = analyse_clip(stereo)
    frames = frame_count(2 * SAMPLE_RATE)
    assert clip.envelope.shape == (frames, BANDS)
    assert clip.envelope.dtype == np.float16
    assert clip.envelope.min() >= SILENT
    assert len(clip.pitch) == len(clip.loudness_db) == frames
    assert clip.duration_s == pytest.approx(2.0, abs=0.011)
    quiet = analyse_clip(Audio(stereo.samples * 0.1, 48_000))
    assert clip.level.nepers - quiet.level.nepers == pytest.approx(np.log(10), abs=0.02)
    assert np.median(clip.loudness_db - quiet.loudness_db) == pytest.approx(20, abs=0.1)
    assert np.abs(quiet.envelope.astype(float) - clip.envelope).mean() < 0.05
    assert LOW_BANDS <= clip.bands <= BANDS
    assert clip.content.shape == (1, frames, CONTENT)
    assert clip.content.dtype == np.float16


@pytest.mark.system
def test_analyse_clip_of_an_inverted_recording_is_no_silence(sing):
    mono = sing(2.0)
    alone = analyse_clip(Audio(mono[None], SAMPLE_RATE))
    inverted = analyse_clip(Audio(np.stack([mono, -mono]), SAMPLE_RATE))
    assert inverted.level.nepers == pytest.approx(alone.level.nepers, abs=0.01)
    np.testing.assert_allclose(inverted.envelope, alone.envelope, atol=0.05)
    np.testing.assert_allclose(inverted.pitch.hertz, alone.pitch.hertz, rtol=1e-3)


def test_analyse_clip_finds_continuous_pitch_across_windows(sing):
    """40 s are three windows; the pitch of a tone with vibrato goes on through the joins."""
    clip = analyse_clip(Audio(sing(40.0)[None], SAMPLE_RATE))
    assert len(clip.pitch) == frame_count(40 * SAMPLE_RATE)
    alone = analyse_clip(Audio(sing(40.0)[None, 18 * SAMPLE_RATE : 24 * SAMPLE_RATE], SAMPLE_RATE))
    inside = slice(100, 500)
    long = clip.piece(1800, 2400)
    both = alone.pitch.voiced[inside] & long.pitch.voiced[inside]
    cents = 100 * np.abs(alone.pitch.semitones[inside] - long.pitch.semitones[inside])[both]
    assert both.sum() > 200
    assert np.percentile(cents, 95) < 10


def test_clip_piece_keeps_its_position_in_the_recording(sing):
    clip = analyse_clip(Audio(sing(2.0)[None], SAMPLE_RATE))
    piece = clip.piece(50, 120).piece(10, 30)
    assert piece.first_frame == 60
    assert len(piece.pitch) == len(piece.envelope) == len(piece.loudness_db) == 20
    np.testing.assert_array_equal(piece.envelope, clip.envelope[60:80])
    np.testing.assert_array_equal(piece.content, clip.content[:, 60:80])


@settings(max_examples=8)
@given(st.integers(1, 60_000), st.sampled_from([8_000, 22_050, 44_100, 48_000]), st.integers(1, 3))
def test_analyse_clip_accepts_any_length_rate_and_channel_count(count, rate, channels):
    random = np.random.default_rng(count)
    clip = analyse_clip(Audio(random.standard_normal((channels, count)).astype(np.float32) * 0.1, rate))
    assert len(clip.pitch) == len(clip.envelope) == frame_count((2 * count * SAMPLE_RATE + rate) // (2 * rate))
    assert np.isfinite(clip.envelope).all()
    assert clip.content.shape == (1, len(clip.pitch), CONTENT)
    assert np.isfinite(clip.content).all()


@pytest.mark.parametrize("samples", [1, 2, 440, 441, 5000])
def test_analysed_clip_has_all_augmentations_at_any_length(tmp_path, samples):
    soundfile.write(tmp_path / "x.wav", 0.1 * np.random.default_rng(0).standard_normal(samples), SAMPLE_RATE)
    clip = analysed_clip(tmp_path / "x.wav")
    assert clip.content.shape == (VOICE_AUGMENTATIONS, frame_count(samples), CONTENT)
    assert np.isfinite(clip.content).all()


def test_analyse_clip_changes_every_augmentation_but_the_first(sing):
    audio = Audio(sing(2.0)[None], SAMPLE_RATE)
    none, one, three = (analyse_clip(audio, augmentations=augmentations) for augmentations in (0, 1, 3))
    assert none.content.shape == (0, len(none.pitch), CONTENT)
    np.testing.assert_allclose(three.content[0].astype(float), one.content[0], atol=0.01)
    for other in three.content[1:]:
        assert np.abs(other.astype(float) - one.content[0]).mean() > 0.02


def test_analysed_clip_returns_the_same_clip_from_the_cache(recording, tmp_path):
    first = analysed_clip(recording, tmp_path / "cache")
    [kept] = (tmp_path / "cache").iterdir()
    assert kept.stem == file_digest(recording)
    again = analysed_clip(recording, tmp_path / "cache")
    np.testing.assert_array_equal(first.envelope, again.envelope)
    np.testing.assert_array_equal(first.pitch.hertz, again.pitch.hertz)
    np.testing.assert_array_equal(first.loudness_db, again.loudness_db)
    np.testing.assert_array_equal(first.content, again.content)
    assert (first.level.nepers, first.bands, first.name) == (again.level.nepers, again.bands, again.name)
    assert again.path == recording


def test_analysed_clip_analyses_a_recording_again_only_if_it_has_changed(recording, tmp_path, monkeypatch, sing):
    analysed_clip(recording, tmp_path / "cache")
    with monkeypatch.context() as patch:
        patch.setattr("engine.features.clips._analyse", lambda *_: pytest.fail("analysed again"))
        renamed = recording.rename(tmp_path / "two.wav")
        assert analysed_clip(renamed, tmp_path / "cache").name == "two.wav"
    soundfile.write(renamed, sing(1.0), SAMPLE_RATE)
    assert analysed_clip(renamed, tmp_path / "cache").duration_s == pytest.approx(1.0, abs=0.011)


def test_analysed_clip_analyses_again_if_the_cache_has_too_few_augmentations(recording, tmp_path, monkeypatch):
    assert len(analysed_clip(recording, tmp_path / "cache", augmentations=0).content) == 0
    assert len(analysed_clip(recording, tmp_path / "cache", augmentations=1).content) == 1
    assert len(analysed_clip(recording, tmp_path / "cache").content) == VOICE_AUGMENTATIONS
    [kept] = (tmp_path / "cache").iterdir()
    assert kept.stem == file_digest(recording)
    monkeypatch.setattr("engine.features.clips._analyse", lambda *_: pytest.fail("analysed again"))
    assert len(analysed_clip(recording, tmp_path / "cache", augmentations=0).content) == VOICE_AUGMENTATIONS


def test_analysed_clip_analyses_a_cached_clip_of_another_format_again(recording, tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr("engine.features.clips.FORMAT", "3")
        analysed_clip(recording, tmp_path / "cache", augmentations=0)
    asked = []
    real = analyse_clip.__globals__["_analyse"]
    monkeypatch.setattr("engine.features.clips._analyse", lambda *given: (asked.append(given), real(*given))[1])
    for _ in range(2):
        analysed_clip(recording, tmp_path / "cache", augmentations=0)
        assert len(asked) == 1  # what was analysed instead is kept


@pytest.mark.parametrize("damage", [b"", b"not safetensors at all", "cut"])
def test_analysed_clip_replaces_a_damaged_cached_clip(recording, tmp_path, damage):
    first = analysed_clip(recording, tmp_path / "cache")
    [kept] = (tmp_path / "cache").iterdir()
    kept.write_bytes(kept.read_bytes()[:-100] if damage == "cut" else damage)
    again = analysed_clip(recording, tmp_path / "cache")
    np.testing.assert_array_equal(first.envelope, again.envelope)
    assert len(list((tmp_path / "cache").iterdir())) == 1


def test_analysed_clips_reports_progress_and_can_be_cancelled(recording, tmp_path):
    told: list[tuple[float, str]] = []

    def report(fraction: float, message: str) -> None:
        if fraction > 0.4:
            raise Cancelled
        told.append((fraction, message))

    with pytest.raises(Cancelled):
        analysed_clips([recording, recording], tmp_path / "cache", report)
    assert told == [(0.0, "analysing one.wav")]
    assert len(list((tmp_path / "cache").iterdir())) == 1


def test_analysed_clip_refuses_a_file_without_audio_and_names_it(tmp_path):
    (tmp_path / "x.wav").write_bytes(b"no sound")
    with pytest.raises(AudioError, match=r"x\.wav"):
        analysed_clip(tmp_path / "x.wav", tmp_path / "cache")
    assert not (tmp_path / "cache").exists()


def test_analysed_clip_refuses_one_sample_at_a_high_rate_as_too_short(tmp_path):
    soundfile.write(tmp_path / "x.wav", np.zeros(1), 192_000)
    with pytest.raises(AudioError, match="too short"):
        analysed_clip(tmp_path / "x.wav")

import tracemalloc
from pathlib import Path

import numpy as np
import pytest
import soundfile

from engine.analysis import recording as module
from engine.analysis.recording import Analysis, analyse, analyse_file
from engine.audio.files import Audio
from engine.errors import AudioError, Cancelled
from engine.units import hertz_to_semitones


def sung(hertz: np.ndarray, rate: int) -> np.ndarray:
    """A voice-like tone, float32 (samples,): eight partials, each weaker than the one below."""
    phase = 2 * np.pi * np.cumsum(hertz) / rate
    return (0.1 * sum(np.sin(n * phase) / n for n in range(1, 9))).astype(np.float32)


def melody(seconds: float, rate: int) -> np.ndarray:
    """A3, C4, E4, C4 ... half a second each, with vibrato."""
    time_s = np.arange(round(seconds * rate)) / rate
    notes = np.array([57, 60, 64, 60])[(time_s / 0.5).astype(int) % 4] + 0.3 * np.sin(2 * np.pi * 5.5 * time_s)
    return sung(440.0 * 2.0 ** ((notes - 69.0) / 12.0), rate)


def noise(seconds: float, rate: int, level: float = 0.05) -> np.ndarray:
    return (level * np.random.default_rng(0).standard_normal(round(seconds * rate))).astype(np.float32)


def is_legal(result: Analysis) -> bool:
    frames = len(result.pitch)
    return (
        result.loudness_db.shape == result.times_s.shape == (frames,)
        and np.isfinite(result.pitch.hertz).all()
        and (result.pitch.hertz > 0).all()
    )


@pytest.mark.parametrize("rate", [16_000, 44_100, 48_000])
def test_analyse_finds_pitch_range_and_style_of_a_melody(rate):
    result = analyse(Audio(melody(4.0, rate)[None], rate))
    assert is_legal(result)
    assert len(result.pitch) == 401
    assert result.duration_s == pytest.approx(4.0, abs=1e-4)
    assert result.style == "melodic"
    assert result.vocal_range is not None
    assert (result.vocal_range.min, result.vocal_range.max) == ("A3", "E4")
    assert np.median(np.abs(result.pitch.semitones[110:140] - 64.0)) < 0.4
    assert result.pitch.voiced.mean() > 0.9


def test_analyse_of_equal_stereo_channels_matches_mono():
    mono = melody(1.0, 44_100)
    both = analyse(Audio(np.stack((mono, mono)), 44_100))
    np.testing.assert_allclose(both.pitch.hertz, analyse(Audio(mono[None], 44_100)).pitch.hertz, rtol=1e-4)


@pytest.mark.parametrize("rate", [22_050, 44_100])
def test_analyse_of_inverted_or_late_channels_matches_mono(rate):
    mono = melody(6.0, rate)  # more than a block
    alone = analyse(Audio(mono[None], rate))
    for other in (-mono, np.pad(mono, (round(0.012 * rate), 0))[: len(mono)]):
        both = analyse(Audio(np.stack((mono, other)), rate))
        assert np.median(np.abs(both.loudness_db - alone.loudness_db)) < 0.5
        assert np.mean(np.abs(both.pitch.semitones - alone.pitch.semitones) < 0.1) > 0.95
        assert (both.vocal_range.min, both.vocal_range.max) == (alone.vocal_range.min, alone.vocal_range.max)


@pytest.mark.parametrize("samples", [np.zeros(44_100), noise(1.0, 44_100)], ids=["silence", "noise"])
def test_analyse_finds_no_vocal_range_in_silence_or_noise(samples):
    result = analyse(Audio(samples[None].astype(np.float32), 44_100))
    assert is_legal(result)
    assert result.vocal_range is None
    assert result.style == "spoken"


@pytest.mark.parametrize("sample_count", [0, 1, 100, 440, 441, 2000])
@pytest.mark.parametrize("rate", [8_000, 44_100, 192_000])
def test_analyse_accepts_empty_and_very_short_recordings(sample_count, rate):
    result = analyse(Audio(melody(1.0, rate)[None, :sample_count], rate))
    assert is_legal(result)
    assert len(result.pitch) == round(result.duration_s * 44_100) // 441 + 1


def test_analyse_file_in_small_windows_matches_one_window(monkeypatch, tmp_path):
    rate = 44_100
    samples = np.concatenate((melody(5.0, rate), np.zeros(3 * rate, np.float32), noise(1.0, rate), melody(4.3, rate)))
    whole = analyse(Audio(samples[None], rate))
    soundfile.write(tmp_path / "song.wav", samples, rate, subtype="FLOAT")
    monkeypatch.setattr(module, "WINDOW_FRAMES", 400)
    pieces = analyse_file(tmp_path / "song.wav")
    assert len(pieces.pitch) == len(whole.pitch)
    assert pieces.duration_s == pytest.approx(whole.duration_s)
    np.testing.assert_allclose(pieces.loudness_db, whole.loudness_db, atol=1e-3)
    np.testing.assert_allclose(pieces.pitch.voicing, whole.pitch.voicing, atol=0.02)
    voiced = whole.pitch.voiced
    np.testing.assert_allclose(pieces.pitch.semitones[voiced], whole.pitch.semitones[voiced], atol=0.05)
    assert np.abs(pieces.pitch.semitones - whole.pitch.semitones).max() < 1.0  # drawn through the silence as well
    assert pieces.style == whole.style


def test_analyse_file_memory_stays_flat_for_long_recordings(tmp_path):
    rate = 16_000

    def peak_bytes(seconds: int) -> int:
        path = tmp_path / f"{seconds}.wav"
        soundfile.write(path, np.zeros(seconds * rate, np.int16), rate)
        tracemalloc.start()
        analyse_file(path)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return peak

    peak_bytes(1)
    assert peak_bytes(300) < 1.3 * peak_bytes(60)


def test_analyse_reports_progress_rising_to_one():
    seen: list[float] = []
    analyse(Audio(np.zeros((1, 60 * 8_000), np.float32), 8_000), report=lambda fraction, message: seen.append(fraction))
    assert seen == sorted(seen)
    assert len(seen) == 3
    assert seen[-1] == pytest.approx(1.0)


def test_analyse_file_stops_when_cancelled(tmp_path):
    def cancel(fraction: float, message: str) -> None:
        raise Cancelled

    soundfile.write(tmp_path / "a.wav", np.zeros(8_000), 8_000)
    with pytest.raises(Cancelled):
        analyse_file(tmp_path / "a.wav", cancel)


def test_analyse_file_refuses_a_file_that_is_not_audio(tmp_path):
    (tmp_path / "a.wav").write_text("not a sound")
    with pytest.raises(AudioError):
        analyse_file(tmp_path / "a.wav")


@pytest.mark.parametrize("kind", [str, Path])
def test_analyse_takes_a_file_and_a_pair_as_well(tmp_path, kind):
    samples = melody(1.0, 44_100)
    soundfile.write(tmp_path / "a.wav", samples.T, 44_100, subtype="FLOAT")
    by_hand = analyse(Audio(samples, 44_100))
    for found in (analyse(kind(tmp_path / "a.wav")), analyse((samples, 44_100))):
        np.testing.assert_array_equal(found.pitch.hertz, by_hand.pitch.hertz)
        assert repr(found) == repr(by_hand)


def test_analysis_is_one_line_of_text_and_a_picture():
    found = analyse(Audio(melody(1.0, 44_100), 44_100))
    notes = f"{found.vocal_range.min} to {found.vocal_range.max}"
    assert repr(found) == f"Analysis(1.0 s, {found.style}, {notes}, 101 frames)"
    assert found._repr_png_().startswith(b"\x89PNG")
    silent = analyse(Audio(np.zeros(4_410), 44_100))
    assert repr(silent).endswith("no voice, 11 frames)")
    assert silent._repr_png_().startswith(b"\x89PNG")


def test_analysis_refuses_curves_of_different_lengths():
    good = analyse(Audio(np.zeros((1, 4_410), np.float32), 44_100))
    with pytest.raises(ValueError, match="11 frames"):
        Analysis(good.pitch, good.loudness_db[1:], good.style, None, 0.1, good.dryness)


def test_analyse_interpolates_the_pitch_through_silence_between_notes():
    rate = 44_100
    low, high = sung(np.full(rate, 220.0), rate), sung(np.full(rate, 440.0), rate)
    samples = np.concatenate((low, np.zeros(60 * rate, np.float32), high))
    result = analyse(Audio(samples[None], rate))
    middle = hertz_to_semitones(float(result.pitch.hertz[31 * 100]))
    assert middle == pytest.approx(63.0, abs=0.5)


def test_analyse_gives_a_quiet_recording_the_style_and_range_of_a_loud_one():
    samples = melody(4.0, 44_100)
    loud, quiet = (analyse(Audio(gain * samples[None], 44_100)) for gain in (1.0, 0.008))
    assert (quiet.style, quiet.vocal_range.min, quiet.vocal_range.max) == ("melodic", "A3", "E4")
    assert quiet.pitch.voiced.sum() > 0.98 * loud.pitch.voiced.sum()


def test_analyse_warns_of_notes_above_the_highest_one():
    found = analyse(Audio(sung(np.full(88_200, 3136.0), 44_100)[None], 44_100))
    assert found.vocal_range is None
    assert found.warning is not None
    assert "above C7" in found.warning
    assert analyse(Audio(melody(2.0, 44_100)[None], 44_100)).warning is None


def test_analyse_gives_a_frame_the_same_pitch_in_any_window(monkeypatch):
    levels = np.repeat(10 ** (np.random.default_rng(3).uniform(-35, 0, 20) / 20), 44_100)
    samples = (melody(20.0, 44_100) * levels).astype(np.float32)
    whole = analyse(Audio(samples[None], 44_100))
    monkeypatch.setattr(module, "WINDOW_FRAMES", 400)
    pieces = analyse(Audio(samples[None], 44_100))
    np.testing.assert_allclose(pieces.pitch.voicing, whole.pitch.voicing, atol=0.02)
    both = whole.pitch.voiced
    np.testing.assert_allclose(pieces.pitch.semitones[both], whole.pitch.semitones[both], atol=0.02)

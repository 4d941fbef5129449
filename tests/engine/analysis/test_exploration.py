import sys
from pathlib import Path
from subprocess import run

import numpy as np
import pytest
import soundfile
from PIL import Image

from engine.analysis import exploration
from engine.analysis.exploration import explore_file
from engine.analysis.spectrogram import NOTE, SCALES
from engine.errors import AudioError, Cancelled

RATE = 44_100


def written(path: Path, samples: np.ndarray, rate: int = RATE) -> Path:
    soundfile.write(path, samples, rate)
    return path


def grey(path: Path) -> np.ndarray:
    return np.asarray(Image.open(path))


def test_explore_file_describes_a_sung_recording(tmp_path, sing):
    samples = sing(3.0, 220.0, peak=0.5)
    found = explore_file(written(tmp_path / "song.wav", samples), tmp_path)
    assert found.analysis.duration_s == pytest.approx(3.0, abs=0.01)
    assert found.peak_db == pytest.approx(20 * np.log10(np.abs(samples).max()), abs=0.01)
    assert found.loudness_lufs == pytest.approx(found.analysis.loudness_db.max(), abs=6)
    low, middle, high = found.pitch_quantiles
    assert low <= middle <= high
    assert found.histogram.sum() > 1.5
    assert found.notes
    assert all(note.end_s <= 3.01 for note in found.notes)
    curves = found.curves
    assert curves.step_s == 0.01
    assert len({len(one) for one in vars(curves).values() if isinstance(one, np.ndarray)}) == 1
    assert len(curves.hertz) == len(found.analysis.pitch)
    assert (curves.hertz[curves.confidence <= 0.3] == 0).all()


def test_explore_file_keeps_every_peak_of_the_waveform(tmp_path):
    samples = np.zeros(RATE)
    samples[10_000], samples[30_000] = 0.5, -0.25
    curves = explore_file(written(tmp_path / "clicks.wav", samples), tmp_path, scales=()).curves
    assert (curves.highest.max(), int(curves.highest.argmax())) == (pytest.approx(0.5, abs=1e-3), 10_000 // 441)
    assert (curves.lowest.min(), int(curves.lowest.argmin())) == (pytest.approx(-0.25, abs=1e-3), 30_000 // 441)


def test_explore_file_draws_grey_pictures_with_high_frequencies_on_top(tmp_path):
    tone = 0.3 * np.sin(2 * np.pi * 880 * np.arange(RATE) / RATE)
    found = explore_file(written(tmp_path / "tone.wav", tone), tmp_path)
    assert [picture.scale for picture in found.pictures] == list(SCALES)
    for picture in found.pictures:
        image = grey(picture.overview.path)
        assert image.dtype == np.uint8
        assert image.shape == (picture.scale.rows, 101)
        brightest = picture.scale.rows - 1 - int(image[:, 50].argmax())
        at = picture.scale.edges_hertz[brightest : brightest + 2]
        assert at[0] - 25 < 880 < at[1] + 25
        assert picture.tiles == []
        assert (picture.overview.start_s, picture.overview.end_s) == (0.0, pytest.approx(1.01))


@pytest.mark.parametrize("samples", [np.zeros(1), np.zeros(200), np.zeros(RATE)], ids=len)
def test_explore_file_accepts_silence_of_any_length(tmp_path, samples):
    found = explore_file(written(tmp_path / "silence.wav", samples), tmp_path)
    assert (found.notes, found.pitch_quantiles, found.loudness_lufs, found.peak_db) == ([], None, None, -120.0)
    assert found.analysis.vocal_range is None
    assert all(grey(picture.overview.path).max() == 0 for picture in found.pictures)


def test_explore_file_limits_tile_and_curve_sizes_of_a_long_recording(tmp_path, monkeypatch, sing):
    monkeypatch.setattr(exploration, "MOST_COLUMNS", 251)
    monkeypatch.setattr(exploration, "COLUMNS_PER_TILE", 100)
    monkeypatch.setattr(exploration, "MOST_POINTS", 200)
    found = explore_file(written(tmp_path / "long.wav", sing(5.0)), tmp_path, scales=[NOTE])
    (picture,) = found.pictures
    assert [grey(tile.path).shape[1] for tile in picture.tiles] == [100, 100, 51]  # every second frame
    assert [tile.start_s for tile in picture.tiles] == pytest.approx([0.0, 2.0, 4.0])
    assert picture.tiles[-1].end_s == pytest.approx(5.02)
    assert grey(picture.overview.path).shape[1] == 84  # three columns in one
    assert picture.overview.end_s == pytest.approx(5.04)
    # the tiles are the overview, seen closely
    whole = np.concatenate([grey(tile.path) for tile in picture.tiles], axis=1)
    joined = np.maximum.reduceat(whole, np.arange(0, 251, 3), axis=1)
    np.testing.assert_array_equal(joined, grey(picture.overview.path))
    assert (found.curves.step_s, len(found.curves.hertz)) == (0.03, 167)
    assert found.curves.highest.max() == pytest.approx(sing(5.0).max(), abs=0.01)


def test_explore_file_accepts_a_low_rate_and_stereo(tmp_path, sing):
    sung = sing(1.0, rate=16_000)
    stereo = np.stack((sung, np.zeros(16_000)), axis=1)
    found = explore_file(written(tmp_path / "low.flac", stereo, 16_000), tmp_path)
    assert found.analysis.duration_s == pytest.approx(1.0, abs=0.01)
    assert found.curves.highest.max() == pytest.approx(sung.max(), rel=0.1)  # as in the left channel


def test_explore_file_refuses_a_file_that_is_not_audio(tmp_path):
    (tmp_path / "text.wav").write_bytes(b"no sound at all")
    with pytest.raises(AudioError, match=r"text\.wav"):
        explore_file(tmp_path / "text.wav", tmp_path)


def test_explore_file_refuses_a_recording_longer_than_longest_s(tmp_path, sing):
    with pytest.raises(AudioError, match="longer than 3 seconds"):
        explore_file(written(tmp_path / "long.wav", sing(4.0)), tmp_path, longest_s=3.0)


@pytest.mark.parametrize("stage", ["Analysing", "Drawing"])
def test_explore_file_can_be_cancelled_while_analysing_and_drawing(tmp_path, sing, stage):
    def report(fraction: float, message: str) -> None:
        if message == stage:
            raise Cancelled

    with pytest.raises(Cancelled):
        explore_file(written(tmp_path / "song.wav", sing(1.0)), tmp_path, report=report)


def test_explore_file_reports_rising_progress_up_to_1(tmp_path, sing):
    told = []
    explore_file(written(tmp_path / "song.wav", sing(2.0)), tmp_path, report=lambda done, _: told.append(done))
    assert told == sorted(told)
    assert told[-1] == 1.0


def test_exploration_does_not_import_torch():
    program = "import sys, engine.analysis.exploration; sys.exit('torch' in sys.modules)"
    assert run([sys.executable, "-c", program], check=False).returncode == 0

import numpy as np
import pytest

from engine.research.benchmark.songs import CONDITIONS, backing, measure_cost, spoilt
from engine.research.command import main
from engine.units import SAMPLE_RATE


def level_db(samples):
    return 20 * np.log10(np.sqrt(np.mean(np.square(samples))))


@pytest.mark.system
def test_spoilt_adds_backing_and_harmony_at_the_named_levels(sing):
    dry = sing(3.0)
    found = dict(spoilt(dry))
    assert tuple(found) == CONDITIONS
    np.testing.assert_array_equal(found["dry"], dry)
    for condition, difference_db in (("backing -20 dB", -20), ("backing -12 dB", -12), ("harmony -6 dB", -6)):
        assert level_db(found[condition] - dry) - level_db(dry) == pytest.approx(difference_db, abs=1.0)


def test_backing_is_stereo_and_has_the_given_length():
    assert backing(20.5).shape == (2, round(20.5 * SAMPLE_RATE))


def test_measure_cost_sums_all_steps_and_reports_peak_memory():
    row = measure_cost(0.2)
    assert row.seconds == pytest.approx(row.align_s + row.two_pitches_s + row.joins_s + row.mix_s)
    assert row.peak_mb > 50


def test_songs_command_reports_a_folder_without_recordings(tmp_path, capsys):
    assert main("benchmark", ["songs", "--sources", str(tmp_path), "--parts", "level"]) == 1
    assert "no recording" in capsys.readouterr().err

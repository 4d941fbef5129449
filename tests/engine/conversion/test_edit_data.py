import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from engine.analysis.pitch_statistics import PitchStatistics
from engine.conversion.edit_data import EditData, read_edit_data, write_edit_data
from engine.conversion.settings import ConversionSettings
from engine.errors import EditError
from engine.features.sustained_notes import WIDTH
from engine.networks.listener import FEATURES


@pytest.fixture
def edit_data() -> EditData:
    random = np.random.default_rng(0)
    return EditData(
        voice="0123",
        settings=ConversionSettings(transpose="auto", takes=2, pitch_snap=0.5),
        transpose=-12,
        style="melodic",
        level_nepers=-3.25,
        feature_mean=random.standard_normal(FEATURES).astype(np.float32),
        timbre=random.standard_normal(64).astype(np.float32),
        statistics=PitchStatistics(50.0, 55.5, 60.25),
        bands=100,
        voiced=True,
        voicing=random.random(500).astype(np.float32),
        hertz=(100 + 100 * random.random((2, 500))).astype(np.float32),
        core_starts=np.array([0, 200]),
        phases=random.random((2, 2)),
        sustained=random.random((7, WIDTH)).astype(np.float32),
        apart=np.array([0, 2]),
        lowered_db=14.0,
    )


def test_edit_data_round_trips_exactly(edit_data, tmp_path):
    write_edit_data(tmp_path / "groundwork.npz", edit_data)
    again = read_edit_data((tmp_path / "groundwork.npz").read_bytes())
    for name, value in vars(edit_data).items():
        np.testing.assert_array_equal(getattr(again, name), value, strict=isinstance(value, np.ndarray))
    assert again.settings == edit_data.settings
    assert again.statistics == edit_data.statistics
    assert again.takes == 2
    np.testing.assert_array_equal(again.pitch(1).hertz, edit_data.hertz[1])


@pytest.mark.parametrize("content", [b"", b"no archive", b"PK\x03\x04 half an archive"])
def test_read_edit_data_refuses_other_files(content):
    with pytest.raises(EditError, match="convert the recording again"):
        read_edit_data(content)


def test_edit_data_and_pitch_shaping_do_not_import_torch():
    """A server that plans edits would be 190 MB larger."""
    loaded = "import sys, engine.conversion.edit_data, engine.conversion.pitch_shaping; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", loaded], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_read_edit_data_refuses_truncated_data(edit_data, tmp_path):
    write_edit_data(tmp_path / "x.npz", edit_data)
    content = (tmp_path / "x.npz").read_bytes()
    for length in (100, len(content) // 2, len(content) - 10):
        with pytest.raises(EditError):
            read_edit_data(content[:length])


@pytest.mark.parametrize(
    "change",
    [
        {"voicing": np.zeros(3, np.float32)},
        {"phases": np.zeros((1, 2))},
        {"core_starts": np.zeros(0, np.int64), "phases": np.zeros((2, 0))},
        {"hertz": np.zeros(500, np.float32)},
        {"sustained": np.zeros((3, WIDTH - 1), np.float32)},
        {"sustained": np.zeros(WIDTH, np.float32)},
    ],
)
def test_read_edit_data_refuses_mismatched_arrays(edit_data, change, tmp_path):
    write_edit_data(tmp_path / "x.npz", replace(edit_data, **change))
    with pytest.raises(EditError):
        read_edit_data((tmp_path / "x.npz").read_bytes())


@pytest.mark.parametrize("before", [1, 8, 9])
def test_read_edit_data_refuses_earlier_formats(edit_data, before, tmp_path, monkeypatch):
    monkeypatch.setattr("engine.conversion.edit_data._FORMAT", before)
    write_edit_data(tmp_path / "x.npz", edit_data)
    monkeypatch.undo()
    with pytest.raises(EditError, match="another version"):
        read_edit_data((tmp_path / "x.npz").read_bytes())

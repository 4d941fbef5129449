import json

import numpy as np
import pytest
import soundfile
import torch

from engine.devices import Device, Probe
from engine.research.benchmark import devices as device_benchmark
from engine.research.benchmark.devices import measure_devices
from engine.research.command import main
from engine.units import SAMPLE_RATE
from tests.engine.pretended_gpu import THERE, pretended_gpu


@pytest.fixture
def samples(tmp_path, sing, monkeypatch):
    soundfile.write(tmp_path / "song.flac", sing(1.5), SAMPLE_RATE)
    for name, value in (("_LEAST_S", 1.0), ("_STEPS", 1), ("_WARM_STEPS", 0), ("_LESSON_S", 5.0)):
        monkeypatch.setattr(device_benchmark, name, value)
    return tmp_path


@pytest.mark.system
def test_devices_benchmark_measures_the_cpu_without_a_difference(samples, capsys):
    assert main("benchmark", ["devices", "--samples", str(samples), "--json"]) == 0
    [processor] = [one for one in json.loads(capsys.readouterr().out)["devices"] if one["device"] == "cpu"]
    assert processor["difference_db"] is None
    assert processor["conversion_s_per_s"] > 0
    assert processor["training_s_per_s"] > 0
    assert main("benchmark", ["devices", "--samples", str(samples)]) == 0
    assert processor["precision"] in capsys.readouterr().out


@pytest.mark.filterwarnings("ignore:for .*copying from a non-meta parameter")
@pytest.mark.filterwarnings("ignore:Converting a tensor with requires_grad=True to a scalar")
@pytest.mark.system
def test_measure_devices_compares_other_devices_with_the_cpu(samples, monkeypatch):
    device = Device(THERE.type, "pretended", torch.float32)
    chosen = device_benchmark.choose_device
    monkeypatch.setattr(device_benchmark, "probe_devices", lambda: [Probe(THERE.type, device)])
    monkeypatch.setattr(
        "engine.conversion.convert.working_device", lambda wanted: device if wanted == THERE.type else chosen("cpu")
    )
    with pretended_gpu():
        first, last = measure_devices(samples)
    assert (first.device, last.device) == (THERE.type, "cpu")
    assert first.difference_db < -60.0  # windows in batches round otherwise


def test_difference_is_measured_in_decibels():
    wanted = np.ones(100, np.float32)
    assert device_benchmark.difference_db(wanted, wanted * 1.01) == pytest.approx(-40, abs=0.1)

import runpy
from pathlib import Path

import numpy as np
import pytest

from engine.conversion.onnx_export import export_onnx
from engine.networks.base import load_base
from engine.networks.listener import listen
from engine.voices.voice import load_voice


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return export_onnx(load_voice("kathleen"), tmp_path_factory.mktemp("export") / "kathleen")


@pytest.fixture(scope="module")
def host(folder):
    return runpy.run_path(str(folder / "host.py"))["Host"](folder)


@pytest.mark.system
def test_onnx_host_matches_the_rendering_of_the_studio_within_60_db(folder, host):
    example = dict(np.load(folder / "example.npz"))
    wanted = example.pop("samples")
    rendered = host.render(example)
    assert rendered.shape == wanted.shape
    assert np.abs(rendered - wanted).max() < 1e-3 * np.abs(wanted).max()


def test_onnx_host_features_match_the_listener(host):
    samples = 0.1 * np.random.default_rng(0).standard_normal(32_000).astype(np.float32)
    wanted = listen(load_base().listener, np.pad(samples, (0, 0)), 16_000).astype(np.float32)
    found = host.features(np.pad(samples, (0, 16_000)))[: len(wanted)]
    assert np.corrcoef(found.ravel(), wanted.ravel())[0, 1] > 0.9999


def test_onnx_host_is_short_and_does_not_import_the_engine(folder):
    source = (folder / "host.py").read_text()
    assert len(source.splitlines()) <= 150
    assert "engine" not in source.replace("engine.conversion", "")
    assert sorted(path.name for path in Path(folder).iterdir()) == [
        "card.json", "example.npz", "host.py", "listener.onnx", "synthesizer.onnx", "tables.npz", "voice.json",
        "voice.onnx",
    ]  # fmt: skip

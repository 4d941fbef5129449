import runpy
from pathlib import Path

import numpy as np
import pytest

from engine.conversion.articulation import BEYOND, BEYOND_THE_KNOWN
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


@pytest.mark.system
def test_onnx_host_pushes_the_timbre_as_far_as_the_studio_for_speech_and_for_singing(host):
    """Kathleen has only spoken: a song is pushed less far away from its singer."""
    assert (host.facts["beyond"], host.facts["beyond_spoken"]) == (BEYOND_THE_KNOWN, BEYOND)
    given = []
    host._run = lambda network, **inputs: given.append(inputs) or [np.zeros((1, 3, 108), np.float32)] * 3
    three = np.full(3, 200.0, np.float32)
    inputs = {name: three for name in ("hertz", "voicing", "loudness", "features", "feature_mean")}
    source = np.zeros(128, np.float32)
    for spoken, far in ((False, BEYOND_THE_KNOWN), (True, BEYOND)):
        host.render(inputs | {"timbre": source, "level_nepers": np.float32(0), "spoken": np.bool_(spoken)})
        np.testing.assert_allclose(given[-2]["timbre"], (1 + far) * host.tables["timbre"], rtol=1e-6)
    del host._run


def test_onnx_host_is_short_and_does_not_import_the_engine(folder):
    source = (folder / "host.py").read_text()
    assert len(source.splitlines()) <= 150
    assert "engine" not in source.replace("engine.conversion", "")
    assert (
        sorted(path.name for path in Path(folder).iterdir())
        == "card.json example.npz host.py listener.onnx synthesizer.onnx tables.npz voice.json voice.onnx".split()
    )

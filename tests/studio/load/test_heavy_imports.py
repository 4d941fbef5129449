"""The model that is imported there, and what is measured, without a service."""

import pytest

from engine.rvc.onnx_graph import inspect_graph
from engine.rvc.sandbox import ModelFileError
from studio.load.heavy_imports import LIMITS, heavy_imports, heavy_model, measure
from studio.load.trial_service import trial_service


def test_heavy_model_is_one_that_nothing_refuses_before_it_runs(tmp_path):
    path = tmp_path / "heavy.onnx"
    path.write_bytes(heavy_model())
    try:
        inspect_graph(path)
    except ModelFileError as refused:
        pytest.fail(f"it weighs nothing: {refused}")
    assert path.stat().st_size < 1_000_000


@pytest.mark.slow
def test_third_account_is_answered_while_two_import(tmp_path):
    with trial_service(tmp_path / "home", **LIMITS) as service:
        found = measure(service, rounds=1)
        with heavy_imports(service, 0) as answered:
            assert not answered
    assert set(found) == {"check", "export", "import", "/v1"}

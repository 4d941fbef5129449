import json

import torch

from engine.networks.base import load_weights
from engine.research.pretraining.training_run import save_weights


def test_save_weights_round_trips_weights_and_card(tmp_path):
    weights = {"a": torch.linspace(-2, 2, 7), "b.c": torch.randn(3, 4).T}
    save_weights(tmp_path / "small.safetensors", weights, {"name": "Gökhan"})
    found = load_weights(tmp_path / "small.safetensors")
    assert found.keys() == weights.keys()
    for name, value in weights.items():
        assert found[name].dtype == torch.float32
        torch.testing.assert_close(found[name], value, atol=1e-3, rtol=1e-3)
    assert json.loads((tmp_path / "small.json").read_text(encoding="utf-8")) == {"name": "Gökhan"}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["small.json", "small.safetensors"]

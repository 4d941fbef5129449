"""ContentVec against Transformers' HuBERT (reference/make.py), in both layouts."""

from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from engine.errors import VoiceError
from engine.rvc import contentvec as room
from engine.rvc.contentvec import ContentVec, _published, content_of, load_contentvec
from engine.rvc.sandbox import ModelFileError

REFERENCE = Path(__file__).parent / "reference" / "hubert.safetensors"
TO_FAIRSEQ = (
    *(("feature_projection.projection.", "post_extract_proj."), ("feature_projection.layer_norm.", "layer_norm.")),
    ("encoder.pos_conv_embed.conv.parametrizations.weight.original0", "encoder.pos_conv.0.weight_g"),
    ("encoder.pos_conv_embed.conv.parametrizations.weight.original1", "encoder.pos_conv.0.weight_v"),
    *(("encoder.pos_conv_embed.conv.", "encoder.pos_conv.0."), (".attention.", ".self_attn.")),
    *(("feed_forward.intermediate_dense", "fc1"), ("feed_forward.output_dense", "fc2")),
    ("masked_spec_embed", "mask_emb"),
)


def reference():
    found = load_file(REFERENCE)
    return found, {name.removeprefix("weight."): value for name, value in found.items() if name.startswith("weight.")}


def fairseq(weights):
    named = {}
    for name, value in weights.items():
        if name.startswith("feature_extractor"):
            name = name.replace(".conv.", ".0.").replace(".layer_norm.", ".2.")
        elif ".layers." in name and ".final_layer_norm." not in name:
            name = name.replace(".layer_norm.", ".self_attn_layer_norm.")
        for ours, theirs in TO_FAIRSEQ:
            name = name.replace(ours, theirs)
        named[name] = value
    return {"args": None, "model": named, "task_state": {}}


@pytest.mark.parametrize("layout", ["transformers", "fairseq"])
def test_contentvec_layers_match_the_reference(tmp_path, layout):
    found, weights = reference()
    path = tmp_path / "hubert.pt"
    torch.save(weights if layout == "transformers" else fairseq(weights), path)
    network = ContentVec(_published(path), heads=2, groups=4)
    with torch.inference_mode():
        for layer in (9, 12):
            assert (network(found["samples"], layer) - found[f"layer{layer}"]).abs().max() <= 1e-4


def test_contentvec_v1_content_projects_layer_nine_and_needs_the_projection(tmp_path):
    found, weights = reference()
    projection = {"final_proj.weight": torch.randn(256, 24), "final_proj.bias": torch.randn(256)}
    save_file(weights, tmp_path / "bare.safetensors")
    save_file(weights | projection, tmp_path / "whole.safetensors")
    whole, bare = (ContentVec(_published(tmp_path / f"{name}.safetensors"), 2, 4) for name in ("whole", "bare"))
    with torch.inference_mode():
        content = whole.content(found["samples"], "v1")
        wanted = found["layer9"] @ projection["final_proj.weight"].T + projection["final_proj.bias"]
        assert torch.allclose(content, wanted, atol=1e-3)
        with pytest.raises(VoiceError, match="lack the final projection"):
            bare.content(found["samples"], "v1")


@pytest.mark.parametrize("frames", [1, 2, 99, 100, 101])
def test_content_of_covers_every_frame(frames):
    network = _network()
    content = content_of(
        network, np.random.default_rng(0).standard_normal(frames * 441).astype(np.float32), frames, "v2"
    )
    assert content.shape == (frames, 24)


def _network():
    weights = reference()[1]
    return ContentVec(
        room._without_norm("x", {name: one for name, one in weights.items() if "masked" not in name}), 2, 4
    )


def test_load_contentvec_names_the_fetch_command_if_the_model_is_missing(tmp_path, monkeypatch):
    monkeypatch.setenv("TIMBRE_STUDIO_HOME", str(tmp_path))
    with pytest.raises(VoiceError, match="timbre-studio rvc fetch"):
        load_contentvec()


def test_install_refuses_a_file_that_is_not_a_model(tmp_path, monkeypatch):
    monkeypatch.setenv("TIMBRE_STUDIO_HOME", str(tmp_path / "home"))
    (tmp_path / "hubert_base.pt").write_bytes(b"other bytes")
    with pytest.raises(ModelFileError, match="not a model"):
        room.install(tmp_path)
    assert not list(tmp_path.rglob("*.safetensors"))


def test_contentvec_loads_an_old_pickle_with_other_objects(tmp_path):
    import argparse

    _, weights = reference()
    old = fairseq(weights) | {"args": argparse.Namespace(arch="hubert", layers=12)}
    torch.save(old, tmp_path / "old.pt")
    assert ContentVec(_published(tmp_path / "old.pt"), 2, 4)

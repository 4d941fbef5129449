import os
import pickle
import random
import sys
import types
import zipfile
from contextlib import suppress

import pytest
import torch
from safetensors.torch import load

from engine.rvc.checkpoint import extract, read_checkpoint
from engine.rvc.index_file import parse_index
from engine.rvc.onnx_models import inspect
from engine.rvc.sandbox import ModelFileError
from tests.engine.rvc.models import checkpoint_of


def code_of(path):
    with pytest.raises(ModelFileError) as caught:
        extract(path)
    assert path.name in str(caught.value)
    return caught.value.code


def values_of(path):
    return extract(path)[0]


def weights_of(path):
    return load(extract(path)[1]["file"].tobytes())


def saved(tmp_path, content, **options):
    torch.save(content, tmp_path / "voice.pth", **options)
    return tmp_path / "voice.pth"


@pytest.mark.parametrize("zipped", [True, False])
def test_extract_keeps_every_weight_unchanged(tmp_path, zipped):
    content = checkpoint_of("v2")
    path = saved(tmp_path, content, _use_new_zipfile_serialization=zipped)
    values, found = values_of(path), weights_of(path)
    assert (values["version"], values["sample_rate"], values["has_pitch"], values["speakers"]) == (
        "v2",
        48_000,
        True,
        3,
    )
    assert found.keys() == content["weight"].keys()
    assert all(torch.equal(found[name], value) for name, value in content["weight"].items())


@pytest.mark.system
def test_read_checkpoint_returns_values_and_errors_from_a_separate_process(tmp_path):
    configuration = read_checkpoint(saved(tmp_path, checkpoint_of("v1-no-pitch")), tmp_path / "out.safetensors")
    assert (configuration.version, configuration.has_pitch, configuration.content) == ("v1", False, 256)
    bad = tmp_path / "bad.pth"
    bad.write_bytes(b"no model at all")
    with pytest.raises(ModelFileError, match=r'"bad\.pth" is not a model') as caught:
        read_checkpoint(bad, tmp_path / "bad.safetensors")
    assert caught.value.code == "not_a_model"


def test_extract_refuses_other_files_with_a_specific_code(tmp_path):
    weights, tensor = checkpoint_of("v2"), torch.zeros(2)
    training = {"model": weights["weight"], "optimizer": {}, "iteration": 3, "learning_rate": 1e-4}
    so_vits = {"model": {"pre.weight": tensor, "f0_decoder.proj.weight": tensor}, "optimizer": {}, "iteration": 3}
    cases = {
        "training_file": [training, {"model": {"discriminators.0.convs.0.bias": tensor}}],
        "so_vits": [so_vits],
        "no_configuration": [{"weight": weights["weight"]}, weights | {"config": None}],
        "wrong_shapes": [weights | {"config": [1, 2]}, weights | {"config": {"a": 1}}],
        "not_a_model": [[1, 2], {"a": 1}, {"weight": {"a": 1}, "config": []}, {"weight": {}, "config": []}],
        "too_large": [weights | {"weight": weights["weight"] | {"x": torch.zeros(1).expand(1 << 20)}}],
    }
    odd = [torch.zeros(2, device="meta"), torch.eye(2).to_sparse(), torch.zeros(2, dtype=torch.int64)]
    cases["not_a_model"] += [weights | {"weight": weights["weight"] | {"x": one}} for one in odd]
    cases["wrong_shapes"] += [weights | {name: float("inf")} for name in ("f0", "version")]
    cases["wrong_shapes"] += [weights | {"config": [*weights["config"][:17], torch.zeros(2)]}]
    for code, contents in cases.items():
        for content in contents:
            assert code_of(saved(tmp_path, content)) == code


def test_extract_keeps_weights_that_share_storage(tmp_path):
    content, shared = checkpoint_of("v2"), torch.ones(64, dtype=torch.half)
    content["weight"] |= {"a": shared[:32], "b": shared[:32]}
    assert weights_of(saved(tmp_path, content))["b"].sum() == 32


@pytest.mark.parametrize(
    ("start", "said"), [(b"\x08\x09:", "ends in .onnx"), (b"IwFl\x00", "together with its"), (b"RIFF", "recording")]
)
def test_extract_names_the_real_kind_of_a_renamed_file(tmp_path, start, said):
    path = tmp_path / "voice.pth"
    path.write_bytes(start + b"\x00" * 40)
    with pytest.raises(ModelFileError, match=said):
        extract(path)


@pytest.mark.parametrize(
    "stated",
    [
        *({}, {"embedder_model": None}, {"embedder_model": "contentvec", "vocoder": "HiFi-GAN", "speakers_id": 1}),
        *({"embedder_name": "hubert_base", "embedder_output_layer": 12}, {"embedder_name": "contentvec768"}),
        *({"embedder_model": "hubert_base.pt"}, {"embedder_model": "ContentVec", "embedder_output_layer": -1}),
    ],
)
def test_extract_accepts_models_of_contentvec(tmp_path, stated):
    assert values_of(saved(tmp_path, checkpoint_of("v2") | stated))["version"] == "v2"


@pytest.mark.parametrize(
    ("stated", "said"),
    [
        *(
            ({"embedder_model": name}, f"content encoder {name};")
            for name in "spin spin-v2 japanese-hubert-base chinese-hubert-base korean-hubert-base custom".split()
        ),
        ({"embedder_name": "hubert-base-japanese768"}, "content encoder hubert-base-japanese768;"),
        ({"embedder_name": "hubert_base", "embedder_output_layer": 9}, "layer 9 of its content encoder, not 12;"),
    ],
)
def test_extract_refuses_models_of_other_encoders_by_name(tmp_path, stated, said):
    path = saved(tmp_path, checkpoint_of("v2") | stated)
    with pytest.raises(ModelFileError, match=f"trained on .*{said} .* words would be lost"):
        extract(path)
    assert code_of(path) == "other_encoder"


@pytest.mark.parametrize(
    ("stated", "version", "has_pitch"),
    [
        *(({"f0": "True", "version": "V2"}, "v2", True), ({"f0": "1", "version": "2"}, "v2", True)),
        *(({"f0": True, "version": 2}, "v2", True), ({"f0": "False"}, "v2", False), ({"f0": 0}, "v2", False)),
        ({"f0": None}, "v2", True),
    ],
)
def test_extract_reads_version_and_pitch_however_they_are_written(tmp_path, stated, version, has_pitch):
    values = values_of(saved(tmp_path, checkpoint_of("v2") | stated))
    assert (values["version"], values["has_pitch"]) == (version, has_pitch)


@pytest.mark.parametrize("rate", [48_000, "48000", "48k", "48 kHz", 48_000.0])
def test_extract_reads_the_sample_rate_however_it_is_written(tmp_path, rate):
    content = checkpoint_of("v2")
    content["config"] = [*content["config"][:17], rate]
    assert values_of(saved(tmp_path, content))["sample_rate"] == 48_000


def test_extract_reads_a_configuration_that_states_the_width_of_its_content(tmp_path):
    content = checkpoint_of("v2") | {"version": "v1", "embedder_name": "contentvec", "embedder_output_layer": 12}
    content["config"] = [*content["config"][:17], 768, 48_000]
    assert values_of(saved(tmp_path, content))["version"] == "v2"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ({"weight": {"quantizer.vq.x": 0, "ref_enc.fc.weight": 0, "ssl_proj.weight": 0}, "config": {}}, "GPT-SoVITS"),
        ({"weight": {"model.ar_text_embedding.weight": 0}, "config": {}, "info": "GPT-e15"}, "GPT-SoVITS"),
        ({"model": {"ref_enc.convs.0.bias": 0, "dec.conv_pre.bias": 0}, "optimizer": None}, "OpenVoice"),
        ({"model": {"enc_p.emb.weight": 0, "sdp.pre.weight": 0}, "iteration": 1}, "VITS"),
        ({"model": {"pre.weight": 0, "emb_uv.weight": 0}, "optimizer": {}}, "so-vits-svc"),
    ],
)
def test_extract_names_the_program_of_other_models(tmp_path, content, said):
    path = saved(tmp_path, content)
    with pytest.raises(ModelFileError, match=f"is a model of {said}"):
        extract(path)
    assert code_of(path) == ("so_vits" if said == "so-vits-svc" else "foreign_model")


def test_extract_names_gpt_sovits_by_its_settings_and_by_its_header(tmp_path, monkeypatch):
    module = types.ModuleType("utils")
    settings = type("HParams", (), {"__module__": "utils"})
    module.HParams = settings
    monkeypatch.setitem(sys.modules, "utils", module)
    path = saved(tmp_path, {"weight": {}, "config": settings(), "info": "e8"})
    assert code_of(path) == "foreign_model"
    path.write_bytes(b"06" + path.read_bytes()[2:])
    with pytest.raises(ModelFileError, match="is a model of GPT-SoVITS"):
        extract(path)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 57\n", "Git LFS pointer"),
        *((b"\n<!DOCTYPE html><html><head>", "a web page"), (b"\xef\xbb\xbf<HTML>", "a web page"), (b"", "is empty")),
    ],
)
@pytest.mark.parametrize("read", [extract, inspect, parse_index])
def test_readers_of_models_name_what_a_web_site_gave_instead(tmp_path, content, said, read):
    path = tmp_path / "voice.pth"
    path.write_bytes(content)
    with pytest.raises(ModelFileError, match=rf'"voice\.pth" is .*{said}|"voice\.pth" {said}'):
        read(path)


class _Bomb:
    def __reduce__(self):
        return os.system, ("touch /tmp/bomb-went-off",)


def test_extract_refuses_a_pickle_that_runs_a_program(tmp_path):
    for zipped in (True, False):
        path = saved(tmp_path, {"weight": _Bomb(), "config": []}, _use_new_zipfile_serialization=zipped)
        assert code_of(path) == "unsafe"
    (tmp_path / "voice.pth").write_bytes(pickle.dumps(_Bomb()))
    assert code_of(tmp_path / "voice.pth") == "not_a_model"
    assert not os.path.exists("/tmp/bomb-went-off")


def test_extract_refuses_a_zip_bomb(tmp_path):
    path = tmp_path / "voice.pth"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("voice/data.pkl", b"\0" * 50_000_000)
    assert code_of(path) == "not_a_model"


@pytest.mark.parametrize("zipped", [True, False])
def test_extract_reports_truncated_files(tmp_path, zipped):
    path = saved(tmp_path, checkpoint_of("v1-no-pitch"), _use_new_zipfile_serialization=zipped)
    content = path.read_bytes()
    for length in (0, 1, 4, 14, 60, 500, 3000, len(content) // 2, len(content) - 60, len(content) - 1):
        path.write_bytes(content[:length])
        assert code_of(path) == "truncated", length


@pytest.mark.parametrize("zipped", [True, False])
def test_extract_raises_only_model_file_errors_for_random_bytes(tmp_path, zipped):
    """In the pickle, and in the directory at the end of a ZIP."""
    path = saved(tmp_path, checkpoint_of("v1-no-pitch"), _use_new_zipfile_serialization=zipped)
    content, drawn = path.read_bytes(), random.Random(0)
    for _ in range(60):
        changed = bytearray(content)
        for _ in range(3):
            place = drawn.randrange(2_000)
            changed[-1 - place if zipped else place] = drawn.randrange(256)
        path.write_bytes(changed)
        with suppress(ModelFileError):  # and nothing else
            extract(path)


@pytest.mark.system
def test_read_checkpoint_refuses_a_missing_file(tmp_path):
    for absent in (tmp_path / "voice.pth", tmp_path):
        with pytest.raises(ModelFileError, match=f'There is no file "{absent}"') as caught:
            read_checkpoint(absent, tmp_path / "out.safetensors")
        assert caught.value.code == "no_file"


def test_extract_refuses_networks_that_multiply_far_more_than_a_model_of_rvc(tmp_path):
    """Wide blocks at the rate of the samples, where a few weights work for each of them."""
    content = checkpoint_of("v2")
    content["config"] = [*content["config"][:10], [4095], [[1, 1, 1]], *content["config"][12:]]
    content["config"][13] = 4096
    with pytest.raises(ModelFileError, match=r"billion multiplications per second of sound\. .* at most 61 billion"):
        extract(saved(tmp_path, content))
    assert code_of(tmp_path / "voice.pth") == "too_large"

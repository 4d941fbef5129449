import os
import pickle
import random
import zipfile
from contextlib import suppress

import pytest
import torch
from safetensors.torch import load_file

from engine.rvc import sandbox
from engine.rvc.checkpoint import extract, read_checkpoint
from engine.rvc.sandbox import ModelFileError
from tests.engine.rvc.models import checkpoint_of


def code_of(path, tmp_path):
    with pytest.raises(ModelFileError) as caught:
        extract(path, str(tmp_path / "out.safetensors"))
    assert not (tmp_path / "out.safetensors").exists()
    assert path.name in str(caught.value)
    return caught.value.code


def saved(tmp_path, content, **options):
    torch.save(content, tmp_path / "voice.pth", **options)
    return tmp_path / "voice.pth"


@pytest.mark.parametrize("zipped", [True, False])
def test_extract_keeps_every_weight_unchanged(tmp_path, zipped):
    content = checkpoint_of("v2")
    path = saved(tmp_path, content, _use_new_zipfile_serialization=zipped)
    values = extract(path, str(tmp_path / "out.safetensors"))
    assert (values["version"], values["sample_rate"], values["has_pitch"], values["speakers"]) == (
        "v2",
        48_000,
        True,
        3,
    )
    found = load_file(tmp_path / "out.safetensors")
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
            assert code_of(saved(tmp_path, content), tmp_path) == code


def test_extract_keeps_weights_that_share_storage(tmp_path):
    content, shared = checkpoint_of("v2"), torch.ones(64, dtype=torch.half)
    content["weight"] |= {"a": shared[:32], "b": shared[:32]}
    extract(saved(tmp_path, content), str(tmp_path / "out.safetensors"))
    assert load_file(tmp_path / "out.safetensors")["b"].sum() == 32


@pytest.mark.parametrize(
    ("start", "said"), [(b"\x08\x09:", "ending .onnx"), (b"IwFl\x00", "together with its"), (b"RIFF", "recording")]
)
def test_extract_names_the_real_kind_of_a_renamed_file(tmp_path, start, said):
    path = tmp_path / "voice.pth"
    path.write_bytes(start + b"\x00" * 40)
    with pytest.raises(ModelFileError, match=said):
        extract(path, "nowhere")


class _Bomb:
    def __reduce__(self):
        return os.system, ("touch /tmp/bomb-went-off",)


def test_extract_refuses_a_pickle_that_runs_a_program(tmp_path):
    for zipped in (True, False):
        path = saved(tmp_path, {"weight": _Bomb(), "config": []}, _use_new_zipfile_serialization=zipped)
        assert code_of(path, tmp_path) == "unsafe"
    (tmp_path / "voice.pth").write_bytes(pickle.dumps(_Bomb()))
    assert code_of(tmp_path / "voice.pth", tmp_path) == "not_a_model"
    assert not os.path.exists("/tmp/bomb-went-off")


def test_extract_refuses_a_zip_bomb(tmp_path):
    path = tmp_path / "voice.pth"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("voice/data.pkl", b"\0" * 50_000_000)
    assert code_of(path, tmp_path) == "not_a_model"


@pytest.mark.parametrize("zipped", [True, False])
def test_extract_reports_truncated_files(tmp_path, zipped):
    path = saved(tmp_path, checkpoint_of("v1-no-pitch"), _use_new_zipfile_serialization=zipped)
    content = path.read_bytes()
    for length in (0, 1, 4, 14, 60, 500, 3000, len(content) // 2, len(content) - 60, len(content) - 1):
        path.write_bytes(content[:length])
        assert code_of(path, tmp_path) == "truncated", length


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
            extract(path, str(tmp_path / "out.safetensors"))


def fill_memory(path, *_):
    return len(bytearray(1 << 36))


def call_outside(path, *_):
    import socket

    socket.create_connection(("127.0.0.1", 9))


def sleep(path, *_):
    while True:
        pass


def write_where_nobody_may(path, *_):
    (path.parent / "none" / "there").write_bytes(b"")


def fail(path, *_):
    raise KeyError("a mistake of ours")


@pytest.mark.parametrize(
    ("task", "code"),
    [
        ("fill_memory", "too_large"), ("call_outside", "unsafe"), ("sleep", "too_large"),
        ("write_where_nobody_may", "not_readable"),
    ],
)  # fmt: skip
@pytest.mark.system
def test_run_apart_refuses_excessive_memory_or_time_network_and_failed_writes(tmp_path, monkeypatch, task, code):
    if task == "sleep":
        monkeypatch.setattr(sandbox, "_LONGEST_S", 6)
    path = tmp_path / "voice.pth"
    path.write_bytes(b"PK")
    with pytest.raises(ModelFileError) as caught:
        sandbox.run_apart(f"tests.engine.rvc.test_checkpoint:{task}", path)
    assert caught.value.code == code


@pytest.mark.system
def test_read_checkpoint_refuses_a_missing_file_and_run_apart_raises_other_errors(tmp_path):
    path = tmp_path / "voice.pth"
    for absent in (path, tmp_path):
        with pytest.raises(ModelFileError, match=f'There is no file "{absent}"') as caught:
            read_checkpoint(absent, tmp_path / "out.safetensors")
        assert caught.value.code == "no_file"
    path.touch()
    with pytest.raises(RuntimeError, match="a mistake of ours"):
        sandbox.run_apart("tests.engine.rvc.test_checkpoint:fail", path)

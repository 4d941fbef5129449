from pathlib import Path

import numpy as np
import pytest
import soundfile
import torch
from safetensors.torch import load_file, save_file

from engine.errors import VoiceError
from engine.networks import quick_listener as module
from engine.networks.base import BaseModel
from engine.networks.eight_bits import multiplies_eight_bits
from engine.networks.listener import LISTENER, LISTENER_FORMAT, LISTENER_RATE, WIDTH, Listener, listen
from engine.networks.quick_listener import EightBitBlock, load_quick_listener
from tests.engine.conftest import sing

SAMPLES = Path(__file__).parents[3] / "engine" / "samples"

pytestmark = pytest.mark.skipif(
    not multiplies_eight_bits(torch.device("cpu")), reason="8 bits are not used on this processor"
)


@pytest.fixture(scope="module")
def quick() -> Listener:
    """The one that ships."""
    return load_quick_listener()


def speech() -> np.ndarray:
    return soundfile.read(SAMPLES / "speech.flac", dtype="float32")[0][: 6 * LISTENER_RATE]


def noisy() -> np.ndarray:
    clean = speech()
    return clean + 0.2 * clean.std() * np.random.default_rng(0).standard_normal(len(clean)).astype(np.float32)


RECORDINGS = {
    "speech": speech,
    "quiet": lambda: 0.004 * speech(),
    "noisy": noisy,
    "sung": lambda: sing(6.0, rate=LISTENER_RATE),
    "silence around": lambda: np.pad(speech(), LISTENER_RATE),
}


def likeness(one: np.ndarray, other: np.ndarray) -> tuple[float, float]:
    """The correlation of each of the two layers less its mean over time."""
    one, other = (features.astype(np.float64) - features.mean(0, dtype=np.float64) for features in (one, other))
    first, second = (
        float(np.corrcoef(one[:, layer].ravel(), other[:, layer].ravel())[0, 1])
        for layer in (slice(WIDTH), slice(WIDTH, None))
    )
    return first, second


@pytest.mark.parametrize("name", RECORDINGS)
def test_both_layers_are_nearly_those_in_single_precision(quick, listener, name):
    """With one range for all frames, as live, the last layer of these was at 0.94 to 0.98."""
    samples = RECORDINGS[name]()
    found, wanted = (listen(one, samples, LISTENER_RATE) for one in (quick, listener))
    assert found.shape == wanted.shape
    assert min(likeness(found, wanted)) > 0.995


def test_a_burst_of_one_frame_leaves_the_others_their_steps(quick):
    (block,) = [one for one in quick.blocks if isinstance(one, EightBitBlock)][:1]
    hidden = torch.randn(1, 40, WIDTH, generator=torch.Generator().manual_seed(0))
    burst = hidden.clone()
    burst[0, 7] *= 300
    with torch.inference_mode():
        calm, beside = (block._leave(values)[0, 8:] for values in (hidden, burst))
    torch.testing.assert_close(beside, calm, atol=0.02 * float(calm.abs().max()), rtol=0)


def test_layers_in_eight_bits_give_the_same_for_any_number_of_threads(quick):
    """Attention and the first block, in float32, need one thread for that: with more, AVX2 adds up otherwise."""
    (block,) = [one for one in quick.blocks if isinstance(one, EightBitBlock)][:1]
    hidden = torch.sin(torch.arange(700.0 * WIDTH)).view(1, 700, WIDTH)
    threads = torch.get_num_threads()
    try:
        found = []
        for number in (1, 2, 3):
            torch.set_num_threads(number)
            with torch.inference_mode():
                wide = torch.nn.functional.gelu(block._widen(block.network_norm(hidden)))
                found.append([block._enter(hidden), block._leave(hidden), wide, block._narrow(wide)])
    finally:
        torch.set_num_threads(threads)
    assert all(torch.equal(one, other) for others in found[1:] for one, other in zip(found[0], others, strict=True))


def test_stretches_of_frames_change_nearly_nothing(quick, monkeypatch):
    samples = speech()
    whole = listen(quick, samples, LISTENER_RATE)
    monkeypatch.setattr(module, "FRAMES_AT_ONCE", 50)
    assert min(likeness(listen(quick, samples, LISTENER_RATE), whole)) > 0.995


def test_silence_is_finite(quick):
    assert np.isfinite(listen(quick, np.zeros(LISTENER_RATE, np.float32), LISTENER_RATE)).all()


def test_base_model_listens_quickly_without_the_other_listener():
    base = BaseModel()
    assert sum(isinstance(block, EightBitBlock) for block in base.quick_listener.blocks) == 5
    assert base.quick_listener is base.quick_listener
    assert "listener" not in base.__dict__


def test_base_model_keeps_the_listener_that_it_was_given(listener):
    base = BaseModel(listener)
    assert base.quick_listener is base.listener is listener


@pytest.mark.parametrize("change", ["missing", "scale", "extra"])
def test_load_quick_listener_refuses_a_file_of_another_version(tmp_path, change):
    stored = load_file(LISTENER)
    if change == "missing":
        del stored["blocks.3.narrow.weight"]
    elif change == "scale":
        del stored["blocks.2.widen.weight.scale"]
    else:
        stored["blocks.6.norm"] = torch.zeros(3)
    save_file(stored, tmp_path / "listener.safetensors", {"format": LISTENER_FORMAT})
    with pytest.raises(VoiceError, match="belong to another version of the engine"):
        load_quick_listener(tmp_path / "listener.safetensors")

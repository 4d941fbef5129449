import argparse
from dataclasses import replace

import pytest
import torch
from safetensors.torch import load_file

from engine.errors import TrainingError
from engine.networks.base import load_base
from engine.networks.content_encoder import CONTENT
from engine.networks.envelope_decoder import PROSODY
from engine.networks.timbre_encoder import TIMBRE
from engine.research.pretraining import through_synthesis
from engine.research.pretraining.packed_features import CropDraws, PackedFeatures
from engine.research.pretraining.through_synthesis import (
    ARMS,
    Arm,
    ArmPlan,
    ArmTraining,
    TokenDecoder,
    add_options,
    heard_distance,
    train_arm,
)

CPU = torch.device("cpu")
PLAN = ArmPlan(steps=3, batch=2, frames=40)


@pytest.fixture(scope="module")
def features(packed) -> PackedFeatures:
    return PackedFeatures(packed, CPU)


def given(content: int = 5) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    random = torch.Generator().manual_seed(1)
    shapes = ((2, content, CONTENT), (2, content, PROSODY), (2, TIMBRE))
    content_of, prosody, timbre = (torch.randn(shape, generator=random) for shape in shapes)
    return content_of, prosody, timbre


def test_tokens_begin_as_the_decoder_without_them():
    decoder = load_base().decoder
    tokens = TokenDecoder(decoder, ARMS["noise"]).eval()
    assert torch.equal(tokens(*given()), decoder(*given()))
    with torch.no_grad():
        tokens.gate.fill_(1.0)
    assert not torch.equal(tokens(*given()), decoder(*given()))


def test_noise_is_added_to_content_in_training_alone():
    decoder = TokenDecoder(load_base().decoder, Arm(content_noise=0.5))
    assert torch.equal(decoder.eval()(*given()), decoder(*given()))
    decoder.train()
    assert not torch.equal(decoder(*given()), decoder(*given()))


def test_heard_distance_is_smallest_of_the_envelope_that_was_measured(features):
    crops = CropDraws(features, features.clips, 4, 60, 0).draw()
    synthesizer = load_base().synthesizer
    random = torch.Generator().manual_seed(0)
    wrong = crops.envelope + torch.randn(4, 1, crops.envelope.shape[2], generator=random)
    with torch.inference_mode():
        right, moved = (float(heard_distance(synthesizer, one, crops)) for one in (crops.envelope, wrong))
    assert right < 0.35  # the recording filtered by nothing but what its envelope leaves out
    assert moved > 2 * right


@pytest.mark.parametrize(
    "name", [name if name == "noise" else pytest.param(name, marks=pytest.mark.system) for name in ARMS]
)
def test_twenty_steps_lower_what_is_heard_and_change_no_frozen_network(features, name):
    """The same crops each time: what can be learned of them is."""
    plan = replace(PLAN, rate=1e-3)
    state = ArmTraining(load_base(), ARMS[name], plan, CPU)
    frozen = {n: value.clone() for n, value in load_base().state_dict().items()}
    crops = CropDraws(features, features.clips, plan.batch, plan.frames, 0).draw()

    def distance() -> float:
        networks = state.networks.eval()
        with torch.inference_mode():
            predicted = networks.decoder(crops.content, crops.prosody, networks.timbre(crops.reference))
            return float(state.refinement.distance(predicted, crops))

    before = distance()
    for number in range(20):
        figures = state.step(crops, number / 20)
    assert set(figures) == {"envelope", "matching", "deceiving", "kept", "taken"}
    assert distance() < 0.97 * before
    for n, value in load_base().state_dict().items():
        assert torch.equal(value, frozen[n]), n
    assert (state.networks.decoder.gate != 0).item() == ARMS[name].tokens


def test_an_arm_ends_with_its_steps_or_its_seconds(features):
    taken = []

    def clock() -> float:
        taken.append(None)
        return float(len(taken))

    assert PLAN.share(0, 1e9) == 0.0
    assert replace(PLAN, steps=10, seconds=100.0).share(2, 50.0) == 0.5
    state = train_arm(features, Arm(), replace(PLAN, steps=None, seconds=2.5), CPU, clock)
    assert 2 < len(taken) < 8
    average = state.networks.decoder.state_dict()
    assert all(torch.equal(value, average[name]) for name, value in state.average.items())


def options(*arguments: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    add_options(parser)
    return parser.parse_args(arguments)


@pytest.mark.system
def test_command_packs_trains_and_writes_a_base_that_loads(recordings, tmp_path, threads_for_processes):
    packed, out = tmp_path / "packed.safetensors", tmp_path / "out"
    told = list(through_synthesis.run(options("--corpus", str(recordings), "--pack", str(packed))))
    assert told[0].startswith("8 recordings of 4 speakers")
    given = ("--features", str(packed), "--out", str(out), "--steps", "2", "--batch", "2", "--frames", "40")
    rows = list(through_synthesis.run(options(*given, "--arms", "plain", "tokens", "--device", "cpu")))
    assert [row.split(" | ")[0] for row in rows[1:]] == ["| as shipped", "| plain", "| tokens"]
    base, shipped = load_base(out / "base-plain.safetensors"), load_base()
    assert not torch.equal(*(one.decoder.leave[1].weight for one in (base, shipped)))
    torch.testing.assert_close(base.content.state_dict(), shipped.content.state_dict(), atol=1e-3, rtol=1e-3)
    assert "gate" in load_file(out / "tokens.safetensors")
    assert not (out / "base-tokens.safetensors").exists()  # such a base has no place for them


def test_command_says_what_it_needs():
    with pytest.raises(TrainingError, match="--pack with --corpus"):
        list(through_synthesis.run(options("--out", "x")))
    with pytest.raises(TrainingError, match="--pack with --corpus"):
        list(through_synthesis.run(options("--pack", "x")))

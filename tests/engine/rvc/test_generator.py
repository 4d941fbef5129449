"""The generator against the reference implementation (reference/make.py), with features, noise and phases fixed."""

import json
from dataclasses import asdict
from pathlib import Path

import pytest
import torch
from safetensors import safe_open

from engine.errors import VoiceError
from engine.rvc import generator as rooms
from engine.rvc.configuration import from_checkpoint, from_json
from engine.rvc.generator import excitation, generator_from

REFERENCE = Path(__file__).parent / "reference" / "rvc.safetensors"
CASES = ("v1", "v1-five-stages", "v2", "v2-32k", "v1-no-pitch", "v2-no-pitch")


def reference(case):
    with safe_open(REFERENCE, "pt") as file:
        facts = json.loads(file.metadata()["cases"])[case]
        found = {
            name.split("/", 1)[1]: file.get_tensor(name).float()
            for name in list(file.keys())
            if name.startswith(f"{case}/")
        }
    weights = {name.removeprefix("weight."): value for name, value in found.items() if name.startswith("weight.")}
    return facts, found, weights


def built(case):
    facts, found, weights = reference(case)
    speakers = len(weights["emb_g.weight"])
    configuration = from_checkpoint(facts["config"], facts["version"], facts["f0"], speakers)
    return facts, found, generator_from(configuration, weights)


def rendered(case):
    facts, found, generator = built(case)
    shape = generator.configuration
    source = excitation(found["hertz"], found["source_noise"], shape.sample_rate, shape.hop)
    with torch.inference_mode():
        return generator(found["content"], found["hertz"], found["noise"], source, facts["speaker"]), found["samples"]


@pytest.mark.parametrize("case", CASES)
def test_generator_output_matches_the_reference(case):
    samples, wanted = rendered(case)
    assert samples.shape == wanted.shape
    assert (samples - wanted).abs().max() <= 1e-4


def test_reference_files_are_at_most_2_mb():
    assert sum(path.stat().st_size for path in REFERENCE.parent.iterdir()) <= 2_000_000


def test_generator_in_small_pieces_matches_the_reference(monkeypatch):
    monkeypatch.setattr(rooms, "DECODED_FRAMES", 7)
    samples, wanted = rendered("v2")
    assert (samples - wanted).abs().max() <= 1e-4


def test_excitation_continues_in_phase_from_carried_cycles():
    hertz, noise = torch.full((1, 8), 220.0), torch.zeros(1, 8 * 400)
    whole = excitation(hertz, noise, 40_000, 400)
    later = excitation(hertz[:, 3:], noise[:, 1200:], 40_000, 400, cycles=3 * 220 / 100)
    assert torch.allclose(whole[:, 1200:], later, atol=1e-6)


def test_generator_from_refuses_missing_misshapen_and_unknown_weights():
    facts, _, weights = reference("v2")
    configuration = from_checkpoint(facts["config"], "v2", 1, 3)
    generator_from(configuration, weights | {"enc_q.pre.weight": torch.zeros(1)})  # only training needs it
    without = {name: value for name, value in weights.items() if name != "dec.cond.bias"}
    with pytest.raises(VoiceError, match=r"incomplete: dec\.cond\.bias is missing"):
        generator_from(configuration, without)
    with pytest.raises(VoiceError, match=r"dec\.cond\.bias is \(2,\) instead of \(32,\)"):
        generator_from(configuration, weights | {"dec.cond.bias": torch.zeros(2)})
    with pytest.raises(VoiceError, match="extra is unknown"):
        generator_from(configuration, weights | {"extra": torch.zeros(2)})
    with pytest.raises(VoiceError, match=r"enc_p\.emb_phone\.weight is \(16, 768\) instead of \(16, 256\)"):
        generator_from(from_checkpoint(facts["config"], "v1", 1, 3), weights)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_generator_from_refuses_nan_and_infinite_weights(value):
    """One pitch among many would be heard only where the melody reaches it."""
    facts, _, weights = reference("v2")
    weights["enc_p.emb_pitch.weight"][200, 1] = value
    with pytest.raises(VoiceError, match=r"damaged: enc_p\.emb_pitch\.weight"):
        generator_from(from_checkpoint(facts["config"], "v2", 1, 3), weights)


def test_generator_from_accepts_the_newer_names_of_weight_norm():
    facts, _, weights = reference("v2")
    configuration = from_checkpoint(facts["config"], "v2", 1, 3)
    newer = {
        name.replace("weight_g", "parametrizations.weight.original0").replace(
            "weight_v", "parametrizations.weight.original1"
        ): value
        for name, value in weights.items()
    }
    old, new = (generator_from(configuration, one).state_dict() for one in (weights, newer))
    assert all(torch.equal(old[name], new[name]) for name in old)


def test_configuration_round_trips_through_json():
    facts, _, _ = reference("v2")
    configuration = from_checkpoint(facts["config"], "v2", 1, 3)
    assert from_json(json.loads(json.dumps(asdict(configuration)))) == configuration


@pytest.mark.parametrize(
    ("place", "value"), [(17, 44_100), (12, [10, 10]), (4, 10**9), (10, [4, 4]), (6, "6"), (11, [])]
)
def test_from_checkpoint_refuses_an_invalid_configuration(place, value):
    config = reference("v2")[0]["config"]
    with pytest.raises(VoiceError, match="not that of an RVC model"):
        from_checkpoint([*config[:place], value, *config[place + 1 :]], "v2", 1, 3)

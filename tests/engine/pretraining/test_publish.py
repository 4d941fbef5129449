import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from engine.base import load_base, load_weights
from engine.content import CONTENT
from engine.decoder import PROSODY
from engine.envelope import LOW_BANDS
from engine.errors import TrainingError
from engine.fine_tuning import load_foreign
from engine.losses import EnvelopeDiscriminator
from engine.mean_colour import load_colours
from engine.pretraining.acoustic import AcousticPlan, train_acoustic
from engine.pretraining.colours import measure_colours
from engine.pretraining.corpus import split_speakers
from engine.pretraining.hardening import NEAR, harden_content
from engine.pretraining.publish import publish_base, publish_hardened
from engine.pretraining.vocoder import SynthesizerPlan, train_synthesizer
from engine.pretraining.vocoder_refinement import RefinementPlan, refine_synthesizer

CPU = torch.device("cpu")


def quiet(fraction: float, message: str) -> None:
    pass


@pytest.fixture(scope="module")
def published(corpus, tmp_path_factory) -> Path:
    """A folder with everything of a base that was trained for a step or two."""
    out = tmp_path_factory.mktemp("out")
    train_acoustic(corpus, out, AcousticPlan(steps=1, batch=2, frames=40, validation_speakers=0.2), CPU, quiet)
    synthesizer = SynthesizerPlan(steps=1, batch=1, frames=24, validation_speakers=0.2)
    train_synthesizer(corpus, out, synthesizer, CPU, quiet)
    refine_synthesizer(corpus, out, replace(RefinementPlan(), steps=2, batch=1, frames=24, warm_up=1), CPU, quiet)
    publish_base(corpus, out)
    return out


def test_what_is_published_is_a_base(published):
    base = load_base(published / "base.safetensors")
    trained = torch.load(published / "acoustic.pt", weights_only=True)["average"]
    for part in ("content", "timbre", "decoder"):
        for name, value in getattr(base, part).state_dict().items():
            torch.testing.assert_close(value, trained[f"{part}.{name}"], atol=2e-3, rtol=2e-3)
    refined = torch.load(published / "synthesizer_refined.pt", weights_only=True)["average"]
    for name, value in base.synthesizer.state_dict().items():
        torch.testing.assert_close(value, refined[name], atol=2e-3, rtol=2e-3)


def test_the_critic_ships_with_it(published):
    EnvelopeDiscriminator().load_state_dict(load_weights(published / "critic.safetensors"), strict=True)


def test_so_does_what_is_known_of_colours(published, corpus):
    known = load_colours(published / "colour.safetensors")
    training, _ = split_speakers(corpus.clips, 0.2, AcousticPlan().seed)
    expected = measure_colours(corpus, training, AcousticPlan().seed)
    np.testing.assert_allclose(known.mean, expected.mean, atol=4e-3)
    for kept, measured in ((known.between, expected.between), (known.within, expected.within)):
        np.testing.assert_allclose(kept - 0.01 * np.eye(LOW_BANDS), measured, rtol=1e-3, atol=1e-3)
    card = json.loads((published / "colour.json").read_text())
    assert card["attribution"]
    assert card["speakers"] == len({clip.speaker for clip in training})


def test_so_does_what_others_said(published, corpus):
    foreign = load_foreign(published / "foreign.safetensors")
    pieces, frames, content = foreign.content.shape
    assert 1 <= pieces <= len(corpus.clips)
    assert content == CONTENT
    assert foreign.prosody.shape == (pieces, frames, PROSODY)
    assert foreign.semitones.shape == (pieces,)


def test_the_card_says_what_it_is_made_of(published, corpus):
    card = json.loads((published / "base.json").read_text(encoding="utf-8"))
    minutes = sum(clip.frames for clip in corpus.clips) / 6000
    assert sum(card["data_minutes"].values()) == pytest.approx(minutes, abs=0.1)
    assert card["kept_out"] == ["pjs"]
    assert card["licence"]
    assert card["attribution"]
    assert "unseen_envelope" in card["scores"]["acoustic"]
    assert "unseen_spectrum" in card["scores"]["synthesizer"]
    assert AcousticPlan(**card["acoustic"]["plan"]).steps == card["acoustic"]["steps"] == 1


def test_a_base_that_began_from_another_keeps_its_synthesizer_where_none_was_trained(published, corpus, out):
    plan = AcousticPlan(steps=1, batch=2, frames=40, validation_speakers=0.2)
    train_acoustic(corpus, out, plan, CPU, quiet, begin=published)
    publish_base(corpus, out, begun_from=published)
    before, after = (load_base(folder / "base.safetensors") for folder in (published, out))
    for name, value in before.synthesizer.state_dict().items():
        assert torch.equal(value, after.synthesizer.state_dict()[name])
    assert not torch.equal(before.decoder.enter.convolution.weight, after.decoder.enter.convolution.weight)
    earlier, card = (json.loads((folder / "base.json").read_text(encoding="utf-8")) for folder in (published, out))
    assert card["acoustic"]["begun_from"] == earlier["acoustic"]
    assert card["synthesizer"] == earlier["synthesizer"]
    assert card["scores"]["synthesizer"] == earlier["scores"]["synthesizer"]


def test_before_both_parts_are_trained_there_is_nothing_to_publish(corpus, out):
    with pytest.raises(TrainingError, match="holds no checkpoint of both parts: train them first"):
        publish_base(corpus, out)
    assert list(out.iterdir()) == []


def test_a_hardened_encoder_takes_the_place_of_the_one_before(published, adverse, corpus, out):
    with pytest.raises(TrainingError, match="holds no hardened encoder: train it first"):
        publish_hardened(corpus, out, published)
    plan = replace(NEAR, steps=1, batch=2, frames=40)
    weights = harden_content(adverse, {"set/9"}, published / "base.safetensors", out, (plan, plan), CPU, quiet)
    publish_hardened(corpus, out, published)
    before, after = (load_base(folder / "base.safetensors") for folder in (published, out))
    for name, value in after.content.state_dict().items():
        torch.testing.assert_close(value, weights[name], atol=2e-3, rtol=2e-3)
    for part in ("timbre", "decoder", "synthesizer"):
        for name, value in getattr(before, part).state_dict().items():
            assert torch.equal(value, getattr(after, part).state_dict()[name])
    card = json.loads((out / "base.json").read_text(encoding="utf-8"))
    assert card["hardened"]["near"]["steps"] == 1
    assert "unseen_disturbed" in card["scores"]["hardened"]
    assert load_foreign(out / "foreign.safetensors").content.shape[2] == CONTENT
    load_colours(out / "colour.safetensors")

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from engine.errors import TrainingError
from engine.networks.base import load_base, load_weights
from engine.networks.content_encoder import CONTENT
from engine.networks.discriminator import EnvelopeDiscriminator
from engine.networks.envelope_content import load_envelope_content
from engine.networks.envelope_decoder import PROSODY
from engine.networks.listener import LISTENER, load_listener
from engine.research.pretraining.acoustic import AcousticPlan, train_acoustic
from engine.research.pretraining.publish import publish_base
from engine.research.pretraining.vocoder import SynthesizerPlan, train_synthesizer
from engine.research.pretraining.vocoder_refinement import RefinementPlan, refine_synthesizer
from engine.training.fine_tuning import load_foreign

CPU = torch.device("cpu")


def quiet(fraction: float, message: str) -> None:
    pass


@pytest.fixture(scope="module")
def published(corpus, means, tmp_path_factory) -> Path:
    """A folder with everything of a base that was trained for a step or two."""
    out = tmp_path_factory.mktemp("out")
    train_acoustic(corpus, means, out, AcousticPlan(steps=1, batch=2, frames=40, validation_speakers=0.2), CPU, quiet)
    synthesizer = SynthesizerPlan(steps=1, batch=1, frames=24, validation_speakers=0.2)
    train_synthesizer(corpus, out, synthesizer, CPU, quiet)
    refine_synthesizer(corpus, out, replace(RefinementPlan(), steps=2, batch=1, frames=24, warm_up=1), CPU, quiet)
    publish_base(corpus, means, out)
    return out


@pytest.mark.system
def test_publish_base_writes_a_loadable_base_with_the_trained_weights(published):
    base = load_base(published / "base.safetensors")
    trained = torch.load(published / "acoustic.pt", weights_only=True)["average"]
    for part in ("content", "timbre", "decoder"):
        for name, value in getattr(base, part).state_dict().items():
            torch.testing.assert_close(value, trained[f"{part}.{name}"], atol=2e-3, rtol=2e-3)
    for name, value in load_listener().state_dict().items():
        assert torch.equal(base.listener.state_dict()[name], value)
    refined = torch.load(published / "synthesizer_refined.pt", weights_only=True)["average"]
    for name, value in base.synthesizer.state_dict().items():
        torch.testing.assert_close(value, refined[name], atol=2e-3, rtol=2e-3)


def test_publish_base_writes_a_loadable_discriminator(published):
    EnvelopeDiscriminator().load_state_dict(load_weights(published / "discriminator.safetensors"), strict=True)


def test_publish_base_writes_the_trained_envelope_content_encoder(published, monkeypatch):
    monkeypatch.setattr("engine.networks.envelope_content.WEIGHTS", published)
    trained = torch.load(published / "acoustic.pt", weights_only=True)["average"]
    for name, value in load_envelope_content(CPU).state_dict().items():
        torch.testing.assert_close(value, trained[f"envelope_content.{name}"], atol=2e-3, rtol=2e-3)


@pytest.mark.parametrize("name", ["discriminator", "envelope_content", "foreign"])
def test_publish_base_labels_training_files_with_use_licence_and_attribution(published, name):
    card = json.loads((published / f"{name}.json").read_text(encoding="utf-8"))
    assert card["use"] == "training voices only"
    assert card["licence"]
    assert card["attribution"]


def test_publish_base_writes_normalised_foreign_content(published, corpus):
    foreign = load_foreign(published / "foreign.safetensors")
    pieces, frames, content = foreign.content.shape
    assert 1 <= pieces <= len(corpus.clips)
    assert content == CONTENT
    assert foreign.prosody.shape == (pieces, frames, PROSODY)
    assert foreign.semitones.shape == (pieces,)
    torch.testing.assert_close(foreign.content.var(2, correction=0), torch.ones(pieces, frames), atol=0.02, rtol=0)


def test_publish_base_stores_foreign_content_as_encoded_by_the_base(published, corpus, means):
    """Of a piece that begins where the listener has a frame."""
    foreign, base = load_foreign(published / "foreign.safetensors"), load_base(published / "base.safetensors")
    names = json.loads((published / "foreign.json").read_text(encoding="utf-8"))["clips"]
    for content, name in zip(foreign.content, names, strict=True):
        [number] = [number for number, clip in enumerate(corpus.clips) if clip.path == name]
        mean = base.content.likeliest_mean(torch.from_numpy(means.mean[number, 0]), float(means.sounds[number]) + 1.0)
        apart = []
        for begin in range(0, corpus.clips[number].frames - len(content) + 1, 2):
            rows = slice(
                corpus.first_feature[number] + begin // 2, corpus.first_feature[number] + (begin + len(content)) // 2
            )
            features = torch.from_numpy(np.array(corpus.listener_features[0, rows]))
            with torch.inference_mode():
                apart.append(float((base.content(features[None], mean[None], len(content))[0] - content).abs().max()))
        assert min(apart) < 0.02
        assert max(apart) > 0.1


def test_publish_base_card_records_data_licence_scores_and_plan(published, corpus):
    card = json.loads((published / "base.json").read_text(encoding="utf-8"))
    minutes = sum(clip.frames for clip in corpus.clips) / 6000
    assert sum(card["data_minutes"].values()) == pytest.approx(minutes, abs=0.1)
    assert card["kept_out"] == ["pjs"]
    assert card["listener"] == LISTENER.name
    assert card["licence"]
    assert card["attribution"]
    assert "unseen_envelope" in card["scores"]["acoustic"]
    assert "unseen_spectrum" in card["scores"]["synthesizer"]
    assert AcousticPlan(**card["acoustic"]["plan"]).steps == card["acoustic"]["steps"] == 1


def test_publish_base_refuses_a_folder_without_checkpoints_of_both_parts(corpus, means, out):
    with pytest.raises(TrainingError, match="does not hold checkpoints of both parts; train them first"):
        publish_base(corpus, means, out)
    assert list(out.iterdir()) == []

"""What is rendered of a moment is the same offline, live and in an export: one step, told apart by what is known."""

import ast
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from engine.analysis.envelope import BANDS
from engine.analysis.pitch import Pitch
from engine.conversion.rendering_step import RenderingStep, share_of_own
from engine.conversion.settings import ConversionSettings
from engine.networks.base import load_base
from engine.networks.content_encoder import CONTENT

ENGINE = Path(__file__).parents[3] / "engine"
FRAMES = 60


@pytest.fixture
def step(voice) -> RenderingStep:
    base = load_base()
    return RenderingStep(base.decoder, base.synthesizer, voice, torch.ones(BANDS))


@pytest.fixture
def frames() -> tuple[torch.Tensor, torch.Tensor]:
    drawn = torch.Generator().manual_seed(0)
    return torch.randn(FRAMES, CONTENT, generator=drawn), torch.randn(FRAMES, 3, generator=drawn) * 0.3


def test_decode_of_the_last_frames_is_the_end_of_the_whole(step, voice, frames):
    with torch.inference_mode():
        whole = step.decode(*frames, voice.timbre)
        last = step.decode(*frames, voice.timbre, last=5)
    assert whole.shape == (FRAMES, BANDS)
    torch.testing.assert_close(last, whole[-5:], rtol=1e-4, atol=1e-4)


def test_decode_moves_formants_up_and_keeps_what_the_recording_articulates(step, voice, frames):
    with torch.inference_mode():
        plain = step.decode(*frames, voice.timbre)
        kept = step.decode(*frames, voice.timbre, as_recorded=lambda decoded: decoded + 0.25)
        torch.testing.assert_close(kept, plain + 0.25)
        moved = step.decode(*frames, voice.timbre, formant_semitones=4.0)
    assert not torch.allclose(moved, plain, atol=0.1)


def test_excitation_is_kept_as_far_as_it_is_audible_and_wanted(step):
    cut = torch.randn(FRAMES, 882, generator=torch.Generator().manual_seed(0)) * 0.1
    envelope = torch.full((FRAMES, BANDS), -3.0)
    pitch = Pitch(np.full(FRAMES, 200.0, np.float32), np.ones(FRAMES, np.float32))
    audible = torch.linspace(0, 1, FRAMES)
    with torch.inference_mode():
        assert step.excitation(cut, envelope, pitch, audible, ConversionSettings(texture=0.0)) is None
        found = step.excitation(cut, envelope, pitch, audible, ConversionSettings(texture=1.0))
    share = found.share.mean(1)
    assert share[0] == 0.0
    assert share[-1] == pytest.approx(1.0, abs=0.01)
    assert (share.diff() > 0).all()


def test_residual_follows_consonant_protection_where_nothing_is_voiced(step):
    cut, envelope = torch.full((FRAMES, 882), 0.01), torch.full((FRAMES, BANDS), -3.0)
    voicing, audible = torch.linspace(0, 1, FRAMES), torch.ones(FRAMES)
    with torch.inference_mode():
        half, whole = (
            step.residual(cut, envelope, voicing, audible, ConversionSettings(consonant_protection=share)).share
            for share in (0.5, 1.0)
        )
    torch.testing.assert_close(2 * half, whole)
    assert whole[0].mean() > 0.95 > 0.05 > whole[-1].mean()


def test_rendering_is_composed_in_one_module_alone():
    """Nobody else articulates, keeps consonants, or takes a recording's excitation."""
    parts = {"articulate", "protect_consonants", "kept_texture", "warp_bands"}
    allowed = {"conversion/articulation.py", "conversion/rendering_step.py", "networks/perturbation.py"}
    # the export draws the step as a network, and trainings teach what comes before it
    allowed |= {"conversion/onnx_export.py", "features/augmentations.py"}
    found = set()
    for path in ENGINE.rglob("*.py"):
        name = str(path.relative_to(ENGINE))
        calls = [one.func for one in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(one, ast.Call)]
        if not name.startswith(("research/", "training/")) and name not in allowed:
            found |= {(name, one.id) for one in calls if isinstance(one, ast.Name) and one.id in parts}
    assert not found


def at_cosine(timbre: torch.Tensor, cosine: float) -> torch.Tensor:
    """A timbre of another length that has this cosine with a timbre."""
    across = torch.randn(len(timbre), generator=torch.Generator().manual_seed(0))
    across -= (across @ timbre) / (timbre @ timbre) * timbre
    return 3.0 * (cosine * timbre / timbre.norm() + (1.0 - cosine**2) ** 0.5 * across / across.norm())


@pytest.mark.parametrize(("cosine", "share"), [(-1.0, 0.0), (0.86, 0.0), (0.895, 0.5), (0.93, 1.0), (1.0, 1.0)])
def test_share_of_own_rises_with_the_cosine_of_the_timbres(voice, cosine, share):
    assert share_of_own(voice, at_cosine(voice.timbre, cosine)) == pytest.approx(share, abs=1e-3)
    assert share_of_own(replace(voice, is_scored=True), at_cosine(voice.timbre, cosine)) == 0.0

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from engine.audio import Audio
from engine.base import WEIGHTS, load_base, load_weights
from engine.conversion import convert
from engine.conversion_settings import ConversionSettings
from engine.envelope import BANDS, LOW_BANDS, SILENT
from engine.errors import Cancelled, TrainingError
from engine.frames import SAMPLE_RATE, frame_count, hertz_to_semitones
from engine.losses import EnvelopeDiscriminator
from engine.timbre import TIMBRE
from engine.training import (
    Clip,
    TrainedVoice,
    TrainingPlan,
    active_mean,
    analyse_clip,
    clip_timbre,
    make_batch,
    train_voice,
)
from engine.voice import SPREAD, Voice, load_voice, save_voice

PLAN = TrainingPlan(steps=30, batch=2, foreign=2, warm_up=2)


@pytest.fixture(scope="module")
def clips(sing) -> list[Clip]:
    """Sixteen seconds of one voice in two recordings."""
    return [analyse_clip(Audio(sing(8.0, hertz=hertz, seed=int(hertz))[None], SAMPLE_RATE)) for hertz in (150.0, 170.0)]


@pytest.fixture(scope="module")
def told() -> list[tuple[float, str]]:
    return []


@pytest.fixture(scope="module")
def trained(clips, told) -> TrainedVoice:
    return train_voice(clips, PLAN, lambda fraction, message: told.append((fraction, message)))


def test_a_clip_is_analysed_on_the_grid_relative_to_its_level(sing):
    stereo = Audio(np.stack([sing(2.0, rate=48_000)] * 2), 48_000)
    clip = analyse_clip(stereo)
    frames = frame_count(2 * SAMPLE_RATE)
    assert clip.envelope.shape == (frames, BANDS)
    assert clip.envelope.dtype == np.float32
    assert clip.envelope.min() >= SILENT
    assert len(clip.pitch) == frames
    quiet = analyse_clip(Audio(stereo.samples * 0.1, 48_000))
    assert clip.level.nepers - quiet.level.nepers == pytest.approx(np.log(10), abs=0.02)
    assert np.abs(quiet.envelope - clip.envelope).mean() < 0.05
    assert LOW_BANDS <= clip.bands <= BANDS


def test_training_lowers_the_loss(trained):
    assert [line["step"] for line in trained.history] == [10, 20, 30]
    differences = [line["envelope"] for line in trained.history]
    assert differences[-1] < differences[0]


def test_progress_is_told(trained, told):
    assert [round(fraction, 3) for fraction, _ in told] == [0.333, 0.667, 1.0]
    assert all("difference" in message for _, message in told)


def test_what_training_gives_is_a_voice_to_convert_with(trained, voice, tmp_path, sing):
    assert trained.timbre.shape == (TIMBRE,)
    assert trained.spread.shape == (SPREAD, TIMBRE)
    assert trained.centre.shape == trained.contrast.shape == (BANDS,)
    assert (trained.contrast >= 1).all()
    assert not trained.decoder.training
    # notes up to six semitones above 150 and 170 Hz
    lowest, highest = hertz_to_semitones(150.0), hertz_to_semitones(170.0) + 6
    assert lowest - 1 < trained.pitch.low < trained.pitch.median < trained.pitch.high < highest + 1
    card = replace(voice.card, id="made", pitch=trained.pitch)
    vectors = (trained.timbre, trained.spread, trained.centre, trained.contrast)
    save_voice(Voice(card, *vectors, trained.decoder), tmp_path / "made")
    loaded = load_voice("made", tmp_path)
    output = convert(Audio(sing(0.5)[None], SAMPLE_RATE), loaded, ConversionSettings(takes=2)).takes[1].audio
    assert output.sample_count == SAMPLE_RATE // 2
    assert np.isfinite(output.samples).all()


def test_the_base_is_left_as_it_was(clips):
    before = {name: value.clone() for name, value in load_base().state_dict().items()}
    train_voice(clips, replace(PLAN, steps=2))
    for name, value in load_base().state_dict().items():
        torch.testing.assert_close(value, before[name], atol=0, rtol=0)


def test_the_same_seed_trains_the_same_voice(clips):
    once, again = (train_voice(clips, replace(PLAN, steps=3, seed=5)) for _ in range(2))
    other = train_voice(clips, replace(PLAN, steps=3, seed=6))
    torch.testing.assert_close(once.timbre, again.timbre, atol=0, rtol=0)
    for name, value in once.decoder.state_dict().items():
        torch.testing.assert_close(value, again.decoder.state_dict()[name], atol=0, rtol=0)
    assert (once.timbre != other.timbre).any()


@pytest.mark.parametrize("count", [0, 1])
def test_too_little_voice_is_refused_with_its_seconds(clips, count):
    short = [Clip(c.envelope[:400], c.pitch[:400], c.level, c.bands) for c in clips[:count]]
    with pytest.raises(TrainingError, match=r"only \d\.\d seconds of voice; at least 10 are needed"):
        train_voice(short, PLAN)


def test_silence_is_no_voice():
    silent = analyse_clip(Audio(np.zeros((1, 20 * SAMPLE_RATE), np.float32), SAMPLE_RATE))
    with pytest.raises(TrainingError, match=r"only 0\.0 seconds of voice"):
        train_voice([silent], PLAN)


def test_a_stop_is_passed_on(clips):
    def stop(fraction: float, message: str) -> None:
        raise Cancelled

    with pytest.raises(Cancelled):
        train_voice(clips, PLAN, stop)


def test_batches_are_given_by_seed_and_step(clips):
    one, same, other = (make_batch(clips, 90, PLAN, step) for step in (3, 3, 4))
    envelope, heard, prosody, bands = one
    assert envelope.shape == (2, PLAN.frames, BANDS)
    assert heard.shape == (2, PLAN.frames, LOW_BANDS)
    assert prosody.shape == (2, PLAN.frames, 3)
    assert bands.tolist() == [90, 90]
    for value, again in zip(one, same, strict=True):
        torch.testing.assert_close(value, again, atol=0, rtol=0)
    assert (heard != other[1]).any()


def test_a_clip_shorter_than_a_crop_goes_round(clips):
    short = [Clip(c.envelope[:20], c.pitch[:20], c.level, c.bands) for c in clips]
    envelope, *_ = make_batch(short, 90, PLAN, 0)
    torch.testing.assert_close(envelope[:, :20], envelope[:, 20:40])


def test_clips_of_one_voice_have_near_timbres(clips, sing):
    base = load_base()
    brighter = analyse_clip(Audio(np.diff(sing(4.0), prepend=0.0)[None], SAMPLE_RATE))
    one, two, other = (clip_timbre(base, clip) for clip in (*clips, brighter))
    assert (one - two).norm() < (one - other).norm()


def test_the_active_mean_passes_over_silence():
    envelope = torch.full((2, 10, BANDS), -20.0)
    envelope[:, :4] = torch.linspace(0, -2, BANDS)
    torch.testing.assert_close(active_mean(envelope), envelope[:, 0], atol=0.02, rtol=0)


def test_the_installed_critic_fits():
    EnvelopeDiscriminator().load_state_dict(load_weights(Path(WEIGHTS) / "critic.safetensors"), strict=True)

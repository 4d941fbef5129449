import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from engine.analysis.envelope import BANDS, Level
from engine.analysis.pitch import Pitch
from engine.features.clips import Clip
from engine.networks.content_encoder import CONTENT
from engine.training.holdout import hold_out


def clip(seconds: float, name: str = "", voiced: bool = True) -> Clip:
    frames = round(seconds * 100)
    pitch = Pitch(np.full(frames, 200.0, np.float32), np.full(frames, float(voiced), np.float32))
    envelope, content = np.zeros((frames, BANDS), np.float16), np.zeros((1, frames, CONTENT), np.float16)
    return Clip(envelope, pitch, np.zeros(frames, np.float32), Level(0.0), BANDS, content, name)


def test_hold_out_takes_whole_recordings_out_of_many():
    clips = [clip(6.0, str(i)) for i in range(30)]
    learned, held_out = hold_out(clips, seed=0)
    assert {c.name for c in learned} | {c.name for c in held_out} == {str(i) for i in range(30)}
    assert not {c.name for c in learned} & {c.name for c in held_out}
    assert all(c.duration_s == 6.0 for c in held_out)
    assert sum(c.duration_s for c in held_out) == 18.0


def test_hold_out_is_deterministic_with_a_seed():
    clips = [clip(6.0, str(i)) for i in range(30)]
    once, again, other = ([c.name for c in hold_out(clips, seed)[1]] for seed in (1, 1, 2))
    assert once == again != other


def test_hold_out_takes_the_end_of_the_longest_of_few_recordings():
    learned, [held_out] = hold_out([clip(10.0, "short"), clip(50.0, "long")], seed=0)
    assert held_out.name == "long"
    assert held_out.duration_s == pytest.approx(6.0)
    assert held_out.first_frame == 4400
    assert [c.name for c in learned] == ["short", "long"]
    assert learned[1].duration_s == pytest.approx(43.0)  # a second between them belongs to neither


def test_hold_out_skips_unvoiced_recordings():
    clips = [clip(6.0, str(i), voiced=i % 2 == 0) for i in range(30)]
    assert all(int(c.name) % 2 == 0 for c in hold_out(clips, seed=3)[1])


def test_hold_out_keeps_most_of_a_dominant_recording_for_training():
    clips = [clip(2.5, str(i)) for i in range(6)] + [clip(300.0, "most")]
    learned, held_out = hold_out(clips, seed=0)
    assert sum(c.duration_s for c in learned) > 280
    assert 0 < sum(c.duration_s for c in held_out) <= 30


def test_hold_out_leaves_the_rest_of_a_long_recording_for_training():
    learned, held_out = hold_out([clip(18.0, str(i)) for i in range(30)], seed=0)
    assert {c.duration_s for c in held_out} == {12.0}
    rests = [c for c in learned if c.name in {h.name for h in held_out}]
    assert [(c.first_frame, c.duration_s) for c in rests] == [(1300, 5.0)] * len(held_out)


@example([1, 37, 48, 47, 48, 60], 0)
@example([55, 55, 45, 10, 55, 55], 0)
@given(st.lists(st.floats(0.5, 60.0), min_size=1, max_size=40).filter(lambda s: sum(s) >= 12), st.integers(0, 9))
def test_hold_out_leaves_enough_for_training_and_evaluation(seconds, seed):
    clips = [clip(s, str(i)) for i, s in enumerate(seconds)]
    learned, held_out = hold_out(clips, seed)
    total = sum(c.duration_s for c in clips)
    held = sum(c.duration_s for c in held_out)
    assert 0 < held <= 48
    assert held <= max(0.5 * total, 4.0)
    assert sum(c.duration_s for c in learned) >= 0.6 * total

import numpy as np
import pytest
import torch

from engine.audio.files import Audio
from engine.carrying import on_device
from engine.features.clips import Clip, analyse_clip
from engine.features.retrieval import FrameSearch, gather_retrieval_frames
from engine.training.pieces import PackedClips
from engine.training.step_draws import Choices, around
from engine.units import SAMPLE_RATE
from tests.engine.pretended_gpu import crossings, pretended_gpu

CPU = torch.device("cpu")
PIECES = [(0, 0), (1, 100), (1, 300), (0, 200)]


@pytest.fixture(scope="module")
def clips(sing) -> list[Clip]:
    return [analyse_clip(Audio(sing(6.0, hertz=hertz, seed=int(hertz))[None], SAMPLE_RATE)) for hertz in (150.0, 170.0)]


@pytest.fixture(scope="module")
def choices(clips) -> Choices:
    own = gather_retrieval_frames(clips, CPU)
    return Choices(3, clips, PackedClips(clips, CPU), own, FrameSearch(own.content), 20)


def test_draws_depend_on_seed_and_number_alone(choices):
    one, again, other = (choices.draw(number, PIECES, 6) for number in (5, 5, 6))
    assert all(map(torch.equal, vars(one).values(), vars(again).values()))
    assert not torch.equal(one.foreign, other.foreign)
    np.random.default_rng().random()
    assert torch.equal(choices.draw(5, PIECES, 6).strengths, one.strengths)


def test_draws_retrieve_about_half_of_the_pieces_without_their_surroundings(choices):
    counts, largest = [], 0.0
    for number in range(100):
        drawn = choices.draw(number, PIECES, 6)
        counts.append(len(drawn.strengths))
        for place, first, stop in drawn.retrieved.T.tolist():
            assert (first, stop) == choices.search.compared(around(choices.own, *PIECES[place], 160))
        largest = max([largest, *drawn.strengths.tolist()])
        assert (drawn.strengths > 0).all()
    assert np.mean(counts) == pytest.approx(2.0, abs=0.4)
    assert 0.9 < largest <= 1.0


def test_draws_take_no_foreign_piece_twice_and_at_most_all(choices):
    assert sorted(choices.draw(0, PIECES, 500).foreign.tolist()) == list(range(20))
    assert len(set(choices.draw(0, PIECES, 6).foreign.tolist())) == 6


def test_on_device_copies_many_steps_at_once_and_changes_nothing(choices):
    drawn = [choices.draw(number, PIECES[: number % 4 + 1], 6) for number in range(12)]
    with pretended_gpu() as gpu:
        with crossings() as crossed:
            there = on_device(drawn, gpu)
        assert len(crossed) == 1
        for one, other in zip(drawn, there, strict=True):
            for name, value in vars(one).items():
                assert getattr(other, name).device == gpu
                assert torch.equal(getattr(other, name).cpu(), value)

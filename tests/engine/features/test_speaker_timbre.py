import pytest
import torch

from engine.audio.files import Audio
from engine.features.clips import analyse_clip
from engine.features.speaker_timbre import SPREAD, mean_timbre, speaker_timbre, speaker_timbres, timbre_spread
from engine.networks.base import load_base
from engine.networks.timbre_encoder import TIMBRE
from engine.units import SAMPLE_RATE


@pytest.mark.system
def test_speaker_timbres_splits_long_recordings_into_pieces(sing):
    clip = analyse_clip(Audio(sing(24.0)[None], SAMPLE_RATE), augmentations=0)
    timbres, frames = speaker_timbres(load_base(), [clip, clip.piece(0, 300)])
    assert timbres.shape == (4, TIMBRE)
    assert frames.tolist() == [1000.0, 1000.0, 401.0, 300.0]
    torch.testing.assert_close(speaker_timbre(load_base(), clip.piece(0, 1000)), timbres[0])


def test_mean_timbre_weights_by_length():
    mean = mean_timbre(torch.tensor([[1.0, 0.0], [4.0, 3.0]]), torch.tensor([200.0, 100.0]))
    torch.testing.assert_close(mean, torch.tensor([2.0, 1.0]))


def test_timbre_spread_is_the_standard_deviation_along_its_directions():
    random = torch.Generator().manual_seed(0)
    timbres = torch.zeros(400, TIMBRE)
    timbres[:, 3] = torch.randn(400, generator=random) * 2.0
    timbres[:, 7] = torch.randn(400, generator=random) * 0.5
    spread = timbre_spread(timbres + 5.0, torch.ones(400))
    assert spread.shape == (SPREAD, TIMBRE)
    assert abs(spread[0].norm() - 2.0) < 0.2
    assert abs(spread[0, 3].abs() - 2.0) < 0.2
    assert abs(spread[1, 7].abs() - 0.5) < 0.1
    assert spread[2:].abs().max() < 1e-3


def test_timbre_spread_of_one_piece_is_zero():
    assert timbre_spread(torch.randn(1, TIMBRE), torch.ones(1)).abs().max() == 0

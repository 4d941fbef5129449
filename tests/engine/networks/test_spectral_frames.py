import numpy as np
import torch
from scipy.signal import freqz

from engine.networks.spectral_frames import cut_frames, frame_spectra, join_pieces, minimum_phase, pieces_of
from engine.units import HOP


def test_frames_cut_and_added_again_are_the_samples():
    samples = np.random.default_rng(0).standard_normal(40 * HOP).astype(np.float32)
    joined = join_pieces([pieces_of(frame_spectra(cut_frames(samples, 41)))[None]], 41)[0].numpy()
    np.testing.assert_allclose(joined, samples, atol=1e-5)


def test_minimum_phase_matches_a_one_pole_filter():
    transform = 1536
    _, response = freqz([1.0], [1.0, -0.8], worN=transform // 2 + 1, include_nyquist=True)
    phase = minimum_phase(torch.from_numpy(np.log(np.abs(response))).float())
    np.testing.assert_allclose(phase.numpy(), np.angle(response), atol=1e-3)


def test_minimum_phase_is_zero_for_a_flat_gain():
    torch.testing.assert_close(minimum_phase(torch.full((2, 769), 1.3)), torch.zeros(2, 769), atol=1e-5, rtol=0)

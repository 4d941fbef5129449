import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.analysis.windows import CONTEXT_FRAMES, GRID_FRAMES, Window, cut_windows
from engine.conversion.articulation import COLOUR_FRAMES
from engine.conversion.renderer import STEADY_FRAMES
from engine.features.sustained_notes import REACH_FRAMES
from engine.networks import content_encoder
from engine.networks.envelope_decoder import EnvelopeDecoder
from engine.networks.layers import receptive_frames
from engine.networks.synthesizer import Synthesizer
from engine.units import FRAME_RATE, HOP, SAMPLE_RATE, frame_count

LONGEST_S, SHORTEST_S = 2.0, 1.0
CONTEXT = 168


def test_context_frames_cover_the_receptive_field_of_the_networks():
    """Into the content, from that into what the decoder could not say, its mean colour, and the synthesizer. The
    listener hears all of a window; of what is around it, as much as is left and 0.4 s at least."""
    content = receptive_frames(content_encoder._DILATIONS, 1) + 1  # between two of the listener's frames lies a mean
    networks = content + EnvelopeDecoder.receptive_frames + Synthesizer.receptive_frames
    assert networks + COLOUR_FRAMES + 2 * FRAME_RATE // 5 <= CONTEXT_FRAMES
    assert CONTEXT_FRAMES % GRID_FRAMES == 0
    # the colour is that of consonants, and what is held is voiced
    assert networks + REACH_FRAMES + STEADY_FRAMES <= CONTEXT_FRAMES


def blocks_of(samples: np.ndarray, sizes: list[int]) -> list[np.ndarray]:
    blocks, start = [], 0
    for size in itertools.cycle(sizes):
        if start >= samples.shape[1]:
            return blocks
        blocks.append(samples[:, start : start + size])
        start += size
    return blocks


def cut(samples: np.ndarray, sizes: list[int]) -> list[Window]:
    return list(cut_windows(blocks_of(samples, sizes), LONGEST_S, SHORTEST_S))


def noise(count: int, channels: int = 1, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((channels, count)).astype(np.float32)


def core_of(window: Window) -> np.ndarray:
    start = (window.core_start - window.first_frame) * HOP
    stop = None if window.last else (window.core_stop - window.first_frame) * HOP
    return window.samples[:, start:stop]


@given(
    st.integers(1, 9 * SAMPLE_RATE),
    st.lists(st.integers(1000, 5 * SAMPLE_RATE), min_size=1, max_size=4),
    st.integers(1, 2),
)
@settings(max_examples=40)
def test_cut_windows_tiles_the_recording_exactly_with_cores(count, sizes, channels):
    samples = noise(count, channels)
    windows = cut(samples, sizes)
    np.testing.assert_array_equal(np.concatenate([core_of(window) for window in windows], 1), samples)
    assert [window.last for window in windows] == [False] * (len(windows) - 1) + [True]
    assert windows[0].core_start == windows[0].first_frame == 0
    assert windows[-1].core_stop == frame_count(count)
    for before, after in itertools.pairwise(windows):
        assert after.core_start == before.core_stop


@given(st.integers(4 * SAMPLE_RATE, 9 * SAMPLE_RATE), st.integers(0, 100))
@settings(max_examples=15)
def test_cut_windows_surrounds_every_core_with_context(count, seed):
    samples = noise(count, seed=seed)
    for window in cut(samples, [SAMPLE_RATE // 3]):
        start = window.first_frame * HOP
        np.testing.assert_array_equal(window.samples, samples[:, start : start + window.samples.shape[1]])
        assert window.frames == frame_count(window.samples.shape[1])
        assert window.first_frame % 8 == 0
        assert window.first_frame == 0 or window.core_start - window.first_frame >= CONTEXT
        if not window.last:
            assert SHORTEST_S * 100 <= window.core_stop - window.core_start <= LONGEST_S * 100
            assert window.samples.shape[1] == (window.core_stop - window.first_frame + CONTEXT) * HOP


@given(st.integers(1, 9 * SAMPLE_RATE), st.integers(0, 100))
@settings(max_examples=25)
def test_core_features_select_every_second_frame_of_the_recording(count, seed):
    found = []
    for window in cut(noise(count, seed=seed), [SAMPLE_RATE]):
        assert window.first_frame % 2 == 0
        kept = range(window.first_frame, window.first_frame + window.frames, 2)[window.core_features]
        assert all(window.core_start <= frame < window.core_stop for frame in kept)
        found += kept
    assert found == list(range(0, frame_count(count), 2))


@given(st.lists(st.integers(500, 5 * SAMPLE_RATE), min_size=1, max_size=4))
@settings(max_examples=15)
def test_cut_windows_cuts_alike_for_any_block_sizes(sizes):
    samples = noise(7 * SAMPLE_RATE)
    cuts = [window.core_stop for window in cut(samples, sizes)]
    assert cuts == [window.core_stop for window in cut(samples, [7 * SAMPLE_RATE])]


@pytest.mark.parametrize("quiet_channel", [0, 1])
def test_cut_windows_cuts_where_every_channel_is_quiet(quiet_channel):
    samples = noise(5 * SAMPLE_RATE, channels=2)
    samples[:, int(1.70 * SAMPLE_RATE) : int(1.85 * SAMPLE_RATE)] *= 0.001
    samples[quiet_channel, int(1.2 * SAMPLE_RATE) : int(1.4 * SAMPLE_RATE)] = 0.0  # only one is quiet here
    assert 172 <= cut(samples, [SAMPLE_RATE])[0].core_stop <= 183


def test_cut_windows_returns_nothing_for_an_empty_stream():
    assert list(cut_windows([])) == []
    assert list(cut_windows([np.zeros((2, 0), np.float32)])) == []


def test_cut_windows_covers_all_of_a_silent_recording():
    windows = cut(np.zeros((1, 10 * SAMPLE_RATE), np.float32), [SAMPLE_RATE])
    assert sum(core_of(window).shape[1] for window in windows) == 10 * SAMPLE_RATE


def test_cut_windows_buffers_no_more_than_one_window_needs():
    taken = 0

    def stream():
        nonlocal taken
        for _ in range(120):
            taken += SAMPLE_RATE
            yield np.zeros((1, SAMPLE_RATE), np.float32)

    for window in cut_windows(stream(), LONGEST_S, SHORTEST_S):
        assert taken - window.core_start * HOP <= (LONGEST_S + CONTEXT / 100 + 1) * SAMPLE_RATE + HOP


def test_in_silence_pads_only_what_begins_or_ends_in_the_middle_of_a_sound():
    sound = np.random.default_rng(0).uniform(-0.5, 0.5, (2, 20_000)).astype(np.float32)
    rest = np.zeros((2, 8_820), np.float32)

    def padded(*pieces: np.ndarray, first: int = 0, last: bool = True) -> tuple[int, int]:
        samples = np.concatenate(pieces, 1)
        window = Window(samples, first, first, first + frame_count(samples.shape[1]), last)
        inside = window.in_silence()
        np.testing.assert_array_equal(inside.samples[:, inside.given], samples)
        assert (inside.core.start, inside.first_frame) == (inside.silence[0], first - inside.silence[0])
        assert inside.core.stop - inside.core.start == window.core.stop - window.core.start
        assert not any(frames % GRID_FRAMES for frames in inside.silence)
        return inside.silence

    before, after = padded(sound)
    assert before >= 30
    assert after >= 30
    assert padded(rest, sound) == (0, after)
    assert padded(sound, rest) == (before, 0)
    assert padded(1e-3 * sound[:, :8_820], sound, rest) == (0, 0)  # the room
    assert padded(sound, first=800, last=False) == (0, 0)
    assert padded(rest) == (0, 0)
    assert padded(sound[:, :3]) == (before, after)

import numpy as np
import pytest

from engine.audio.files import Audio, read_audio, write_audio
from engine.datasets import duplicates
from engine.datasets.duplicates import Words, near_duplicates, words_of
from engine.features.clips import analyse_clip
from engine.units import SAMPLE_RATE

FRAMES = 400


def words_at_random(seed: int, frames: int = FRAMES) -> Words:
    values = np.random.default_rng(seed).integers(0, 2**32, frames, dtype=np.uint64)
    return values.astype(np.uint32), np.ones(frames, bool)


def with_wrong_bits(words: Words, share: float, seed: int = 9) -> Words:
    wrong = np.random.default_rng(seed).random((len(words[0]), 32)) < share
    flips = (wrong @ (np.uint64(1) << np.arange(32, dtype=np.uint64))).astype(np.uint32)
    return words[0] ^ flips, words[1]


def cut(words: Words, start: int, stop: int) -> Words:
    return words[0][start:stop], words[1][start:stop]


def heard(samples: np.ndarray) -> Words:
    return words_of(analyse_clip(Audio(samples[None].astype(np.float32), SAMPLE_RATE), augmentations=0))


FIVE = [words_at_random(seed) for seed in range(5)]
FIRST, LONG = FIVE[0], words_at_random(0, 700)
SILENT = np.zeros(FRAMES, np.uint32), np.zeros(FRAMES, bool)


def with_part_of(words: Words, other: Words, places: slice, others: slice) -> Words:
    changed = words[0].copy()
    changed[places] = other[0][others]
    return changed, words[1]


KNOWN = {
    "nothing": ([], {}),
    "others": (FIVE, {}),
    "a copy": ([*FIVE, with_wrong_bits(FIVE[2], 0.08)], {5: 2}),
    "copies of copies": ([FIRST, FIRST, with_wrong_bits(FIRST, 0.05), cut(FIRST, 0, 300)], {1: 0, 2: 0, 3: 0}),
    "a short passage in both": ([FIRST, with_part_of(FIVE[1], FIRST, slice(50, 150), slice(20, 120))], {}),
    "a small overlap": ([cut(LONG, 0, 400), cut(LONG, 300, 700)], {}),
    "a large overlap": ([cut(LONG, 0, 400), cut(LONG, 100, 500)], {1: 0}),
    "too many other bits in a pair that is looked at": (
        [FIRST, with_part_of(with_wrong_bits(FIRST, 0.4), FIRST, slice(None, None, 40), slice(None, None, 40))],
        {},
    ),
    "silence": ([SILENT, SILENT], {}),
}


@pytest.mark.parametrize(("recordings", "originals"), KNOWN.values(), ids=KNOWN)
def test_near_duplicates_maps_copies_to_their_originals(recordings, originals):
    assert near_duplicates(recordings) == originals


@pytest.mark.parametrize(("start", "stop"), [(0, 250), (150, FRAMES), (30, 390)])
def test_near_duplicates_finds_a_part_in_either_order(start, stop):
    whole = words_at_random(0)
    assert near_duplicates([whole, cut(whole, start, stop)]) == {1: 0}
    assert near_duplicates([cut(whole, start, stop), whole]) == {1: 0}


def test_near_duplicates_compares_few_of_the_pairs_of_two_thousand_recordings(monkeypatch):
    recordings = [words_at_random(seed, 600) for seed in range(2000)]
    recordings[1999] = with_wrong_bits(recordings[7], 0.1)
    compared, compare = [], duplicates._is_copy
    monkeypatch.setattr(duplicates, "_is_copy", lambda *given: compared.append(given) or compare(*given))
    assert near_duplicates(recordings) == {1999: 7}
    assert len(compared) < 100


@pytest.fixture(scope="module")
def recordings(sing) -> list[np.ndarray]:
    """Other words to each tune: noise that changes its colour every tenth of a second."""
    random = np.random.default_rng(0)
    found = []
    for number in range(3):
        sung = sing(5.0, hertz=150.0 + 40 * number)
        parts = [np.convolve(part, random.standard_normal(12), "same") for part in np.array_split(sung, 50)]
        found.append(0.1 * np.concatenate(parts))
    return found


@pytest.mark.parametrize(
    "change",
    [lambda x: 0.1 * x, lambda x: x[11_111:-8000], lambda x: np.pad(x, (30_000, 0)), lambda x: x[90_000:]],
    ids=["softer", "trimmed", "later", "second half"],
)
def test_near_duplicates_finds_a_softer_trimmed_delayed_or_halved_copy(recordings, change):
    words = [heard(samples) for samples in recordings]
    assert near_duplicates([*words, heard(change(recordings[1]))]) == {3: 1}


@pytest.mark.parametrize("suffix", [".mp3", ".ogg"])
def test_near_duplicates_finds_a_copy_in_another_format(recordings, tmp_path, suffix):
    write_audio(tmp_path / f"copy{suffix}", Audio(recordings[0][None].astype(np.float32), SAMPLE_RATE))
    copy = read_audio(tmp_path / f"copy{suffix}")
    words = [heard(samples) for samples in recordings]
    assert near_duplicates([*words, words_of(analyse_clip(copy, augmentations=0))]) == {3: 0}


def test_words_of_returns_words_for_the_shortest_recordings():
    for count in (1, 441, 4000):
        words, audible = heard(np.full(count, 0.01))
        assert len(words) == len(audible) == count // 441 + 1

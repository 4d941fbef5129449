import numpy as np
import pytest

from engine.features.speaker_directions import SpeakerTrack
from engine.features.speakers import LEAST_VOICED_S, find_speakers, split_speakers


def track(people: list[int], seed: int = 0, spread: float = 0.6, voiced_s: float = 0.4) -> SpeakerTrack:
    """Moments half a second apart, each of a person; two people are at right angles."""
    found = np.eye(16)[people] + spread * np.random.default_rng(seed).standard_normal((len(people), 16)) / 4
    found /= np.linalg.norm(found, axis=1, keepdims=True)
    middles_s = 1.0 + 0.5 * np.arange(len(people))
    return SpeakerTrack(found, np.full(len(people), voiced_s), middles_s, 1.5 + 0.5 * len(people))


def heard(tracks: list[SpeakerTrack]) -> list[list[int]]:
    return [[turn.speaker for turn in turns] for turns in find_speakers(tracks)]


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("spread", [0.2, 0.6, 1.0])
@pytest.mark.parametrize("recordings", [1, 2, 12])
def test_find_speakers_finds_one_person_in_recordings_of_one(recordings, spread, seed):
    assert heard([track([0] * 12, 100 * seed + one, spread) for one in range(recordings)]) == [[0]] * recordings


@pytest.mark.parametrize("whose", [[0, 1], [0, 0, 1, 1], [0, 1, 2, 3], [0, 0, 0, 0, 0, 1], [1, 0, 0]])
def test_find_speakers_tells_people_apart_however_they_are_divided(whose):
    found = [one for (one,) in heard([track([person] * 12, number) for number, person in enumerate(whose)])]
    pairs = {(person, speaker) for person, speaker in zip(whose, found, strict=True)}
    assert len(pairs) == len(set(whose)) == len(set(found))


def test_find_speakers_numbers_the_one_heard_most_first():
    assert heard([track([3] * 10), track([5] * 30, 1), track([3] * 10, 2)]) == [[1], [0], [1]]


def test_find_speakers_finds_turns_within_a_recording_and_when_they_change():
    (turns,) = find_speakers([track([0] * 14 + [1] * 8 + [0] * 14)])
    assert [turn.speaker for turn in turns] == [0, 1, 0]
    assert turns[0].start_s == 0.0
    assert turns[1].start_s == pytest.approx(7.75)
    assert turns[1].stop_s == pytest.approx(11.75)
    assert turns[2].stop_s == pytest.approx(19.5)


def test_find_speakers_makes_no_person_of_a_laugh():
    few = int(LEAST_VOICED_S / 0.4) - 1
    assert heard([track([0] * 20 + [1] * few + [0] * 20)]) == [[0]]


def test_find_speakers_says_nothing_of_recordings_without_voice():
    nothing = SpeakerTrack(np.zeros((0, 16)), np.zeros(0), np.zeros(0), 3.0)
    assert find_speakers([nothing, track([0] * 8), nothing]) == [(), find_speakers([track([0] * 8)])[0], ()]
    assert find_speakers([]) == []


def test_split_speakers_needs_more_voice_the_more_alike_two_people_are():
    other = np.array([0.5, np.sqrt(0.75)])
    for seconds, apart in ((1.6, False), (20.0, True)):
        directions = np.array([[1.0, 0.0], other])
        assert (split_speakers(directions, np.full(2, seconds), in_order=False).max() == 1) == apart


def test_split_speakers_handles_more_moments_than_are_clustered():
    found = track([0] * 1500 + [1] * 1500)
    labels = split_speakers(found.directions, found.voiced_s, in_order=True)
    assert set(labels[:1499]) == {labels[0]}
    assert set(labels[1501:]) == {1 - labels[0]}

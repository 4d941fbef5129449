import numpy as np
import pytest

from engine.research.benchmark.judges import Embeddings
from engine.research.benchmark.linkability import Linked, equal_error_rates, linkability_line, reader_of

READERS, CLIPS = 4, 3


def heard(first, second):
    return Embeddings(*(one / np.linalg.norm(one) for one in (first, second)))


@pytest.fixture
def sources():
    """Recordings of four readers: alike to the first judge where they are of one, and to the second all alike."""
    drawn = np.random.default_rng(0)
    return {
        f"{reader}-0-{clip}.flac": heard(np.eye(READERS)[reader] + 0.1 * drawn.random(READERS), np.ones(READERS))
        for reader in range(READERS)
        for clip in range(CLIPS)
    }


@pytest.mark.parametrize(
    ("name", "reader"), [("1688-142285-0001.flac", "1688"), ("speech-male.flac", None), ("p225_003.flac", None)]
)
def test_reader_of_knows_names_of_librispeech_alone(name, reader):
    assert reader_of(name) == reader


def test_equal_error_rates_is_0_where_all_are_linked_and_a_half_where_none_is(sources):
    made = [Linked(name, voice, one) for name, one in sources.items() for voice in ("mia", "tim")]
    assert equal_error_rates(made, sources) == (0.0, 0.5)


def test_equal_error_rates_does_not_compare_a_conversion_with_its_own_source(sources):
    """Each conversion equals its source and nothing else, so its reader's other recordings tell nothing."""
    apart = {name: heard(np.eye(12)[place], np.eye(12)[place]) for place, name in enumerate(sources)}
    made = [Linked(name, "mia", one) for name, one in apart.items()]
    assert equal_error_rates(made, apart) == (0.5, 0.5)


def test_equal_error_rates_is_of_each_voice_by_itself(sources):
    """A voice that makes all more alike must not hide how well its readers are told apart."""
    nearer = {
        name: heard(one.first + 3 * np.ones(READERS), one.second) for name, one in sources.items()
    }  # by a voice that is like all of them
    made = [Linked(name, "mia", one) for name, one in sources.items()]
    made += [Linked(name, "tim", one) for name, one in nearer.items()]
    assert equal_error_rates(made, sources)[0] == 0.0


def test_linkability_line_names_readers_and_kinds_and_is_empty_without_several_recordings_of_one(sources):
    made = [Linked(name, "mia", one) for name, one in sources.items()]
    said = linkability_line({"unconverted": made, "out": made}, sources)
    assert said.startswith("Linked to one of 4 readers")
    assert said.endswith("unconverted 0.000, 0.500; out 0.000, 0.500")
    single = {name: one for name, one in sources.items() if name.endswith("-0.flac")}
    assert linkability_line({"out": [one for one in made if one.source in single]}, single) == ""
    other = {f"song{number}.wav": one for number, one in enumerate(sources.values())}
    assert linkability_line({"out": [Linked(name, "mia", one) for name, one in other.items()]}, other) == ""

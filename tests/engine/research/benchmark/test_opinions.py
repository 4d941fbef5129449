import pytest

from engine.errors import EngineError
from engine.research.benchmark.opinions import (
    Opinion,
    Output,
    by_transposition,
    mean,
    outputs_in,
    row,
    share_of_the_way,
)
from engine.research.benchmark.quality import TRANSPOSITIONS

ALIKE = Opinion(0.9, 0.3, 0.8, 0.2, -0.1, -0.2, -0.3)
STRANGE = Opinion(0.5, 1.0, 0.2, 1.0, 0.0, 0.0, 0.0)


def test_share_of_the_way_runs_from_a_stranger_to_the_control():
    assert share_of_the_way(0.5, 0.5, 0.9) == 0.0
    assert share_of_the_way(0.9, 0.5, 0.9) == 1.0
    assert share_of_the_way(0.7, 0.5, 0.5) is None


def test_row_shows_means_and_shares():
    said = [ALIKE, STRANGE]
    shown = row("both", said, (STRANGE, ALIKE))
    assert shown[:8] == ["both", "2", "0.700", "0.650", "0.500", "0.500", "0.600", "0.500"]
    assert row("both", said)[4] == "-"
    assert mean(said).speaker_similarity == pytest.approx(0.7)


def test_by_transposition_groups_conversions_and_keeps_copies_apart(tmp_path):
    said = [(Output(tmp_path, "a", "mia", semitones), ALIKE) for semitones in (0.0, -4.0, 12.0, None)]
    found = by_transposition([*said, (Output(tmp_path, "a", "copy", 0.0), STRANGE)])
    assert {name: len(group) for name, group in found.items()} == {
        "all": 4, "0 to 2 semitones": 1, "3 to 5 semitones": 1, "9 to 24 semitones": 1, "copies": 1,
    }  # fmt: skip


def test_outputs_in_reads_names_and_transpositions(tmp_path):
    with pytest.raises(EngineError, match="no recording"):
        outputs_in(tmp_path)
    for name in ("one--two.flac--mia.wav", "one--two.flac--copy.wav", "one--two.flac--source.wav"):
        (tmp_path / name).touch()
    (tmp_path / TRANSPOSITIONS).write_text("one--two.flac--mia.wav\t-5\n")
    found = {one.voice: one for one in outputs_in(tmp_path)}
    assert set(found) == {"mia", "copy"}
    assert (found["mia"].source, found["mia"].semitones) == ("one--two.flac", -5.0)

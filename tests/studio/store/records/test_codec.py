"""Records are read from what every released version has written, and written under the same keys."""

import math

import pytest
from pydantic import ValidationError

from engine.conversion.comping import CompPart
from engine.songs.parts import Part
from studio.store.kinds import KINDS
from studio.store.records.codec import UnknownRecord, read, written
from studio.store.records.conversion import Conversion, Rendered, Song
from studio.store.records.voices import Training
from tests.rows import VERSIONS, rows_of

SONG = {"parts": [[0.0, "kathleen"], [1.5, "keep"]], "stem_parts": [[0.0, "keep"]], "separate": True} | {
    "offset_s": None,
    "faders": {"vocal": -3.0},
    "keys": {},
    "names": {},
}
COLUMNS = [
    pytest.param(row["kind"], column, row[column], id=f"{version} {number} {row['kind']} {column}")
    for version in VERSIONS
    for number, row in enumerate(rows_of(version), 1)
    for column in ("parameters", "result")
    if row.get(column) is not None
]


def holds(value, other) -> bool:
    """Whether all that `other` has is in `value`, at every depth."""
    if isinstance(other, dict):
        return isinstance(value, dict) and all(holds(value.get(name), one) for name, one in other.items())
    if isinstance(other, list):
        return isinstance(value, list) and len(value) == len(other) and all(map(holds, value, other))
    return value == other and isinstance(value, type(other))


@pytest.mark.parametrize(("kind", "column", "stored"), COLUMNS)
def test_records_lose_nothing_of_rows_of_released_versions(kind, column, stored):
    record = read(KINDS[kind].asked if column == "parameters" else KINDS[kind].result, stored)
    again = dict(record) if isinstance(record, dict) else written(record)
    assert holds(again, stored)
    assert read(type(record), again) == record


@pytest.mark.parametrize("version", ["0.15"])
def test_records_of_this_version_are_written_as_they_were_stored(version):
    """But for null where there was nothing: old and new workers read both alike."""
    for row in rows_of(version):
        again = written(read(KINDS[row["kind"]].asked, row["parameters"]))
        assert again == row["parameters"]


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        (Conversion, {"input_key": "a", "settings": {}, "karaoke": {}}),
        (Conversion, {"settings": {}}),
        (Conversion, {"input_key": "a", "settings": {"transpose": [1]}}),
        (Conversion, {"input_key": "a", "settings": {}, "song": SONG | {"keys": {}, "choir": 3}}),
        (Rendered, {"outputs": "take.wav"}),
        (Training, {}),
        (Training, None),
        (Training, []),
    ],
)
def test_read_refuses_what_it_does_not_know(kind, values):
    with pytest.raises(UnknownRecord, match="Update this installation, or delete the task"):
        read(kind, values)


def test_settings_keep_whole_numbers_and_words():
    settings = {"transpose": "auto", "takes": 2, "likeness": 1.0}
    found = read(Conversion, {"input_key": "a", "settings": settings}).settings
    assert found == settings
    assert [type(one) for one in found.values()] == [str, int, float]


def test_songs_and_comps_hold_the_parts_of_the_engine():
    song = read(Song, SONG)
    assert song.parts == (Part(0.0, "kathleen"), Part(1.5, "keep"))
    assert written(song) == SONG
    comp = next(one["parameters"] for one in rows_of("0.15") if "comp" in one["parameters"])
    assert read(Conversion, comp).comp.parts == (CompPart(0.0, 0),)


def test_variants_that_are_not_asked_for_leave_no_key():
    assert set(written(Conversion("key", {}))) & {"edit", "comp", "song", "live"} == set()
    assert "groundwork" not in written(Rendered())


def test_plans_of_trainings_lie_beside_their_epochs():
    assert read(Training, {"epochs": 20, "batch": 8}) == Training(20, {"batch": 8})
    assert written(Training(20, {"batch": 8})) == {"epochs": 20, "batch": 8}


def test_written_refuses_what_could_not_be_read_again():
    with pytest.raises(ValidationError):
        written(Conversion("key", {"transpose": [1]}))


def test_numbers_are_written_as_they_are():
    effects = {"reverb": 0.2, "low_cut_hertz": 80}
    again = written(Conversion("key", {}, effects=effects))["effects"]
    assert again == effects
    assert [type(one) for one in again.values()] == [float, int]


def test_scores_that_could_not_be_measured_are_none():
    assert read(Rendered, {"scores": [{"leak_db": None, "pitch_accuracy": 1}]}).scores[0]["leak_db"] is None
    assert math.isnan(Rendered(scores=({"leak_db": math.nan},)).scores[0]["leak_db"])

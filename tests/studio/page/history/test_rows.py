"""Tasks in words; no browser."""

from typing import Any

import pytest

from engine.conversion.settings import ConversionSettings
from engine.texts import Numeral, Text
from studio.page.history.projects import project_row
from studio.page.history.rows import put_outlines, row_of, with_downloads
from tests.records import Known

TASK = Known(
    {
        "id": "a1",
        "kind": "conversion",
        "model": "mia",
        "model_name": "Mia",
        "state": "completed",
        "progress": 1.0,
        "message": "",
        "error": None,
        "created_at": "2026-03-01T10:00:00.000+00:00",
        "started_at": "2026-03-01T10:00:01.000+00:00",
        "finished_at": "2026-03-01T10:00:13.000+00:00",
        "file_name": "my song.mp3",
        "preset": "auto",
        "settings": {"transpose": "auto", "formant_shift_semitones": 0.5},
        "output_settings": {"model": "mia", "transpose": 12, "vocal_style": "melodic"},
        "scores": [{"pitch_accuracy": 0.9, "voicing_error": 0.0}, {"pitch_accuracy": None, "voicing_error": None}],
        "input_audio_url": "/files/in",
        "output_audio_urls": ["/files/1", "/files/2"],
        "place": None,
    }
)
TRAINING = TASK | {
    "kind": "training",
    "epochs": 40,
    "settings": {"batch": 8},
    "input_audio_url": None,
    "output_audio_urls": [],
}


def names(row) -> list[str]:
    return [action["name"] for action in row["actions"]]


def test_row_of_a_conversion_shows_its_settings_and_findings():
    row = row_of(TASK)
    assert (row["title"], row["kind"], row["label"], row["took"]) == ("my song.mp3 · Mia", "Conversion", "Done", "12 s")
    expected = [["Preset", "automatic"], ["Detected style", "Singing"], ["Transpose", "auto: +12"], ["Formants", "0.5"]]
    assert row["facts"] == expected
    assert row["detail"] == ["Singing", "+12", "2 takes", "Formants 0.5"]  # in the row itself
    assert row["compared"] == [
        *(["Voice", "Mia"], ["Harmony", "none"], ["Style", "Singing"], ["Key", "+12"], ["Effects", "Off"]),
        *(["Pitch edits", "0"], ["Formants", "0.5"]),
    ]
    assert all(isinstance(value, Text | Numeral) for _, value in row["facts"])
    assert names(row) == ["repeat", "convert", "delete"]
    assert row["actions"][-1]["question"]


def test_row_of_a_song_is_called_one():
    assert row_of(TASK | {"mix": "/files/mix"})["kind"] == "Song"


def test_row_of_a_task_that_prepares_shows_no_share():
    assert row_of(TRAINING | {"state": "running", "progress": 0.0})["label"] == "Running"
    assert row_of(TRAINING | {"state": "running", "progress": 0.5})["label"] == "50 %"


@pytest.mark.parametrize(
    ("harmony", "key", "said"),
    [
        ("third_above", "A minor", "Third above in A minor"),
        ("octave_below", "C major", "Octave below in C major"),
        ("fifth_above", "auto", "Fifth above"),
        ("unison", "A minor", "Double"),
    ],
)
def test_row_of_a_harmony_says_which_it_is_before_and_after_it_is_done(harmony, key, said):
    sung = {"settings": {"transpose": 0, "harmony": harmony, "harmony_key": key}}
    row = row_of(TASK | sung)
    assert row["detail"] == [said, "Singing", "+12", "2 takes"]
    assert ["Harmony", said] in row["facts"]
    assert not [value for _, value in row["facts"] if "_" in value]  # no names of settings
    assert ["Harmony", said] in row["compared"]
    assert row_of(TASK | sung | {"state": "queued", "output_settings": None})["detail"] == [said]


def test_row_of_a_lead_says_nothing_of_harmonies_but_where_it_is_compared():
    row = row_of(TASK | {"settings": {"harmony": "none", "harmony_key": "auto"}})
    assert row["detail"] == ["Singing", "+12", "2 takes"]
    assert "Harmony" not in [name for name, _ in row["facts"]]
    assert ["Harmony", "none"] in row["compared"]


TIMELINE = {"tempo_bpm": 0.0, "beats_per_bar": 4, "start_s": 0.0}
SONG = Known({"id": "p1", "name": "Song", "file_name": "song.wav", "changed_at": 0.0, "voices": ["Mia"]})
SONG |= {"timeline": TIMELINE}


def test_project_row_names_a_harmony_in_the_row_below_its_recording_and_in_its_player():
    third = TASK | {"id": "c3", "settings": {"harmony": "third_above", "harmony_key": "A minor"}}
    row = project_row(SONG | {"conversions": [third, TASK]}, "wav")
    assert [one["detail"][0] for one in row["rows"]] == ["Third above in A minor", "Singing"]
    assert [track["label"] for track in row["player"]["tracks"]] == [
        "Original",
        "Mia, Third above in A minor, +12, take 1",
        "Mia, Third above in A minor, +12, take 2",
        "Mia, +12, take 1",
        "Mia, +12, take 2",
    ]


def test_row_of_a_task_has_the_avatar_of_its_voice_whose_colour_its_waveform_has():
    assert row_of(TASK)["avatar"].initials == "M"
    assert row_of(TASK | {"model_name": None})["avatar"] is None


class Outlines:
    """A visit that returns which waveform was asked for."""

    def do(self, action: object, task: str, take: int) -> tuple[str, int]:
        return (task, take)


def test_put_outlines_gives_the_take_that_is_shown_its_waveform_and_once_they_are_seen_all_of_them():
    visit: Any = Outlines()
    row = row_of(TASK)
    put_outlines(visit, row)
    tracks, shown = row["player"]["tracks"], row["player"]["chosen"]
    assert [track.get("outline") for track in tracks] == [
        None,
        *(("a1", one) if one == shown else () for one in (1, 2)),
    ]
    assert [track["avatar"].initials if "avatar" in track else None for track in tracks] == [None, "M", "M"]
    put_outlines(visit, row, is_unfolded=True)
    assert [track.get("outline") for track in tracks] == [None, ("a1", 1), ("a1", 2)]  # not of the recording
    project = project_row(SONG | {"conversions": [TASK]}, "wav")
    put_outlines(visit, project)
    heard = project["player"]["tracks"]
    assert [track.get("outline") for track in heard] == [None, (), ()]  # it shows none
    put_outlines(visit, project, is_unfolded=True)
    assert [track.get("outline") for track in heard] == [None, ("a1", 1), ("a1", 2)]


def test_row_of_an_edited_take_counts_its_edits():
    row = row_of(TASK | {"edit_of": "b2", "edit_count": 3})
    assert row["kind"] == "Edited take"
    assert row["facts"][0] == ["Pitch edits", "3"]


def test_row_of_a_conversion_plays_the_recording_and_every_take():
    player = row_of(TASK)["player"]
    assert [track["label"] for track in player["tracks"]] == ["Before", "Take 1", "Take 2"]
    assert [track.get("note") for track in player["tracks"]] == [None, "best · 90 % of the melody kept", None]
    assert player["chosen"] == 1
    assert [one.label for one in player["tracks"][2]["downloads"]] == ["wav", "flac", "mp3", "m4a"]
    kept_badly = [{"pitch_accuracy": 0.7, "voicing_error": 0.0}, {"pitch_accuracy": 0.9, "voicing_error": 0.0}]
    turned = row_of(TASK | {"scores": kept_badly})["player"]  # as Convert shows them: by their numbers, the best chosen
    assert [(track["label"], track["url"]) for track in turned["tracks"][1:]] == [
        ("Take 1", "/files/1"),
        ("Take 2", "/files/2"),
    ]
    assert (turned["chosen"], turned["tracks"][2]["note"]) == (2, "best · 90 % of the melody kept")
    alone = row_of(TASK | {"output_audio_urls": ["/files/1"], "scores": []})["player"]
    assert [track["label"] for track in alone["tracks"]] == ["Before", "After"]
    assert alone["tracks"][1]["note"] is None


def test_with_downloads_fills_in_links_and_offers_every_format():
    row = with_downloads(row_of(TASK), {"a1 2 flac": {"url": "/files/2.flac", "name": "2.flac"}})
    offers = row["player"]["tracks"][2]["downloads"]
    assert [one.label for one in offers] == ["wav", "flac", "mp3", "m4a"]
    assert [one.url for one in offers] == [None, "/files/2.flac", None, None]
    assert with_downloads(row_of(TRAINING), {})["player"] is None


def test_row_of_a_training_has_a_title_for_a_deleted_voice():
    assert row_of(TRAINING | {"model_name": None})["title"] == "A deleted voice"


def test_row_of_deleted_files_has_no_player_and_no_repeat():
    row = row_of(TASK | {"input_audio_url": None, "output_audio_urls": [], "note": "They have been deleted."})
    assert (row["player"], row["note"], names(row)) == (None, "They have been deleted.", ["delete"])


@pytest.mark.parametrize(
    ("changed", "label", "actions"),
    [
        ({"state": "queued", "place": 1}, "Up next", ["cancel"]),
        ({"state": "queued", "place": 3}, "Waiting, number 3 in line", ["cancel"]),
        ({"state": "queued", "place": None}, "Waiting", ["cancel"]),
        ({"state": "running", "progress": 0.424}, "42 %", ["cancel"]),
        ({"state": "failed"}, "Failed", ["repeat", "convert", "delete"]),
        ({"state": "cancelled"}, "Cancelled", ["repeat", "convert", "delete"]),
    ],
)
def test_row_of_each_state_has_its_label_and_actions(changed, label, actions):
    row = row_of(TASK | {"output_audio_urls": [], "finished_at": None} | changed)
    assert (row["label"], names(row)) == (label, actions)
    assert row["took"] == ""


def test_row_of_a_stopped_training_offers_to_continue():
    row = row_of(TRAINING | {"state": "cancelled"})
    expected = ("Mia", "Training, 40 epochs", [["Epochs", "40"], ["Batch", "8"]])
    assert (row["title"], row["kind"], row["facts"]) == expected
    assert [action["label"] for action in row["actions"]] == ["Continue", "Open in Train", "Delete"]
    assert "training can continue" in row["note"]
    assert names(row_of(TRAINING)) == ["train", "delete"]
    assert [action["label"] for action in row_of(TRAINING | {"state": "running"})["actions"]] == [
        "Stop",
        "Open in Train",
    ]


def test_row_of_a_report_names_the_voice_and_offers_no_repeat():
    row = row_of(TRAINING | {"kind": "report"})
    assert (row["title"], names(row)) == ("Mia: recordings", ["voice", "delete"])


def test_row_of_a_conversion_names_only_settings_that_are_not_usual_for_its_style():
    usual = {name: getattr(ConversionSettings.presets["melodic"], name) for name in ("likeness", "accent", "seed")}
    assert row_of(TASK | {"settings": usual, "output_audio_urls": ["/files/1"]})["detail"] == ["Singing", "+12"]
    changed = TASK | {"settings": usual | {"accent": 0.8}, "effects": "hall"}
    assert row_of(changed)["detail"] == ["Singing", "+12", "2 takes", "Hall", "Accent 0.8"]
    assert row_of(TASK | {"effects": {"reverb": 0.2}})["detail"][3] == "own effects"


def test_row_of_a_task_without_a_result_is_compared_with_nothing():
    for task in (TRAINING, TASK | {"state": "failed", "output_settings": None}):
        assert row_of(task)["compared"] == []

"""What a source holds beside recordings is listed, and recordings are known by what they hold."""

import json

import pytest

from engine.datasets.dataset import create_dataset, load_dataset
from engine.datasets.left_out import LEFT_OUT_FILE, NOT_AUDIO, LeftOut, why_no_recording
from engine.datasets.report import DataReport, examined
from tests.engine.audio.encoded import tone, with_ffmpeg, with_sndfile
from tests.engine.datasets.test_dataset import write_folder, write_zip

RATE = 44_100
FLAC = with_sndfile(tone(RATE, RATE), RATE, format="FLAC", subtype="PCM_16")
KINDS = {
    "a.wav": with_sndfile(tone(RATE, RATE), RATE, format="WAV"),
    "b.caf": with_sndfile(tone(RATE, RATE), RATE, format="CAF", subtype="PCM_16"),
    "c.w64": with_sndfile(tone(RATE, RATE), RATE, format="W64"),
    "d.wave": with_sndfile(tone(RATE, RATE), RATE, format="WAV"),
    "e.au": with_sndfile(tone(RATE, RATE), RATE, format="AU"),
    "f.oga": with_sndfile(tone(RATE, RATE), RATE, format="OGG", subtype="VORBIS"),
    "g.webm": with_ffmpeg(tone(48_000, 48_000), 48_000, "libopus", "webm"),
    "h.mp4": with_ffmpeg(tone(RATE, RATE), RATE, "aac", "mp4"),
    "i.mov": with_ffmpeg(tone(RATE, RATE), RATE, "alac", "mov"),
    "j.mka": with_ffmpeg(tone(RATE, RATE), RATE, "flac", "matroska"),
    "k.aifc": with_sndfile(tone(RATE, RATE), RATE, format="AIFF", subtype="FLOAT"),
    "without a suffix": FLAC,
    "misnamed.dat": FLAC,
}
AMR = "This file is left out, since it is AMR, which cannot be read: export it as WAV or FLAC."
OUTSIDE = "This file is left out, since it lies outside the folder audio."


@pytest.fixture(params=["zip", "folder", "files"])
def made(request, tmp_path):
    """Makes a dataset of files that are brought in a zip, in a folder, or one by one."""

    def made(files):
        folder = write_folder(tmp_path / "in", files)
        source = folder
        if request.param == "zip":
            source = write_zip(tmp_path / "in.zip", files)
        if request.param == "files":
            source = [path for path in sorted(folder.rglob("*")) if path.is_file()]
        return create_dataset(source, tmp_path / "dataset", {"name": "Mia"})

    return made


def test_create_dataset_uses_every_recording_whatever_it_is_called(made):
    dataset = made(KINDS)
    assert sorted(path.name for path in dataset.recordings) == sorted(KINDS)
    assert dataset.left_out == ()
    assert not (dataset.folder / LEFT_OUT_FILE).exists()


def test_create_dataset_lists_what_is_left_out_with_the_reason(made):
    dataset = made({"a.wav": KINDS["a.wav"], "notes.txt": "words", "b.amr": b"#!AMR\n" + bytes(90)})
    assert [path.name for path in dataset.recordings] == ["a.wav"]
    assert set(dataset.left_out) == {LeftOut("b.amr", AMR), LeftOut("notes.txt", NOT_AUDIO)}
    assert load_dataset(dataset.folder) == dataset


def test_create_dataset_keeps_a_damaged_recording_for_the_report(made):
    dataset = made({"a.wav": KINDS["a.wav"], "b.wav": "no sound"})
    assert [path.name for path in dataset.recordings] == ["a.wav", "b.wav"]


def test_create_dataset_with_a_profile_lists_recordings_outside_the_folder_audio(tmp_path):
    files = {"model.json": json.dumps({"name": "Mia"}), "audio/a.wav": FLAC, "audio/n.txt": "", "b.wav": FLAC}
    files |= {"README.txt": "", "training/audition.wav": FLAC, "report.json": "{}"}
    dataset = create_dataset(write_folder(tmp_path / "in", files), tmp_path / "dataset")
    assert set(dataset.left_out) == {LeftOut("b.wav", OUTSIDE), LeftOut("n.txt", NOT_AUDIO)}


def test_create_dataset_shortens_a_long_list_of_files_left_out(tmp_path):
    files = {"a.wav": FLAC} | {f"{number:03d}.txt": "" for number in range(250)}
    dataset = create_dataset(write_folder(tmp_path / "in", files), tmp_path / "dataset", {"name": "Mia"})
    assert len(dataset.left_out) == 201
    assert dataset.left_out[-1].reason.startswith("50 more files")


def test_load_dataset_ignores_a_damaged_list_of_files_left_out(tmp_path):
    dataset = create_dataset(write_folder(tmp_path / "in", {"a.wav": FLAC, "n.txt": ""}), tmp_path / "d", {"name": "M"})
    for content in ("no json", "[1]", '[{"x": 1}]', '{"name": "x"}'):
        (dataset.folder / LEFT_OUT_FILE).write_text(content)
        assert load_dataset(dataset.folder).left_out == ()


def test_why_no_recording_names_a_file_that_cannot_be_read(tmp_path):
    assert why_no_recording(tmp_path / "gone.bin") == "This file is left out, since it cannot be read."


def test_examined_report_holds_what_was_left_out_and_is_made_again_when_that_changes(tmp_path):
    dataset = create_dataset(write_folder(tmp_path / "in", {"a.wav": FLAC, "n.txt": ""}), tmp_path / "d", {"name": "M"})
    report = examined(dataset)
    assert report.left_out == (LeftOut("n.txt", NOT_AUDIO),)
    assert DataReport.from_json(report.as_json()) == report
    earlier = {name: value for name, value in report.as_json().items() if name != "left_out"}
    assert DataReport.from_json(earlier).left_out == ()  # of a version that knew nothing of it
    (dataset.folder / LEFT_OUT_FILE).unlink()
    assert examined(load_dataset(dataset.folder)).left_out == ()

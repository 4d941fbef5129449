"""Projects as zips."""

import csv
import io
import json
import zipfile
from pathlib import PurePath
from xml.etree.ElementTree import Element, fromstring

import numpy as np
import pytest
import soundfile

from engine.audio.files import AudioWriter
from engine.audio.session_metadata import SessionPlace, place_of
from engine.errors import SettingsError
from engine.provenance.statement import Statement
from engine.provenance.verification import statement_of
from studio.actions.analyses import start_analysis
from studio.actions.conversions.conversion import ConversionRequest, convert_recording, start_conversion
from studio.actions.conversions.takes import label_take
from studio.actions.project_exports import export_project, project_zip
from studio.actions.projects import change_project, project_view
from studio.actions.tasks import delete_tasks
from studio.errors import Invalid, NotFound
from studio.store.tasks import claim, find

SUNG = {"vocal": Statement("koguchi", "Koguchi", None, {}, None, "0.9")}  # the others are as they were recorded
LANES = (" backing", " vocal 2", " vocal 3")
BACKED = "Koguchi take 1 backing.wav"


def test_export_project_writes_aligned_stems_and_a_cue_sheet(studio, song, tmp_path):
    change_project(studio, studio.local, song, "Song", {"tempo_bpm": 120.0, "start_s": 8.0})
    made = export_project(studio, studio.local, song, tmp_path)
    assert made == tmp_path / "Song.zip"
    with zipfile.ZipFile(made) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    start = "bar 005.1.000 Song"
    stems = {name for name in files if name.endswith(".wav")}
    assert stems == (
        {f"stems/{start} - recording.wav", f"stems/{start} - Kathleen take 1.wav"}
        | {f"stems/{start} - Koguchi take 1.wav", f"stems/{start} - Kathleen take 2.wav"}
    )
    assert {soundfile.info(io.BytesIO(files[name])).frames for name in stems} == {3 * 16_000}
    part, _ = soundfile.read(io.BytesIO(files[f"stems/{start} - Kathleen take 2.wav"]))
    assert not part[:16_000].any()
    assert part[16_000:32_000].any()
    assert all(name.encode() in files["project.json"] for name in stems)
    told = json.loads(files["project.json"])
    assert (told["timeline"]["start_s"], told["seconds"]) == (8.0, 3.0)
    assert files[f"{start} - melody.mid"].startswith(b"MThd")
    [phrase] = csv.DictReader(io.StringIO(files[f"{start} - phrases.csv"].decode()))
    assert phrase["position"].startswith("bar 005.1.0")
    assert (phrase["lowest"], phrase["highest"]) == ("A3", "A3")
    curve = list(csv.DictReader(io.StringIO(files[f"{start} - pitch.csv"].decode())))
    assert float(curve[150]["hertz"]) == pytest.approx(220.0, rel=0.01)
    assert not list((studio.settings.work / "incoming").iterdir())


def test_export_project_gives_takes_of_one_voice_distinct_file_names(studio, recording, finish, tmp_path):
    analysis = start_analysis(studio, studio.local, recording(2.0), "My song.wav")
    made = []
    for takes in (2, 1, 1):
        convert_recording(studio, studio.local, analysis, ConversionRequest("kathleen", {"takes": takes}))
        made.append(finish())
    for task, take in ((made[0], 2), (made[2], 1)):
        label_take(studio, studio.local, task, take, "lead", True)
    project = find(studio.database, studio.local.id, made[0]).recording
    with zipfile.ZipFile(export_project(studio, studio.local, project, tmp_path)) as archive:
        stems = {PurePath(name).stem.partition(" - ")[2] for name in archive.namelist() if name.endswith(".wav")}
        told = json.loads(archive.read("project.json"))["stems"]
    assert stems == {"recording", *(f"Kathleen take {one}" for one in ("1", "2 lead", "3", "4 lead"))}
    expected = [(made[0], 1), (made[0], 2), (made[1], 1), (made[2], 1)]
    assert [(one["conversion"], one["take"]) for one in told[1:]] == expected


def test_export_project_of_a_part_starts_at_the_part(studio, song, tmp_path):
    whole = [one for one in project_view(studio, studio.local, song, "", 0.0).conversions if not one.start_s]
    delete_tasks(studio, studio.local, [one.id for one in whole])
    with zipfile.ZipFile(export_project(studio, studio.local, song, tmp_path)) as archive:
        assert "stems/00h00m01.000s My song - recording.wav" in archive.namelist()


def test_export_project_can_be_opened_by_a_daw_which_plays_the_last_take_with_a_star(studio, song, tmp_path):
    change_project(studio, studio.local, song, "Song", {"tempo_bpm": 120.0, "start_s": 8.0})
    with zipfile.ZipFile(export_project(studio, studio.local, song, tmp_path / "Song.dawproject")) as archive:
        project, names = fromstring(archive.read("project.xml")), set(archive.namelist())
    assert {one.get("path") for one in project.iter("File")} == {one for one in names if one.startswith("stems/")}
    assert {float(one.get("time")) for one in project.iter("Clip")} == {16.0}
    assert {float(one.get("duration")) for one in project.iter("Clip")} == {6.0}
    assert [one.get("name") for one in project.iter("Marker")] == ["phrase 1"]
    assert heard(project) == ["Kathleen take 2"]
    first = project_view(studio, studio.local, song, "", 0.0).conversions[-1].id
    label_take(studio, studio.local, first, 1, "", True)
    with zipfile.ZipFile(export_project(studio, studio.local, song, tmp_path)) as archive:
        assert heard(fromstring(archive.read("project.xml"))) == ["Kathleen take 1"]


def test_export_project_has_the_faders_of_its_takes(studio, song, tmp_path):
    conversions = [one.id for one in project_view(studio, studio.local, song, "", 0.0).conversions]
    first, last = conversions[-1], conversions[0]
    faders = {
        f"{first} 1": {"gain_db": -6.0, "pan": -0.5, "mute": False, "solo": False},
        f"{last} 1": {"gain_db": 3.0, "pan": 0.0, "mute": None, "solo": False},
    }
    with zipfile.ZipFile(export_project(studio, studio.local, song, tmp_path, faders=faders)) as archive:
        project = fromstring(archive.read("project.xml"))
    assert heard(project) == ["Kathleen take 1", "Kathleen take 2"]
    tracks = {one.get("name"): one.find("Channel") for one in project.iter("Track")}
    volumes = {name: float(channel.find("Volume").get("value")) for name, channel in tracks.items()}
    assert volumes["Kathleen take 1"] == pytest.approx(10 ** (-6 / 20))
    assert volumes["Kathleen take 2"] == pytest.approx(10 ** (3 / 20))
    assert volumes["recording"] == volumes["Master"] == 1.0
    assert tracks["Kathleen take 1"].find("Pan").get("value") == "0.25"


def test_export_project_has_the_fader_of_its_recording_which_all_its_conversions_keep(studio, song, tmp_path):
    conversions = [one.id for one in project_view(studio, studio.local, song, "", 0.0).conversions]
    faders = {  # as the page keeps it with the takes that there were: of the newest it counts
        f"{conversions[-1]} recording": {"gain_db": -9.0, "pan": 0.0, "mute": None, "solo": False},
        f"{conversions[0]} recording": {"gain_db": -6.0, "pan": 0.5, "mute": False, "solo": False},
    }
    for given, gain_db, is_heard in ((faders, -6, True), (dict([next(iter(faders.items()))]), -9, False)):
        with zipfile.ZipFile(export_project(studio, studio.local, song, tmp_path, faders=given)) as archive:
            project = fromstring(archive.read("project.xml"))
        [channel] = [one.find("Channel") for one in project.iter("Track") if one.get("name") == "recording"]
        assert float(channel.find("Volume").get("value")) == pytest.approx(10 ** (gain_db / 20))
        assert channel.find("Pan").get("value") == ("0.75" if is_heard else "0.5")
        assert ("recording" in heard(project)) == is_heard


@pytest.fixture
def mixed(studio, recording, complete_task, tmp_path) -> tuple[str, list[str]]:
    """The id of a project, and of its two songs: a vocal of 1 s that begins 0.5 s later than its backing of 2 s."""
    analysis = start_analysis(studio, studio.local, recording(1.0), "My song.wav")
    made = []
    for model in ("kathleen", "koguchi"):
        convert_recording(studio, studio.local, analysis, ConversionRequest(model, {}))
        task = claim(studio.database, "worker", ["conversion"], 60)
        lanes = {}
        for number, name in enumerate(("vocal", "backing", "stem", "stem3"), 1):
            with AudioWriter(tmp_path / f"{name}.wav", 16_000, 1 if name == "vocal" else 2, SUNG.get(name)) as writer:
                writer.write(np.full((writer.channels, 32_000), 0.1 * number, np.float32))
            lanes[name] = f"{task.parameters['input_key'].rpartition('/')[0]}/{task.fence}/{name}.wav"
            studio.storage.put_file(tmp_path / f"{name}.wav", lanes[name])
        complete_task(task, lanes=lanes, mix={"gain_db": 0.0, "offset_s": 0.5})
        made.append(task.id)
    return find(studio.database, studio.local.id, made[0]).recording or "", made


def test_export_project_has_the_lanes_of_a_song_each_with_its_fader(studio, mixed, tmp_path):
    project, (first, last) = mixed
    faders = {
        f"{last} 1": {"gain_db": -6.0, "pan": 0.0, "mute": None, "solo": False},
        f"{last} backing": {"gain_db": -3.0, "pan": 0.5, "mute": None, "solo": True},
        f"{last} stem3": {"gain_db": 0.0, "pan": 0.0, "mute": True, "solo": False},
        f"{first} backing": {"gain_db": 0.0, "pan": 0.0, "mute": None, "solo": True},
    }
    with zipfile.ZipFile(export_project(studio, studio.local, project, tmp_path, faders=faders)) as archive:
        archive.extractall(tmp_path)
        xml = fromstring(archive.read("project.xml"))
        facts = json.loads(archive.read("project.json"))["stems"]
    assert heard(xml) == ["Koguchi take 1", "Koguchi take 1 backing", "Koguchi take 1 vocal 2"]
    tracks = {one.get("name"): one.find("Channel") for one in xml.iter("Track")}
    assert set(tracks) == {
        "recording",
        "Master",
        *(f"{voice} take 1{lane}" for voice in ("Kathleen", "Koguchi") for lane in ("", *LANES)),
    }
    volume = {name: float(channel.find("Volume").get("value")) for name, channel in tracks.items()}
    assert volume["Koguchi take 1"] == pytest.approx(10 ** (-6 / 20))
    assert volume["Koguchi take 1 backing"] == pytest.approx(10 ** (-3 / 20))
    assert tracks["Koguchi take 1 backing"].find("Pan").get("value") == "0.75"
    # what is beside a vocal that is not heard is not either
    assert [name for name, channel in tracks.items() if channel.get("solo") == "true"] == ["Koguchi take 1 backing"]
    assert [one.get("lane") for one in facts] == [None, *2 * ["vocal", "backing", "stem", "stem3"]]


def test_export_project_places_a_song_where_its_backing_begins(studio, mixed, tmp_path):
    project, _ = mixed
    for start_s, position in ((0.0, "00h00m00.000s"), (8.0, "00h00m07.500s")):
        change_project(studio, studio.local, project, timeline={"start_s": start_s})
        with zipfile.ZipFile(export_project(studio, studio.local, project, tmp_path)) as archive:
            stems = {
                name.rpartition(" - ")[2]: io.BytesIO(archive.read(name))
                for name in archive.namelist()
                if name.startswith(f"stems/{position}")
            }
        assert {soundfile.info(one).duration for one in stems.values()} == {2.0}
        sung, played = (soundfile.read(io.BytesIO(stems[name].getvalue()))[0] for name in ("recording.wav", BACKED))
        assert not sung[:8_000].any()
        assert sung[8_100:23_900].any()
        assert not sung[24_000:].any()
        assert np.abs(played - 0.2).max() < 1e-4


MOVED = [(0.75, 2.75, 0.0, 1.25), (-1.0, 3.0, 1.0, 0.5)]  # by how much, how long all is then, and what begins where


@pytest.mark.parametrize(("shift_s", "seconds", "backing_s", "sung_s"), MOVED)
def test_export_project_has_a_backing_where_it_was_moved(studio, mixed, tmp_path, shift_s, seconds, backing_s, sung_s):
    project, (_, last) = mixed
    faders = {f"{last} backing": {"gain_db": 0.0, "pan": 0.0, "mute": None, "solo": False, "shift_s": shift_s}}
    exported = export_project(studio, studio.local, project, tmp_path / "Song.dawproject", faders=faders)
    with zipfile.ZipFile(exported) as archive:
        stems = {name.rpartition(" - ")[2]: archive.read(name) for name in archive.namelist() if name[:5] == "stems"}
        clips = fromstring(archive.read("project.xml")).iter("Clip")
        assert {one.get("duration") for one in clips} == {f"{2 * seconds:g}"}  # in beats
    assert {soundfile.info(io.BytesIO(one)).duration for one in stems.values()} == {seconds}
    for name, begins_s, lasts_s in ((BACKED, backing_s, 2.0), ("recording.wav", sung_s, 1.0)):
        sounding = np.flatnonzero(np.atleast_2d(soundfile.read(io.BytesIO(stems[name]))[0].T).any(axis=0))
        assert sounding[[0, -1]] / 16_000 == pytest.approx([begins_s, begins_s + lasts_s], abs=0.01)


@pytest.mark.parametrize("shift_s", [601.0, float("nan"), "far"])
def test_export_project_refuses_a_backing_that_is_moved_too_far(studio, mixed, tmp_path, shift_s):
    project, (_, last) = mixed
    with pytest.raises(SettingsError, match="The offset must be from -600 to 600 seconds"):
        export_project(studio, studio.local, project, tmp_path, faders={f"{last} backing": {"shift_s": shift_s}})


def test_export_project_states_only_of_lanes_that_are_synthetic_that_they_are(studio, mixed, tmp_path):
    project, _ = mixed
    with zipfile.ZipFile(export_project(studio, studio.local, project, tmp_path)) as archive:
        archive.extractall(tmp_path)
    stated = {one.stem.rpartition(" - ")[2]: statement_of(one) for one in tmp_path.glob("stems/* - Koguchi*.wav")}
    assert {name: bool(said) for name, said in stated.items()} == {
        "Koguchi take 1": True,
        "Koguchi take 1 backing": False,
        "Koguchi take 1 vocal 2": False,
        "Koguchi take 1 vocal 3": False,
    }


def heard(project: Element) -> list[str | None]:
    """Return the tracks that are not muted."""
    tracks = [one for one in project.iter("Track") if one.find("./Channel/Mute") is not None]
    return [one.get("name") for one in tracks if one.find("./Channel/Mute").get("value") == "false"]


def test_project_zip_gives_the_same_as_a_dawproject(studio, song):
    made, other = (project_zip(studio, studio.local, song, "", 0.0, suffix=suffix) for suffix in ("zip", "dawproject"))
    assert other["name"] == "My song.dawproject"
    assert other["url"].partition("?")[0].endswith(".dawproject")
    assert project_zip(studio, studio.local, song, "", 0.0) == made


def test_project_zip_is_rebuilt_only_after_a_change(studio, song):
    first = project_zip(studio, studio.local, song, "", 0.0)
    assert project_zip(studio, studio.local, song, "", 0.0)["url"] == first["url"]
    assert first["name"] == "My song.zip"
    change_project(studio, studio.local, song, "Other")
    assert project_zip(studio, studio.local, song, "", 0.0)["url"] != first["url"]
    assert len(list(studio.storage.list_keys("packages"))) == 1
    plain = project_zip(studio, studio.local, song, "", 0.0)["url"]
    task = project_view(studio, studio.local, song, "", 0.0).conversions[0].id
    moved, others = {f"{task} 1": {"gain_db": -3.0}}, {"of-another-project 1": {"gain_db": -3.0}}
    assert project_zip(studio, studio.local, song, "", 0.0, faders=others)["url"] == plain
    assert project_zip(studio, studio.local, song, "", 0.0, faders=moved)["url"] != plain


def test_export_project_refuses_a_project_without_takes_and_a_missing_folder(studio, recording, song, tmp_path):
    with pytest.raises(Invalid, match="cannot be written"):
        export_project(studio, studio.local, song, tmp_path / "nowhere" / "song.zip")
    waiting = start_conversion(studio, studio.local, recording(), "w.wav", ConversionRequest("kathleen", {}))
    with pytest.raises(NotFound, match="left to export"):
        export_project(studio, studio.local, find(studio.database, studio.local.id, waiting).recording, tmp_path)
    assert not list(tmp_path.glob("*.zip*"))


def test_export_project_places_stems_where_the_recording_lies_in_its_session(studio, tmp_path, finish):
    with AudioWriter(tmp_path / "take.wav", 48_000, 1, place=SessionPlace(48_000, 48_000 * 3600 + 12_345)) as writer:
        writer.write(np.full((1, 96_000), 0.1, np.float32))
    analysis = start_analysis(studio, studio.local, tmp_path / "take.wav", "take.wav")
    convert_recording(studio, studio.local, analysis, ConversionRequest("kathleen", {}), (0.5, 2.0))
    project = find(studio.database, studio.local.id, finish()).recording
    for start_s, expected_s in ((0.0, 3600.5 + 12_345 / 48_000), (8.0, 8.5)):
        change_project(studio, studio.local, project, "Song", {"start_s": start_s})
        with zipfile.ZipFile(export_project(studio, studio.local, project, tmp_path)) as archive:
            stems = [name for name in archive.namelist() if name.endswith(".wav")]
            for name in stems:
                (tmp_path / "stem.wav").write_bytes(archive.read(name))
                place = place_of(tmp_path / "stem.wav")
                assert place is not None
                assert place.time_reference == round(expected_s * place.rate)
        assert len(stems) == 2

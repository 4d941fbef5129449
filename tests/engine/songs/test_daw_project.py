"""Projects for DAWs, read by us and by openDAW."""

import json
import shutil
import subprocess
from pathlib import Path
from xml.etree.ElementTree import Element, fromstring

import pytest

from engine.analysis.timeline import Timeline
from engine.songs.daw_project import StemTrack, daw_project
from engine.songs.mixing import Fader

NAME = 'Söng & "co" <1>'
STEMS = (
    StemTrack("recording", "stems/a - b.wav", 44_100, 1, Fader(mute=True)),
    StemTrack("Mia 1", "stems/m.wav", 48_000, 2),
)
INSTALLED_WITHIN_S = 600.0


@pytest.fixture
def written() -> dict[str, bytes]:
    return daw_project(NAME, STEMS, 3.5, Timeline(90.0, 3, 8.0), [(0.5, "phrase 1"), (2.0, "phrase 2")])


@pytest.fixture
def project(written) -> Element:
    return fromstring(written["project.xml"])


def test_daw_project_places_each_stem_where_it_begins_in_the_song(project):
    clips = project.findall("./Arrangement/Lanes/Lanes/Clips/Clip")
    assert [(one.get("name"), float(one.get("time")), float(one.get("duration"))) for one in clips] == [
        ("recording", 12.0, 5.25),
        ("Mia 1", 12.0, 5.25),  # 8 s and 3.5 s at 90 beats a minute
    ]
    sounds = project.findall(".//Audio")
    assert [(one.get("sampleRate"), one.get("channels"), one.get("duration")) for one in sounds] == [
        ("44100", "1", "3.5"),
        ("48000", "2", "3.5"),
    ]
    assert [one.get("path") for one in project.findall(".//File")] == [one.file for one in STEMS]


def test_daw_project_has_tempo_bars_markers_and_mutes_what_is_not_heard(project):
    assert project.find("./Transport/Tempo").get("value") == "90"
    assert project.find("./Transport/TimeSignature").attrib.items() >= {"numerator": "3", "denominator": "4"}.items()
    assert [(float(one.get("time")), one.get("name")) for one in project.findall(".//Markers/Marker")] == [
        (12.75, "phrase 1"),
        (15.0, "phrase 2"),
    ]
    assert [one.get("value") for one in project.findall(".//Channel/Mute")] == ["true", "false"]


def test_daw_project_has_level_place_and_solo_of_each_track():
    faders = {"left": Fader(-6.0, pan=-1.0), "soloed": Fader(solo=True, pan=0.5), "closed": Fader(-60.0, mute=True)}
    stems = [StemTrack(name, f"{name}.wav", 44_100, 1, fader) for name, fader in faders.items()]
    project = fromstring(daw_project("x", stems, 2.0, Timeline())["project.xml"])
    gains, places = ([float(one.get("value")) for one in project.iter(kind)] for kind in ("Volume", "Pan"))
    assert gains == pytest.approx([10 ** (-6 / 20), 1.0, 0.0, 1.0])
    assert places == [0.0, 0.75, 0.5]
    assert [one.get("solo") for one in project.iter("Channel")] == ["false", "true", "false", "false"]


def test_daw_project_keeps_the_balance_where_a_track_is_louder_than_faders_go():
    stems = [StemTrack("loud", "a.wav", 44_100, 1, Fader(12.0)), StemTrack("as it is", "b.wav", 44_100, 1)]
    project = fromstring(daw_project("x", stems, 2.0, Timeline())["project.xml"])
    loud, usual, master = (float(one.get("value")) for one in project.iter("Volume"))
    assert loud == pytest.approx(2.0)  # the most that there is
    assert [loud * master, usual * master] == pytest.approx([10 ** (12 / 20), 1.0])


def test_daw_project_refers_to_what_it_has(project):
    names = [one.get("id") for one in project.iter() if one.get("id")]
    assert len(names) == len(set(names))
    assert {one.get(of) for of in ("track", "destination") for one in project.iter() if one.get(of)} <= set(names)


def test_daw_project_counts_in_the_usual_tempo_where_none_is_known_and_leaves_out_no_markers():
    project = fromstring(daw_project("x", STEMS, 2.0, Timeline())["project.xml"])
    assert project.find("./Transport/Tempo").get("value") == "120"
    assert {float(one.get("duration")) for one in project.iter("Clip")} == {4.0}
    assert project.find(".//Markers") is None


@pytest.mark.slow
def test_opendaw_reads_the_project(written, tmp_path):
    if shutil.which("npm") is None:
        pytest.skip("npm is not installed.")
    for name, content in written.items():
        (tmp_path / name).write_bytes(content)
    shutil.copy(Path(__file__).with_name("read_daw_project.mjs"), tmp_path)
    packages = ("@opendaw/lib-dawproject@0.0.74", "jsdom@26", "esbuild@0.25")
    run("npm", "install", "--no-audit", "--no-fund", "--prefix", ".", *packages, folder=tmp_path)
    bundle = ("--bundle", "--platform=node", "--format=esm", "--external:jsdom", "--outfile=read.mjs")
    run("npx", "esbuild", "read_daw_project.mjs", *bundle, folder=tmp_path)
    project, metadata = map(json.loads, run("node", "read.mjs", folder=tmp_path).splitlines())
    assert metadata == {"title": NAME}
    assert (project["transport"]["tempo"]["value"], project["transport"]["timeSignature"]["numerator"]) == (90, 3)
    tracks = [(one["name"], one["channel"].get("mute", {}).get("value")) for one in project["structure"]]
    assert tracks == [("recording", True), ("Mia 1", False), ("Master", None)]
    clips = [lane["lanes"][0]["clips"][0] for lane in project["arrangement"]["lanes"]["lanes"]]
    assert [(one["time"], one["duration"], one["content"][0]["file"]["path"]) for one in clips] == [
        (12, 5.25, one.file) for one in STEMS
    ]


def run(*command: str, folder: Path) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=INSTALLED_WITHIN_S, check=False)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-2000:]
    return done.stdout

"""Stems as a project for DAWs: the two XML files of a .dawproject, an open format of Bitwig Studio, Cubase, Studio One
and others.

    zip --> metadata.xml: title
        +-> project.xml: tempo, a track for each stem with its clip, markers
        +-> stems, wherever project.xml says

The format: https://github.com/bitwig/dawproject (Project.xsd, version 1.0).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from engine.analysis.timeline import Timeline
from engine.songs.mixing import Fader
from engine.version import __version__

_USUAL_BPM = 120.0  # of a song whose tempo is not known: positions are in beats
_LOUDEST = 2.0  # of a fader, linear


@dataclass(frozen=True)
class StemTrack:
    """A stem, its name and file within the zip. fader: of several takes all but one are muted, usually."""

    name: str
    file: str
    rate: int
    channels: int
    fader: Fader = field(default_factory=Fader)


def daw_project(
    name: str,
    stems: Sequence[StemTrack],
    duration_s: float,
    timeline: Timeline,
    markers: Sequence[tuple[float, str]] = (),
) -> dict[str, bytes]:
    """Return "project.xml" and "metadata.xml" of a project, for a zip that holds the stems too.

    All stems begin at `timeline.start_s` in the song and last `duration_s`; markers are seconds after their beginning,
    and names.
    """
    beats_per_s = (timeline.tempo_bpm or _USUAL_BPM) / 60.0
    project = Element("Project", version="1.0")
    SubElement(project, "Application", name="Timbre Studio", version=__version__)
    _add_transport(SubElement(project, "Transport"), timeline)
    structure = SubElement(project, "Structure")
    above = max([1.0, *(_gain(stem) / _LOUDEST for stem in stems)])  # of the master, where a track cannot be as loud
    arrangement = SubElement(project, "Arrangement", id="arrangement")
    lanes = SubElement(arrangement, "Lanes", id="lanes", timeUnit="beats")
    for number, stem in enumerate(stems, 1):
        _add_track(structure, stem, number, _gain(stem) / above)
        lane = SubElement(lanes, "Lanes", id=f"lane{number}", track=f"track{number}")
        clips = SubElement(lane, "Clips", id=f"clips{number}")
        begin, length = (f"{seconds * beats_per_s:.9g}" for seconds in (timeline.start_s, duration_s))
        clip = SubElement(
            clips, "Clip", name=stem.name, time=begin, duration=length, contentTimeUnit="seconds", playStart="0.0"
        )
        sound = {"channels": str(stem.channels), "sampleRate": str(stem.rate), "duration": f"{duration_s:.9g}"}
        SubElement(SubElement(clip, "Audio", sound, id=f"audio{number}", timeUnit="seconds"), "File", path=stem.file)
    _add_master(structure, above)
    if markers:
        marked = SubElement(arrangement, "Markers", id="markers", timeUnit="beats")
        for seconds, label in markers:
            SubElement(marked, "Marker", time=f"{(timeline.start_s + seconds) * beats_per_s:.9g}", name=label)
    metadata = Element("MetaData")
    SubElement(metadata, "Title").text = name
    return {"project.xml": _written(project), "metadata.xml": _written(metadata)}


def _add_transport(transport: Element, timeline: Timeline) -> None:
    tempo = f"{timeline.tempo_bpm or _USUAL_BPM:.9g}"
    SubElement(transport, "Tempo", id="tempo", name="Tempo", unit="bpm", min="20", max="666", value=tempo)
    bar = {"numerator": str(timeline.beats_per_bar), "denominator": "4"}
    SubElement(transport, "TimeSignature", bar, id="signature")


def _gain(stem: StemTrack) -> float:
    return replace(stem.fader, mute=False).gain


def _add_track(structure: Element, stem: StemTrack, number: int, gain: float) -> None:
    track = SubElement(structure, "Track", id=f"track{number}", name=stem.name, contentType="audio", loaded="true")
    place = {"id": f"channel{number}", "role": "regular", "destination": "master"}
    channel = SubElement(track, "Channel", place, solo=str(stem.fader.solo).lower(), audioChannels=str(stem.channels))
    SubElement(channel, "Mute", id=f"mute{number}", name="Mute", value=str(stem.fader.mute).lower())
    pan = f"{(1.0 + stem.fader.pan) / 2.0:.9g}"
    SubElement(channel, "Pan", _fader(pan, "normalized", 1.0), id=f"pan{number}", name="Pan")
    SubElement(channel, "Volume", _fader(f"{gain:.9g}", "linear", _LOUDEST), id=f"volume{number}", name="Volume")


def _add_master(structure: Element, gain: float) -> None:
    track = SubElement(structure, "Track", id="mastertrack", name="Master", contentType="audio", loaded="true")
    channel = SubElement(track, "Channel", id="master", role="master", solo="false", audioChannels="2")
    SubElement(channel, "Volume", _fader(f"{gain:.9g}", "linear", _LOUDEST), id="mastervolume", name="Volume")


def _fader(value: str, unit: str, most: float) -> dict[str, str]:
    return {"min": "0", "max": f"{most:g}", "unit": unit, "value": value}


def _written(root: Element) -> bytes:
    indent(root)
    written: bytes = tostring(root, "UTF-8", xml_declaration=True)
    return written

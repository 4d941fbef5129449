"""The one list of what is readable, and what is made of it."""

import re
from pathlib import Path

import pytest

from engine.audio.containers import AUDIO_SUFFIXES, CONTAINERS, READABLE, look_at, mpeg_frame_length
from tests.engine.audio.encoded import KINDS, tone, with_sndfile

ROOT = Path(__file__).parents[3]


def rows_of_the_table() -> dict[str, set[str]]:
    """The table in the engine's README: the encodings by container."""
    text = (ROOT / "engine" / "README.md").read_text(encoding="utf-8")
    table = re.search(r"\| container \| encodings \|.*?\n\n", text, re.DOTALL)
    assert table
    rows: dict[str, set[str]] = {}
    title = ""
    for line in table[0].strip().splitlines()[2:]:
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        title = cells[0] or title
        rows.setdefault(title, set()).update(re.findall(r"`(\w+)`", cells[1]))
    return rows


def test_containers_match_the_table_in_the_readme() -> None:
    listed = {container.title: set(container.codecs) for container in CONTAINERS}
    assert rows_of_the_table() == {
        title: {re.sub("^pcm_[suf].*", "pcm", codec) for codec in codecs} for title, codecs in listed.items()
    }


def test_containers_have_a_tested_kind_each() -> None:
    tested = {(kind.container, re.sub("^pcm_[suf].*", "pcm", kind.codec)) for kind in KINDS}
    assert {name for name, _ in tested} == {container.name for container in CONTAINERS}
    listed = {(one.name, re.sub("^pcm_[suf].*", "pcm", codec)) for one in CONTAINERS for codec in one.codecs}
    assert tested <= listed
    assert listed - tested == {("mov", "amr_wb")}  # which no encoder here writes


def test_audio_suffixes_are_those_of_all_containers_in_lower_case_and_distinct() -> None:
    assert len(set(AUDIO_SUFFIXES)) == len(AUDIO_SUFFIXES) == sum(len(one.suffixes) for one in CONTAINERS)
    assert all(re.fullmatch(r"\.[a-z0-9]+", suffix) for suffix in AUDIO_SUFFIXES)
    assert {".webm", ".mp4", ".mov", ".mka", ".oga", ".wave", ".aifc", ".caf", ".w64", ".au"} <= set(AUDIO_SUFFIXES)
    assert READABLE.endswith("W64 or AU")


def test_audio_suffixes_are_what_the_file_dialog_of_the_page_offers() -> None:
    script = (ROOT / "studio/page/static/audio-files.js").read_text(encoding="utf-8")
    statement = re.search(r"const ACCEPTED = (.*?);", script, re.DOTALL)
    assert statement
    offered = "".join(re.findall(r'"([^"]*)"', statement[1])).split(",")
    assert offered == ["audio/*", "video/*", *AUDIO_SUFFIXES]


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_look_at_recognises_every_container_by_its_first_bytes(tmp_path: Path, kind: object) -> None:
    path = tmp_path / "recording.txt"
    path.write_bytes(kind.write(tone(3000, kind.rates[0]), kind.rates[0]))  # type: ignore[attr-defined]
    found = look_at(path)
    assert found.container is not None
    assert (found.container.name, found.start) == (kind.container, 0)  # type: ignore[attr-defined]


def test_mpeg_frame_length_walks_from_frame_to_frame_at_every_rate() -> None:
    for rate in (8_000, 11_025, 16_000, 22_050, 32_000, 44_100, 48_000):
        content = with_sndfile(tone(8000, rate), rate, format="MP3", bitrate_mode="CONSTANT")
        place = frames = 0
        while length := mpeg_frame_length(content[place : place + 4]):
            place, frames = place + length, frames + 1
        assert place == len(content)
        assert frames > 8000 // 1152
    assert mpeg_frame_length(b"\xff\xfb\xf0\0") == mpeg_frame_length(b"\xff\xfb\x9c\0") == mpeg_frame_length(b"") == 0

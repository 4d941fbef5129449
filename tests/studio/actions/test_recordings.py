"""How the recordings that users give are stored."""

import pytest

from studio.actions.recordings import shown_name, suffix_of


@pytest.mark.parametrize(
    ("name", "head", "suffix"),
    [
        ("Vocal.FLAC", b"RIFF", ".flac"),  # the name goes first
        ("vocal", b"RIFF\x00\x00\x00\x00WAVE", ".wav"),
        ("vocal.bin", b"fLaC", ".flac"),
        ("vocal.mp4", b"\x00\x00\x00\x20ftypisom", ".m4a"),
        ("vocal.webm", b"\x1aE\xdf\xa3", ".webm"),
        ("vocal", b"ID3\x04\0\0\0\0\0\0\xff\xfb\x90\0", ".mp3"),
        ("vocal", b"\xff\xfb\x90\0", ".mp3"),  # without a tag
        ("vocal", b"\xff\xf1\x50\x80", ".aac"),
        ("vocal.html", b"<html>", ""),
        ("vocal", b"", ""),
    ],
)
def test_suffix_of_uses_a_known_suffix_of_the_name_or_the_file_header(tmp_path, name, head, suffix):
    (tmp_path / "upload").write_bytes(head)
    assert suffix_of(name, tmp_path / "upload") == suffix


def test_shown_name_restores_quotation_marks():
    assert shown_name("folder/say %22hey%22 100%.wav") == 'say "hey" 100%.wav'

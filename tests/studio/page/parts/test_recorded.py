"""What a recording that was made in the page is called."""

import re
from pathlib import PurePath

import pytest

from studio.page.parts.recorded import name_of


def test_name_of_names_recordings_by_their_time():
    first, second = (name_of("/tmp/x/audio.wav", True, now_s) for now_s in (1_800_000_000.0, 1_800_000_007.0))
    assert re.fullmatch(r"Recording \d\d \w{3} \d\d\.\d\d\.\d\d\.wav", first)
    assert first != second
    assert PurePath(first).stem == first.removesuffix(".wav")  # a text for people is no part of a path


@pytest.mark.parametrize(("path", "is_recorded"), [("/tmp/x/audio.wav", False), ("/tmp/x/my vocal.flac", True)])
def test_name_of_keeps_the_names_of_files(path, is_recorded):
    assert name_of(path, is_recorded, 0.0) == path.rpartition("/")[2]

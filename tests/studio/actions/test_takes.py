"""Names and stars of takes."""

import pytest

from studio.actions.downloads import take_download
from studio.actions.results import result_view
from studio.actions.takes import label_take
from studio.actions.tasks import task_view
from studio.errors import Invalid, NotFound


def test_label_take_stores_name_and_star_and_names_downloads(studio, converted):
    assert label_take(studio, studio.local, converted, 2, name="  best  chorus ") == {
        "number": 2, "name": "best chorus", "starred": False,
    }  # fmt: skip
    label_take(studio, studio.local, converted, 2, starred=True)
    label_take(studio, studio.local, converted, 1, starred=True)
    view = task_view(studio, studio.local, converted, "", 0.0)
    assert view["take_labels"] == [{"name": "", "starred": True}, {"name": "best chorus", "starred": True}]
    takes = {take["number"]: take for take in result_view(studio, studio.local, converted, "", 0.0)["takes"]}
    assert (takes[2]["name"], takes[2]["starred"]) == ("best chorus", True)
    named = take_download(studio, studio.local, converted, 2, "wav", "", 0.0)["name"]
    assert named == "my vocal - Kathleen 2 best chorus.wav"
    label_take(studio, studio.local, converted, 2, name="a/b", starred=False)
    assert take_download(studio, studio.local, converted, 2, "wav", "", 0.0)["name"] == "my vocal - Kathleen 2 a b.wav"
    label_take(studio, studio.local, converted, 2, name="")
    assert task_view(studio, studio.local, converted, "", 0.0)["take_labels"][1] == {"name": "", "starred": False}


def test_label_take_refuses_unknown_takes_and_invalid_names(studio, other, converted):
    for account, take in ((studio.local, 3), (studio.local, 0), (other, 1)):
        with pytest.raises(NotFound):
            label_take(studio, account, converted, take, name="mine")
    for name in ("x" * 61, "a\x00b"):
        with pytest.raises(Invalid, match="line of text"):
            label_take(studio, studio.local, converted, 1, name=name)

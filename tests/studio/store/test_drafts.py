import pytest

from studio.store.drafts import gathered_at, is_draft_id, moment_of, new_draft_id, new_moment

NOW_S = 1_800_000_000.123


def test_a_key_tells_all_that_is_shown_of_a_recording():
    draft = f"accounts/x/drafts/{new_draft_id()}"
    key = f"{draft}/{new_moment(NOW_S)}/12345/day 1/a.wav"
    found = gathered_at(key, draft)
    assert (found.key, found.name, found.duration_s) == (key, "day 1/a.wav", 12.345)
    assert f"{draft}/{found.place}" == key
    assert moment_of(found.place) == pytest.approx(NOW_S, abs=0.001)


@pytest.mark.parametrize("place", ["model.json", "", "x/1/a.wav", "0" * 17 + "/a.wav", "0" * 17 + "/-1/a.wav"])
def test_anything_else_is_no_recording(place):
    assert gathered_at(f"drafts/d/{place}", "drafts/d") is None


def test_what_comes_later_is_named_after_what_came_before():
    moments = [new_moment(NOW_S + 0.001 * step) for step in (0, 1, 100, 1e6, 1e9)]
    assert moments == sorted(moments)
    assert new_moment(NOW_S) != new_moment(NOW_S)
    assert moment_of("model.json") is None


def test_ids_are_told_from_paths():
    assert is_draft_id(new_draft_id())
    assert not any(map(is_draft_id, ["", "../x", "0" * 23, "0" * 25, "G" * 24, "0" * 23 + "\n"]))

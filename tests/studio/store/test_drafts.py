import pytest

from studio.store.drafts import gathered_at, is_draft_id, moment_of, new_draft_id, new_moment

NOW_S = 1_800_000_000.123


def test_gathered_at_reads_name_duration_and_place_from_the_key():
    draft = f"accounts/x/drafts/{new_draft_id()}"
    key = f"{draft}/{new_moment(NOW_S)}/12345/day 1/a.wav"
    found = gathered_at(key, draft)
    assert (found.key, found.name, found.duration_s) == (key, "day 1/a.wav", 12.345)
    assert f"{draft}/{found.place}" == key
    assert moment_of(found.place) == pytest.approx(NOW_S, abs=0.001)


@pytest.mark.parametrize("place", ["model.json", "", "x/1/a.wav", "0" * 17 + "/a.wav", "0" * 17 + "/-1/a.wav"])
def test_gathered_at_returns_none_for_any_other_key(place):
    assert gathered_at(f"drafts/d/{place}", "drafts/d") is None


def test_new_moment_sorts_by_time_and_never_repeats():
    moments = [new_moment(NOW_S + 0.001 * step) for step in (0, 1, 100, 1e6, 1e9)]
    assert moments == sorted(moments)
    assert new_moment(NOW_S) != new_moment(NOW_S)
    assert moment_of("model.json") is None


def test_is_draft_id_accepts_new_ids_and_refuses_paths():
    assert is_draft_id(new_draft_id())
    assert not any(map(is_draft_id, ["", "../x", "0" * 23, "0" * 25, "G" * 24, "0" * 23 + "\n"]))

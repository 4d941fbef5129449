"""Comps of takes."""

import pytest

from engine.errors import SettingsError
from studio.actions.conversions.comps import comp_view, repeat_comp, start_comp
from studio.actions.conversions.conversion import ConversionRequest, start_conversion
from studio.actions.conversions.edits import edit_view
from studio.actions.tasks import delete_results, delete_task, task_view
from studio.errors import Invalid, NotFound, WrongState
from studio.store.records.conversion import ChosenTake
from studio.store.tasks import claim, find

STARTS_S = [0.0, 0.3, 0.6]


@pytest.fixture
def phrased(studio, recording, complete_task):
    """Makes the id of a conversion with two takes of three phrases."""

    def make(model: str = "kathleen", seconds: float = 1.0, starts_s=STARTS_S) -> str:
        request = ConversionRequest(model, {"takes": 2})
        task_id = start_conversion(studio, studio.local, recording(seconds), "my vocal.wav", request)
        complete_task(claim(studio.database, "worker", ["conversion"], 60), phrase_starts_s=starts_s, untrained=False)
        return task_id

    return make


def chosen(*takes: tuple[str, int]) -> list[ChosenTake]:
    return [ChosenTake(task, take) for task, take in takes]


def test_start_comp_keeps_its_own_copies_of_the_recording_and_takes(studio, phrased):
    first, second = phrased(), phrased()
    assert comp_view(studio, studio.local, first, "", 0.0).starts_s == STARTS_S
    titles = [(one.task, one.title) for one in comp_view(studio, studio.local, first, "", 0.0).takes]
    assert titles == [(first, "Take 1"), (first, "Take 2"), (second, "Take 1"), (second, "Take 2")]
    new = start_comp(studio, studio.local, first, chosen((first, 2), (second, 1), (second, 1)))
    given = find(studio.database, studio.local.id, new).parameters
    assert given["comp"]["parts"] == [{"start_s": 0.0, "take": 0}, {"start_s": 0.3, "take": 1}]
    assert given["settings"]["takes"] == 1
    for task in (first, second):
        delete_results(studio, studio.local, task)
    for key in (given["input_key"], *given["comp"]["takes"]):
        assert studio.storage.head(key) is not None
    assert task_view(studio, studio.local, new, "", 0.0).comp == chosen((first, 2), (second, 1), (second, 1))


def test_repeat_comp_works_after_the_original_is_deleted(studio, phrased):
    first = phrased()
    new = start_comp(studio, studio.local, first, chosen((first, 2), (first, 1), (first, 2)))
    delete_task(studio, studio.local, first)
    again = repeat_comp(studio, studio.local, new)
    before, after = (find(studio.database, studio.local.id, one).parameters["comp"] for one in (new, again))
    assert after["parts"] == before["parts"]
    assert all(studio.storage.head(key) is not None for key in after["takes"])


def test_edit_view_refuses_a_comp(studio, phrased, complete_task):
    first = phrased()
    new = start_comp(studio, studio.local, first, chosen((first, 2), (first, 1), (first, 2)))
    complete_task(claim(studio.database, "worker", ["conversion"], 60), phrase_starts_s=STARTS_S)
    with pytest.raises(WrongState, match="pitch of a comp"):
        edit_view(studio, studio.local, new, 1, "", 0.0)


def test_start_comp_refuses_mismatched_and_unknown_takes(studio, other, phrased):
    first, koguchi, longer, old = phrased(), phrased("koguchi"), phrased(seconds=1.5), phrased(starts_s=[])
    refused = [
        (studio.local, first, chosen((first, 1)), SettingsError, "has 3 phrases, not 1"),
        (studio.local, first, chosen(*[(first, 3)] * 3), NotFound, "no such take"),
        (studio.local, first, chosen(*[("unknown", 1)] * 3), NotFound, "no"),
        (
            studio.local,
            first,
            chosen((first, 1), (koguchi, 1), (first, 1)),
            Invalid,
            "two voices, Kathleen and Koguchi",
        ),
        (studio.local, first, chosen((first, 1), (longer, 1), (first, 1)), Invalid, "two recordings"),
        (studio.local, old, chosen((old, 1)), WrongState, "before takes could be comped"),
        (other, first, chosen(*[(first, 1)] * 3), NotFound, "no"),
    ]
    for account, task, choice, error, sentence in refused:
        with pytest.raises(error, match=sentence):
            start_comp(studio, account, task, choice)
    assert claim(studio.database, "worker", ["conversion"], 60) is None

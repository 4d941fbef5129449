import pytest

from studio.actions.blends import start_blend
from studio.actions.creations import create_model
from studio.actions.new_voices import active_new_voice, new_voice_view
from studio.errors import Invalid, NotFound, TooMany, WrongState
from studio.store.tasks import claim, complete, fail, find


def test_start_blend_queues_a_task_and_new_voice_view_names_its_voice(studio):
    task_id = start_blend(studio, studio.local, "kathleen", "koguchi", 0.3)
    task = find(studio.database, studio.local.id, task_id)
    assert task.parameters == {
        "first": "kathleen", "second": "koguchi", "share": 0.3, "name": "Kathleen and Koguchi",
    }  # fmt: skip
    assert active_new_voice(studio, studio.local, "blend") == new_voice_view(studio, studio.local, "blend", task_id)
    assert new_voice_view(studio, studio.local, "blend", task_id).is_active
    claimed = claim(studio.database, "worker", ["blend"], 60)
    with studio.database.write() as connection:
        complete(connection, claimed, {"model_id": "kathleen-and-koguchi"})
    view = new_voice_view(studio, studio.local, "blend", task_id)
    assert (view.state, view.model_id, view.is_active) == ("completed", "kathleen-and-koguchi", False)
    assert active_new_voice(studio, studio.local, "blend") is None


def test_new_voice_view_shows_the_error_of_a_failed_blend(studio):
    task_id = start_blend(studio, studio.local, "kathleen", "koguchi", 0.3, " Käthe ")
    claimed = claim(studio.database, "worker", ["blend"], 60)
    with studio.database.write() as connection:
        fail(connection, claimed, "It did not work.", "reason")
    view = new_voice_view(studio, studio.local, "blend", task_id)
    assert (view.name, view.error, view.model_id) == ("Käthe", "It did not work.", None)


@pytest.mark.parametrize(
    ("given", "error", "says"),
    [
        (("kathleen", "kathleen", 0.5), Invalid, "two different"),
        (("kathleen", "koguchi", 1.5), Invalid, "from 0 to 1"),
        (("kathleen", "koguchi", 0.5, "a\u0000b"), Invalid, "control characters"),
        (("kathleen", "koguchi", 0.5, "x" * 101), Invalid, "at most 100"),
        (("kathleen", "nobody", 0.5), NotFound, "no voice"),
    ],
)
def test_start_blend_refuses_invalid_voices_shares_and_names(studio, given, error, says):
    with pytest.raises(error, match=says):
        start_blend(studio, studio.local, *given)
    assert active_new_voice(studio, studio.local, "blend") is None


def test_start_blend_refuses_an_untrained_voice(studio, package):
    create_model(studio, studio.local, package())
    with pytest.raises(WrongState, match="train it first"):
        start_blend(studio, studio.local, "kathleen", "mia", 0.5)


def test_start_blend_refuses_too_many_active_blends(studio):
    for _ in range(4):
        start_blend(studio, studio.local, "kathleen", "koguchi", 0.5)
    with pytest.raises(TooMany):
        start_blend(studio, studio.local, "kathleen", "koguchi", 0.5)


def test_start_blend_refuses_to_exceed_the_limit_of_voices(studio, package):
    for _ in range(5):
        create_model(studio, studio.local, package())
    with pytest.raises(TooMany, match="5 voices"):
        start_blend(studio, studio.local, "kathleen", "koguchi", 0.5)


def test_new_voice_view_and_active_new_voice_hide_blends_of_other_accounts(studio, other):
    task_id = start_blend(studio, studio.local, "kathleen", "koguchi", 0.5)
    with pytest.raises(NotFound):
        new_voice_view(studio, other, "blend", task_id)
    assert active_new_voice(studio, other, "blend") is None

"""The table of kinds: every list of kinds is made of it."""

from importlib.util import find_spec
from pkgutil import resolve_name

from pydantic import TypeAdapter

from studio.actions.tasks import TaskView
from studio.settings.service import ServiceSettings
from studio.store.kinds import KIND_OF, KINDS, LANE_OF, LANES, LISTED, LONG_COST, QUEUES, UNLISTED


def test_every_kind_has_a_function_that_carries_it_out():
    assert all(callable(resolve_name(kind.run)) for kind in KINDS.values())


def test_every_kind_is_in_lanes_that_there_are():
    for kind in KINDS.values():
        assert {LANE_OF[queue] for queue in kind.queues} <= set(LANES)
        assert all(KIND_OF[queue] is kind for queue in kind.queues)
    assert all(QUEUES.values())


def test_every_lane_has_modules_and_a_number_of_workers():
    for lane in LANES.values():
        assert all(find_spec(name) for name in lane.loads)
        assert not lane.workers or isinstance(getattr(ServiceSettings(), lane.workers), int)


def test_queue_of_long_conversions_is_another_and_only_theirs():
    assert KINDS["conversion"].queue_of(LONG_COST) == "conversion"
    assert KINDS["conversion"].queue_of(LONG_COST + 1) == "long conversion"
    assert KINDS["training"].queue_of(10 * LONG_COST) == "training"


def test_history_and_interface_show_the_listed_kinds():
    assert {*LISTED, *UNLISTED} == set(KINDS)
    assert tuple(TypeAdapter(TaskView).json_schema()["properties"]["kind"]["enum"]) == LISTED

"""The parts of the hostile hour that count and judge; the attacks themselves are told in tests/stories."""

import json

import httpx
import pytest

from studio.load.attacks import Attack, attacks
from studio.load.hostile import Course, Look, loaded
from studio.load.payloads import changed, deep_json, zipped

MAPS = """7f00-7f10 r-xp 00000000 00:00 1   /x/site-packages/torch/lib/libtorch_cpu.so
7f10-7f20 r-xp 00000000 00:00 2   /x/site-packages/onnxruntime/capi/onnxruntime_pybind11_state.so
7f20-7f30 r-xp 00000000 00:00 3   /x/lib/python3.11/lib-dynload/_json.so
"""


def looks(*memory: float, **last: object) -> list[Look]:
    found = [Look(10.0 * number, one, 700.0, 3, 0) for number, one in enumerate(memory)]
    return [*found[:-1], Look(**{**vars(found[-1]), **last})]


def test_loaded_names_the_libraries_of_networks():
    assert loaded(MAPS) == ("libtorch_cpu.so", "onnxruntime")
    assert loaded("\n".join(MAPS.splitlines()[2:])) == ()


def test_course_gives_the_slope_of_the_second_half():
    filled_first = Course(looks(100.0, 300.0, 300.0, 300.0, 300.0))
    assert filled_first.mb_per_hour == pytest.approx(0.0)
    growing = Course(looks(100.0, 110.0, 120.0, 130.0, 140.0, 150.0, 160.0))
    assert growing.mb_per_hour == pytest.approx(60.0)
    assert Course(looks(100.0, 200.0)).mb_per_hour == 0.0
    assert "+60.0 MB an hour" in str(growing)


def test_course_keeps_bounds_only_if_nothing_was_wrong():
    good = looks(200.0, 250.0, 250.0, 251.0, 250.0)
    assert Course(good).keeps_bounds
    assert not Course(looks(200.0, 250.0, 300.0, 350.0, 400.0)).keeps_bounds
    assert not Course(looks(200.0, 250.0, 250.0, tracebacks=1)).keeps_bounds
    assert not Course(looks(200.0, 250.0, 250.0, loaded=("libtorch_cpu.so",))).keeps_bounds
    course = Course(good)
    course.note("422", "")
    assert course.keeps_bounds
    course.note("500", "imports answered 500")
    assert not course.keeps_bounds
    assert course.answers == {"422": 1, "500": 1}
    assert "imports answered 500" in str(course)


@pytest.mark.parametrize(
    ("status", "said", "is_right"),
    [
        *((422, {"code": "invalid", "detail": "No."}, True), (503, {"code": "busy", "detail": "Later."}, True)),
        *((507, {"code": "disk_full", "detail": "Full."}, True), (200, {}, False)),
        *((500, {"code": "a", "detail": "b"}, False), (503, {}, False)),
        *((422, {"code": "invalid"}, False), (422, {"code": "a", "detail": "x" * 5_000}, False)),
        (422, {"code": "a", "detail": "Traceback (most recent call last)"}, False),
    ],
)
def test_attack_is_right_only_with_a_short_reason(status, said, is_right):
    answer = httpx.Response(status, json=said)
    assert (not Attack("songs", "malformed", "POST", "/convert").wrong(answer)) == is_right


def test_attacks_are_sent_to_what_belongs_to_each_account():
    package = zipped({"mia/voice.json": b"{}", "mia/voice.safetensors": b"x"})
    found = list(attacks(package))
    others = {one.path for one in found if "{their" in one.path}
    assert len(others) > 10
    assert all(one.expected == {404} for one in found if one.path in others)
    kinds = {(one.surface, one.kind) for one in found}
    assert {("imports", "huge"), ("verify", "huge"), ("songs", "malformed"), ("effects", "huge")} <= kinds


def test_changed_replaces_files_of_a_package_by_their_suffix():
    package = zipped({"mia/voice.json": b"{}", "mia/voice.safetensors": b"x"})
    assert changed(package, json=b"[]") == zipped({"mia/voice.json": b"[]", "mia/voice.safetensors": b"x"})
    with pytest.raises(RecursionError):
        json.loads(deep_json())

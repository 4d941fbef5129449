"""The count of lines by room and by feature: every file once, for the first feature that names it."""

from pathlib import PurePath

from tests.design.sizes import FEATURES, REST, Size, feature_of, files_of, room_of, summed


def test_files_of_leaves_out_what_is_no_product(tmp_path):
    for place, text in (
        {"engine/one.py": "1\n2\n", "engine/research/two.py": "1\n", "studio/page/parts/three.js": "1\n2\n3\n"}
        | {"studio/typescript/four.js": "1\n", "studio/http/static/swagger.min.js": "1\n", "tests/five.py": "1\n"}
    ).items():
        (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / place).write_text(text)
    assert files_of(tmp_path) == {
        PurePath("engine/one.py"): Size(2, 0),
        PurePath("studio/page/parts/three.js"): Size(0, 3),
    }


def test_feature_of_takes_the_first_that_names_a_file():
    features = {"live": ("**/live*", "engine/live/*"), "page": ("studio/page/*",)}
    places = ("studio/page/live.py", "studio/page/one.py", "studio/page/parts/one.py", "engine/live/pipe.py")
    assert [feature_of(PurePath(one), features) for one in places] == ["live", "page", REST, "live"]


def test_summed_counts_by_name_and_shows_the_largest_first():
    files = [("a", Size(1, 0)), ("b", Size(0, 5)), ("a", Size(2, 1))]
    assert summed(files) == [("b", Size(0, 5)), ("a", Size(3, 1))]


def test_every_feature_has_files_and_every_file_counts_once():
    files = files_of()
    by_feature = summed((feature_of(place), size) for place, size in files.items())
    by_room = summed((room_of(place), size) for place, size in files.items())
    assert {name for name, _ in by_feature} == {*FEATURES, REST}
    for rows in (by_feature, by_room):
        assert sum(size.python for _, size in rows) == sum(size.python for size in files.values())

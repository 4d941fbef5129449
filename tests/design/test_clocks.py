"""No test may depend on how fast the machine is: it waits for what has to come, or has a clock of its own.

`tests.waiting` has both, with the waits of `studio.load.waiting`. What is left to read the machine's clock is listed
here, with the reason.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import SYSTEM_ROOMS

TESTS = Path(__file__).parents[1]
# what is run as a whole, on the machine's clock, or measured there
APART = (*SYSTEM_ROOMS, "studio/load", "stories")
MARKS = ("pytest.mark.system", "pytest.mark.slow")
CLOCKS = {
    *(f"time.{name}" for name in ("time", "time_ns", "monotonic", "perf_counter", "process_time", "sleep")),
    *("asyncio.sleep", "datetime.datetime.now", "datetime.now"),
}
ALLOWED = {
    "mutants.py": "ends the tests of a fault that makes them wait for ever",
    "engine/provenance/test_verification.py": "c2pa looks at the machine's clock; the certificate lasts long enough",
    "studio/store/test_database.py": "the database's clock lies between two looks at the machine's",
    "studio/store/test_storage.py": "so does the time of a file, to seconds",
    "studio/http/routes/test_files.py": "links say until when they hold, in days",
    "studio/page/test_early_scripts.py": "a route that never answers",
}
BOUNDED = {"join", "wait", "result", "communicate"}  # methods whose first argument is how long they wait
SHORTEST_S = 60.0  # of a bound that a slow machine must not reach


@pytest.fixture(scope="module")
def modules() -> dict[str, ast.Module]:
    """Name within the tests -> syntax tree."""
    paths = sorted(TESTS.rglob("*.py"))
    return {str(path.relative_to(TESTS)): ast.parse(path.read_text(encoding="utf-8")) for path in paths}


def is_marked(node: ast.AST) -> bool:
    """Whether a test is marked as a system test, or a slow one."""
    return any(ast.unparse(one).startswith(MARKS) for one in node.decorator_list)


def of_the_default_suite(tree: ast.Module) -> Iterator[ast.stmt]:
    """The statements of a module that the tests of the default selection run; none if it is marked as a whole."""
    assigned = (node for node in tree.body if isinstance(node, ast.Assign))
    marks = [ast.unparse(node.value) for node in assigned if ast.unparse(node.targets[0]) == "pytestmark"]
    if not any(mark in text for text in marks for mark in MARKS):
        yield from (node for node in tree.body if not (isinstance(node, ast.FunctionDef) and is_marked(node)))


def clocks_in(node: ast.AST) -> Iterator[str]:
    """Mentions of the machine's clock; a wait for nothing only lets others go first."""
    gives_way = {one.func for one in ast.walk(node) if isinstance(one, ast.Call) and ast.unparse(one).endswith("(0)")}
    for one in ast.walk(node):
        taken = isinstance(one, ast.ImportFrom) and one.module == "time"
        if taken or (isinstance(one, ast.Attribute) and one not in gives_way and ast.unparse(one) in CLOCKS):
            yield f"{one.lineno}: {ast.unparse(one)}"


def test_tests_of_the_default_suite_read_no_clock_and_do_not_sleep(modules):
    found = {
        name: [clock for node in of_the_default_suite(tree) for clock in clocks_in(node)]
        for name, tree in modules.items()
        if not name.startswith(APART) and name not in ALLOWED
    }
    assert {name: clocks for name, clocks in found.items() if clocks} == {}


def test_allowed_clocks_are_still_read(modules):
    reading = {name for name, tree in modules.items() if any(clocks_in(tree))}
    assert set(ALLOWED) <= reading


def bounds_in(tree: ast.AST) -> Iterator[tuple[int, float]]:
    """Line and seconds of each bound on how long something may take, as far as it is a number."""
    for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
        given = [one.value for one in call.keywords if one.arg in ("timeout", "connect_timeout")]
        if isinstance(call.func, ast.Attribute) and call.func.attr in BOUNDED:
            given += call.args[:1]
        for value in given:
            if isinstance(value, ast.Constant) and isinstance(value.value, int | float):
                yield call.lineno, float(value.value)


def test_tests_bound_no_wait_by_less_than_a_minute(modules):
    found = {
        name: [line for line, bound_s in bounds_in(tree) if 0 < bound_s < SHORTEST_S] for name, tree in modules.items()
    }
    assert {name: lines for name, lines in found.items() if lines} == {}

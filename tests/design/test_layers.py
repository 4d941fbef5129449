"""The rooms of the project, ground floor first: a room imports from those above it in its table, never from below."""

import ast
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

# room: what it holds. A module that lies in no room is one itself, named by its file.
ENGINE = {
    "texts": "texts that remember their templates",
    "errors": "what is told to users",
    "spelling": "names composed, and folded for searches",
    "units": "frames, semitones, decibels",
    "version": "of this program",
    "installed": "how it was installed, and commands for that",
    "settings": "ranges and one-line meanings",
    "reprs": "values with arrays, in one line",
    "filters": "transforms and filters of scipy, without its packages",
    "cores": "processor cores",
    "torch_loading": "torch, early and without what only other programs use",
    "workers": "threads that work on one recording side by side",
    "forks": "processes forked from one that has computed",
    "devices": "processor and GPUs",
    "carrying": "numbers on their way to a GPU and back",
    "files": "files that appear whole or not at all",
    "progress": "progress of long work",
    "pinned": "files that are fetched on request, by their checksum",
    "framing": "where the parts of a file lie, whatever they hold",
    "provenance": "what files say of how they were made, signed and verified",
    "zip_names": "names of files in zips, in whatever code page",
    "archives": "zips from anybody",
    "audio": "reading and writing recordings",
    "analysis": "pitch, loudness, envelope, notes, style",
    "networks": "what is learned, and its losses",
    "features": "what is known of a recording's frames, and of a voice's",
    "confinement": "what a process gives up that works on strangers' files",
    "rvc": "RVC models: their files, networks and listener",
    "voices": "profiles, cards, weights, packages, blends",
    "conversion": "a recording in another voice, and edits of takes",
    "live": "a performance converted while it is sung",
    "effects": "EQ, dynamics and reverb on a finished vocal",
    "songs": "a vocal out of a song, its stretches in several voices, and mixed again",
    "datasets": "recordings a voice is made of, and the report on them",
    "evaluation": "scores",
    "training": "a voice from its data set",
    "plots": "pictures",
    "widgets": "interactive parts of notebooks",
    "research": "what measures, prepares and explains the rest; only what notebooks show is installed",
    "benchmark": "its command of measurements",
    "pretraining": "its command that makes weights and demo voices",
}
STUDIO = {
    "errors": "what the service answers with",
    "languages": "catalogues of translations, and who speaks them",
    "exchange": "answers of any server: in time, understood, or one error",
    "client": "the service from Python",
    "addresses": "those that others gave, checked and called",
    "settings": "options of the service and of its environment",
    "doctor": "what works on this machine",
    "tracing": "OpenTelemetry traces",
    "store": "database and storage, and what lies in them",
    "executors": "processes that do the work",
    "actions": "what a user can do",
    "http": "the service",
    "learn": "lessons, and the site made of them",
    "page": "the page",
    "server": "service and page, served",
    "mcp_server": "tools for assistants",
    "commands": "the command line",
    "load": "programs that measure a service of their own",
    "__main__": "python -m studio",
}
# of both packages, rooms that nothing else imports
LAST = {"engine": {"widgets", "research", "benchmark", "pretraining"}, "studio": {"load", "__main__"}}
NOT_INSTALLED = {"research", "benchmark", "pretraining", "load"}  # may import each other, and widgets


def rooms_of(package: str) -> list[str]:
    return list(ENGINE if package == "engine" else STUDIO)


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def room_of(module: str) -> str | None:
    """The room of a dotted name, the package's own door being none."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else None


def imports(path: Path) -> Iterator[tuple[int, str]]:
    """(line, dotted name) of all that a module imports, inside functions too."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.lineno, node.module
            yield from ((node.lineno, f"{node.module}.{alias.name}") for alias in node.names)


def modules(package: str) -> list[Path]:
    return sorted((ROOT / package).rglob("*.py"))


@pytest.mark.parametrize("package", ["engine", "studio"])
def test_layers_match_the_modules_on_disk(package):
    known = set(rooms_of(package))
    found = {room for path in modules(package) if (room := room_of(module_name(path)))}
    assert found == known


@pytest.mark.parametrize("package", ["engine", "studio"])
def test_layers_do_not_import_from_later_layers(package):
    rooms = rooms_of(package)
    offenders = set()
    for path in modules(package):
        own = room_of(module_name(path))
        if own is None:
            continue
        for line, name in imports(path):
            other = room_of(name) if name.startswith(f"{package}.") else None
            if other in rooms and rooms.index(other) > rooms.index(own):
                offenders.add(f"{path.relative_to(ROOT)}:{line} imports {name}")
    assert not offenders


@pytest.mark.parametrize("package", ["engine", "studio"])
def test_last_layers_are_not_imported_by_others(package):
    offenders = set()
    for path in [*modules("engine"), *modules("studio")]:
        own = room_of(module_name(path))
        if own in NOT_INSTALLED:
            continue
        for line, name in imports(path):
            if name.startswith(f"{package}.") and room_of(name) in LAST[package] - {own}:
                offenders.add(f"{path.relative_to(ROOT)}:{line} imports {name}")
    assert not offenders


@pytest.mark.parametrize("package", ["engine", "studio"])
def test_modules_have_no_circular_imports(package):
    """Inside functions too: a circle that is cut by a late import is a circle."""
    refuse_circles({module_name(path): {name for _, name in imports(path)} for path in modules(package)})


@pytest.mark.parametrize("room", [str(path.parent.relative_to(ROOT)) for path in ROOT.glob("[es]*/*/__init__.py")])
def test_rooms_have_no_circles_inside(room):
    """A folder within a room is one part of it, however many modules it has."""
    graph: dict[str, set[str]] = {}
    for path in (ROOT / room).rglob("*.py"):
        graph.setdefault(part_of(module_name(path)), set()).update(part_of(name) for _, name in imports(path))
    refuse_circles(graph)


def part_of(module: str) -> str:
    return ".".join(module.split(".")[:3])


def refuse_circles(graph: dict[str, set[str]]) -> None:
    """Fail with the first circle of what imports what; others than the keys do not count."""
    try:
        known = {name: (imported & graph.keys()) - {name} for name, imported in graph.items()}
        tuple(TopologicalSorter(known).static_order())
    except CycleError as circle:
        pytest.fail(" <- ".join(circle.args[1]))


@pytest.mark.parametrize("package", ["engine", "studio"])
def test_layers_have_empty_init_files(package):
    """Their own __init__ is empty: importing one module of a room must not load its neighbours, or torch."""
    first = {ROOT / package / "__init__.py", ROOT / "engine/widgets/__init__.py"}
    first |= {ROOT / "engine/research/demonstrations/__init__.py"}
    filled = [path for path in (ROOT / package).rglob("__init__.py") if path not in first and path.read_text().strip()]
    assert not [path for path in filled if ast.parse(path.read_text()).body[1:]]

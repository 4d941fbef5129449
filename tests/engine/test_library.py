"""The library's door, `engine`: all names visible and typed, nothing loaded before it is used, nothing forgotten."""

import inspect
import pydoc
import subprocess
import sys
import tomllib
import typing
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pytest
import torch

import engine
import engine.provenance.certificates

ROOT = Path(__file__).parents[2]


def offered() -> dict[str, object]:
    return {name: getattr(engine, name) for name in engine.__all__}


def callables() -> Iterator[tuple[str, Callable[..., object]]]:
    """Functions, methods and properties that are offered, with their names."""
    for name, one in offered().items():
        if inspect.isfunction(one):
            yield name, one
        elif inspect.isclass(one) and one.__module__.startswith("engine"):
            for member, made in vars(one).items():
                function = getattr(made, "fget", None) or getattr(made, "__func__", made)
                written = not member.startswith("_") or (member == "__init__" and not is_dataclass(one))
                if inspect.isfunction(function) and written:
                    yield f"{name}.{member}", function


def hints_of(function: Callable[..., object]) -> dict[str, object]:
    return typing.get_type_hints(function, localns=vars(engine.provenance.certificates))


def classes_in(hint: object) -> Iterator[type]:
    if isinstance(hint, type) and not typing.get_args(hint):
        yield hint
    for part in typing.get_args(hint):
        yield from classes_in(part)


def test_importing_the_engine_loads_nothing_else():
    program = (
        "import sys; import engine; names = dir(engine); "
        "print([one for one in sys.modules if one.startswith(('engine.', 'numpy', 'torch', 'scipy', 'librosa'))])"
    )
    found = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_all_names_are_seen_before_they_are_loaded():
    assert {"convert", "Voice", "AudioError", "SAMPLE_RATE", "__version__"} <= set(dir(engine))
    assert sorted(dir(engine)) == sorted(engine.__all__)
    assert len(engine.__all__) == len(set(engine.__all__)) > 150


def test_every_name_that_is_seen_can_be_loaded():
    assert len(offered()) == len(engine.__all__)
    assert engine.__version__ == version("timbre-studio")
    with pytest.raises(AttributeError, match="nothing"):
        engine.nothing  # noqa: B018


def test_help_shows_functions_and_their_parameters():
    shown = pydoc.plain(pydoc.render_doc(engine))
    assert "convert(recording: " in shown
    assert "class ConversionSettings(" in shown
    assert f"VERSION\n    {engine.__version__}" in shown


def test_every_type_that_a_user_meets_is_offered():
    """In what is passed, returned and raised: an editor names it, and `from engine import` has it."""
    classes = {one for one in offered().values() if inspect.isclass(one)}
    met = {
        kind
        for _, function in callables()
        for hint in hints_of(function).values()
        for kind in classes_in(hint)
        if kind.__module__.startswith("engine.")
    }
    assert len(met) > 50
    assert not {f"{kind.__module__}.{kind.__name__}" for kind in met - classes}


def test_every_error_for_users_is_offered():
    import engine.errors
    import engine.rvc.sandbox

    def below(kind: type) -> Iterator[type]:
        yield kind
        for one in kind.__subclasses__():
            yield from below(one)

    raised = {kind for kind in below(engine.EngineError) if kind.__module__.startswith("engine.")}
    assert len(raised) > 10
    assert not {kind.__name__ for kind in raised} - set(engine.__all__)


def test_every_path_may_be_text():
    offenders = []
    for name, function in callables():
        hints = hints_of(function)
        hints.pop("return", None)
        for argument, hint in hints.items():
            kinds = set(classes_in(hint))
            if Path in kinds and str not in kinds:
                offenders.append(f"{name}({argument})")
    assert not offenders


def test_values_made_of_paths_take_text():
    parts, edit_data = engine.read_parts("kathleen"), object()
    lane, stem = engine.Lane("a.wav", original="b.wav"), engine.Stem("a.wav", parts)
    take = engine.FileTake("a.wav", "b.wav", edit_data, 0)
    files = engine.SongFiles("a.wav", "b.wav", "c.wav", ["d.wav", Path("e.wav")])
    made = [
        *(lane.path, lane.original, stem.path, take.source, take.path),
        *(engine.Song(stem, "b.wav").backing, files.mix, files.vocal, files.backing, *files.stems),
        *(engine.FolderStages("stages").folder, engine.TeachingSource("a.wav").path),
        *(engine.EarlierEdit("a.wav", []).path, engine.Installation("data", key="key.pem").key),
    ]
    assert all(isinstance(one, Path) for one in made)
    assert (stem.parts, take.edit_data, engine.Song(stem).backing) == (parts, edit_data, None)


def test_values_that_hold_arrays_are_one_line_of_text():
    """By their own `__repr__`, since that of a dataclass prints every number, and equality would compare them."""
    many = (np.ndarray, torch.Tensor, engine.EditData, engine.Analysis)
    offenders = []
    for name, one in offered().items():
        if inspect.isclass(one) and is_dataclass(one):
            hints = typing.get_type_hints(one)
            held = {kind for field in fields(one) for kind in classes_in(hints[field.name])}
            prints = "__dataclass_fields__" in vars(one) and one.__dataclass_params__.repr
            if prints and any(issubclass(kind, many) for kind in held):
                offenders.append(name)
    assert not offenders


@pytest.mark.skipif(not (Path(sys.executable).parent / "mypy").exists(), reason="mypy is not installed here")
def test_type_checkers_see_the_types_of_what_is_offered(tmp_path):
    """As in a user's program, with the cache that the check of the whole project has filled."""
    program = tmp_path / "program.py"
    program.write_text(
        "import engine\n"
        "from engine import ConversionSettings, convert\n"
        "reveal_type(convert('vocal.wav', 'kathleen', {'takes': 2}).takes[0].audio)\n"
        "reveal_type(engine.load_voice)\n"
        "reveal_type(engine.SAMPLE_RATE)\n"
        "reveal_type(ConversionSettings(takes=2).likeness)\n"
        "engine.nothing\n"
    )
    command = [Path(sys.executable).parent / "mypy", "--cache-dir", ROOT / ".mypy_cache", program]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    notes = [line.partition('note: Revealed type is "')[2].rstrip('"') for line in found.stdout.splitlines()]
    audio, load_voice, *numbers = [one for one in notes if one]
    assert audio == "engine.audio.files.Audio"
    assert load_voice.endswith("-> engine.voices.voice.Voice")
    assert numbers == ["int", "float"]
    assert "nothing" in found.stdout.splitlines()[-2]


def test_the_wheel_holds_the_types():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    data = project["tool"]["setuptools"]["package-data"]
    assert {"py.typed", "*.pyi"} <= set(data["engine"])
    assert (ROOT / "engine" / "py.typed").exists()
    assert any(need.startswith("lazy-loader") for need in project["project"]["dependencies"])

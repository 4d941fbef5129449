"""The docstrings of all that the library offers: of functions NumPy sections, of classes what they hold, of methods a
line or two."""

import inspect
import re
import typing
from collections.abc import Callable, Iterator
from dataclasses import MISSING, dataclass, fields, is_dataclass

import numpy as np
import pytest
import torch

import engine
from engine.settings import setting, text_setting, with_ranges

ARRAYS = (np.ndarray, torch.Tensor)
SECTIONS = ("Parameters", "Attributes", "Returns", "Yields", "Raises", "Examples")


def sections(docstring: str) -> dict[str, list[tuple[str, str]]]:
    """Entries of each section, as (what stands on the line, what stands below it)."""
    pieces = re.split(rf"^({'|'.join(SECTIONS)})\n-+\n", inspect.cleandoc(docstring), flags=re.MULTILINE)
    found = {}
    for name, body in zip(pieces[1::2], pieces[2::2], strict=True):
        entries = re.split(r"^(?=\S)", body.strip("\n"), flags=re.MULTILINE)
        found[name] = [(one.partition("\n")[0].strip(), one.partition("\n")[2].strip()) for one in entries if one]
    return found


def named(entries: list[tuple[str, str]]) -> list[str]:
    return [name.strip().lstrip("*") for head, _ in entries for name in head.partition(" :")[0].split(",")]


def listed(docstring: str) -> list[str]:
    """Names of the points of a list: `- rate: samples per second`."""
    heads = re.findall(r"^- ([\w, ]+): .", inspect.cleandoc(docstring), re.MULTILINE)
    return [name for head in heads for name in head.split(", ")]


def ours() -> dict[str, object]:
    return {name: one for name in engine.__all__ if getattr(one := getattr(engine, name), "__module__", "") != ""}


def functions() -> Iterator[tuple[str, Callable[..., object]]]:
    yield from ((name, one) for name, one in ours().items() if inspect.isfunction(one))


def methods() -> Iterator[tuple[str, Callable[..., object]]]:
    for name, one in ours().items():
        if inspect.isclass(one) and one.__module__.startswith("engine."):
            for member, made in vars(one).items():
                function = getattr(made, "__func__", made)
                if inspect.isfunction(function) and not member.startswith("_") and function.__name__ == member:
                    yield f"{name}.{member}", function


def classes() -> Iterator[tuple[str, type]]:
    for name, one in ours().items():
        if inspect.isclass(one) and one.__module__.startswith("engine."):
            yield name, one


FUNCTIONS, METHODS, CLASSES = dict(functions()), dict(methods()), dict(classes())
RAISING = {name: one for name, one in CLASSES.items() if issubclass(one, Exception)}


def hints(function: Callable[..., object]) -> dict[str, object]:
    import engine.provenance.certificates

    return typing.get_type_hints(function, localns=vars(engine.provenance.certificates))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_name_their_parameters_results_and_errors(name: str) -> None:
    function = FUNCTIONS[name]
    said = sections(function.__doc__ or "")
    wanted = [one for one in inspect.signature(function).parameters if one not in ("self", "cls")]
    assert named(said.get("Parameters", [])) == wanted
    returned = hints(function)["return"]
    gives = "Yields" if "Iterator" in str(returned) else "Returns"
    assert (gives in said) == (returned is not type(None))
    for errors, _ in said.get("Raises", []):
        assert set(errors.split(", ")) <= {*RAISING, "OSError"}
    text = (function.__doc__ or "").partition("Examples\n")[0]
    assert text
    assert not re.search(r"\bRaises [A-Z]", text), "errors have a section of their own"
    assert ">>>" not in text, "examples have a section of their own"


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_give_the_shapes_of_arrays(name: str) -> None:
    said = sections(FUNCTIONS[name].__doc__ or "")
    kinds = {one: head for head, _ in said.get("Parameters", []) for one in named([(head, "")])}
    kinds["return"] = " ".join(head for head, _ in (*said.get("Returns", []), *said.get("Yields", [])))
    for argument, hint in hints(FUNCTIONS[name]).items():
        if any((typing.get_origin(part) or part) in ARRAYS for part in (hint, *typing.get_args(hint))):
            assert re.search(r"\(.*\)|array", kinds[argument]), f"{argument}: {kinds[argument]}"


@pytest.mark.parametrize("name", METHODS)
def test_methods_give_the_shapes_of_arrays_and_name_errors_that_there_are(name: str) -> None:
    kind, _, member = name.partition(".")
    said = inspect.getdoc(getattr(CLASSES[kind], member)) or ""  # of the class that it comes from, where it has none
    assert said
    given = hints(METHODS[name]).values()
    if any((typing.get_origin(part) or part) in ARRAYS for hint in given for part in (hint, *typing.get_args(hint))):
        assert re.search(r"\(\w[^)]*\)|array", said)
    assert set(re.findall(r"[Rr]aises? (\w+Error|Cancelled)", said)) <= {*RAISING, "OSError"}


@pytest.mark.parametrize("name", CLASSES)
def test_classes_name_what_they_hold_or_are_made_from(name: str) -> None:
    kind = CLASSES[name]
    said = sections(kind.__doc__ or "")
    there = named(said.get("Parameters", [])) + named(said.get("Attributes", [])) + listed(kind.__doc__ or "")
    if is_dataclass(kind):
        assert sorted(there) == sorted(one.name for one in fields(kind))
    elif "__init__" in vars(kind) and name not in RAISING and not getattr(kind, "_is_protocol", False):
        assert set(inspect.signature(kind).parameters) <= set(there)
    assert not re.search(r"^>>>", (kind.__doc__ or "").partition("Examples\n")[0], re.MULTILINE)


def test_settings_show_their_ranges_in_help() -> None:
    for kind in (engine.ConversionSettings, engine.LiveSettings, engine.EffectSettings, engine.TrainingPlan):
        entries = dict(sections(kind.__doc__ or "")["Parameters"])
        for one in fields(kind):
            (head,) = [head for head in entries if head.startswith(f"{one.name} : ")]
            assert all(word in head for word in one.metadata["words"])
            if "minimum" in one.metadata:
                assert f"{one.metadata['minimum']} to {one.metadata['maximum']}" in head
            assert head.endswith(f"by default {one.default}")
            assert " ".join(entries[head].split()) == one.metadata["meaning"]


def test_with_ranges_adds_settings_before_the_examples() -> None:
    @with_ranges
    @dataclass(frozen=True)
    class Echo:
        """How it echoes.

        Examples
        --------
        >>> 1
        1
        """

        repeats: int = setting(MISSING, 0, 9, "How often " + "and often " * 12 + "it comes.", words=("auto",))
        room: str = text_setting("hall", "Where.", ("hall", "cave"))
        plain: bool = False

    often = "    How often " + "and often " * 8 + "and"
    assert (Echo.__doc__ or "").splitlines() == [
        *("How it echoes.", "", "Parameters", "----------", "repeats : int, 0 to 9 or auto", often),
        *("    often " + "and often " * 3 + "it comes.", "room : hall or cave, by default hall", "    Where.", ""),
        *("Examples", "--------", ">>> 1", "1"),
    ]

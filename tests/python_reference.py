"""The reference of `engine` by topic, for the lessons: made of signatures and docstrings."""

import inspect
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import engine

ROOT = Path(__file__).parents[1]
# the pages: a title, what stands at their top, and the modules that they show: the first page that one fits has it
TOPICS: Mapping[str, tuple[str, str, str]] = {
    "python-audio": ("audio", "Recordings in and out, and effects.", r"audio|effects|files$"),
    "python-analyse": ("analyse", "Measure, draw and score recordings.", r"analysis|evaluation|plots\.recording"),
    "python-convert": ("convert", "Conversions, edits of their pitch, and comps.", r"conversion"),
    "python-train": ("train", "Data sets and trainings.", r"datasets|training|features|plots\.(report|training)"),
    "python-live": ("live", "Convert while somebody sings.", r"live"),
    "python-songs": ("songs", "Separate, convert in parts, and mix.", r"songs|pinned"),
    "python-voices": ("voices", "Load, keep, share and blend voices.", r"voices"),
    "python-basics": ("errors, units, credentials", "What all topics share.", r""),
}
_SECTION = re.compile(r"^(\w+)\n-{3,}\n", re.MULTILINE)
_OF_OBJECTS = (Exception, dict)  # whose signatures say nothing


def python_pages() -> dict[str, str]:
    """Return the pages by their files' names."""
    return {f"{name}.md": _page(name, *topic) for name, topic in TOPICS.items()}


def names_of(topic: str) -> list[str]:
    """Return what a page shows of what `engine` offers."""
    return [name for name, module in _modules().items() if _topic_of(module) == topic]


def _topic_of(module: str) -> str:
    return next(name for name, (_, _, modules) in TOPICS.items() if re.match(modules, module))


def _modules() -> dict[str, str]:
    """Return the module within `engine` of every name that it offers, as __init__.pyi has them."""
    listed = Path(engine.__file__).with_suffix(".pyi").read_text(encoding="utf-8")
    return {name: module for module, name in re.findall(r"^from \.([\w.]+) import (\w+) as", listed, re.MULTILINE)}


def _page(name: str, title: str, about: str, _: str) -> str:
    names = names_of(name)
    lines = [f"# Python: {title}", "", f"{about} All of it comes from `engine`; more in `help(engine)`.", ""]
    lines += ["| name | |", "|---|---|"]
    lines += [f"| [`{one}`]({name}.md#{one.lower()}) | {_cell(_summary(one))} |" for one in names]
    for one in names:
        lines += ["", f"## `{one}`", "", *_entry(one, getattr(engine, one))]
    return "\n".join(lines) + "\n"


def _summary(name: str) -> str:
    return _documentation(name, getattr(engine, name)).partition("\n\n")[0].replace("\n", " ")


def _entry(name: str, offered: object) -> Iterator[str]:
    if signature := _signature(name, offered):
        yield from ("```", signature, "```", "")
    yield from _documented(_documentation(name, offered))
    for member, method in vars(offered).items() if inspect.isclass(offered) else ():
        function = getattr(method, "fget", None) or getattr(method, "__func__", method)
        if not member.startswith("_") and inspect.isfunction(function) and function.__doc__:
            yield from ("", f"### `{name}.{member}`", "")
            if not isinstance(method, property):
                yield from ("```", _signature(f"{name}.{member}", function), "```", "")
            yield from _documented(inspect.getdoc(function) or "")


def _signature(name: str, offered: object) -> str:
    """Return how something is called, without types, which its tables name; "" for what is not called."""
    is_class = inspect.isclass(offered)
    if not (inspect.isfunction(offered) or is_class):
        return ""
    if is_class and (issubclass(offered, _OF_OBJECTS) or getattr(offered, "_is_protocol", False)):
        return ""
    words, kind = [], None
    for one in inspect.signature(offered).parameters.values():
        if one.name in ("self", "cls"):
            continue
        if one.kind is one.KEYWORD_ONLY and kind is not one.KEYWORD_ONLY:
            words.append("*")
        kind = one.kind
        given = one.default if one.default is not one.empty else None
        default = getattr(given, "__name__", repr(given))
        words.append(one.name if one.default is one.empty else f"{one.name}={default}")
    return f"{name}({', '.join(words)})"


def _documentation(name: str, offered: object) -> str:
    """Return the docstring, and of what has none the comment where it is named."""
    if inspect.isclass(offered) or inspect.isfunction(offered):
        return inspect.getdoc(offered) or ""
    source = ROOT / "engine" / (_modules()[name].replace(".", "/") + ".py")
    lines = source.read_text(encoding="utf-8").splitlines()
    at = next(place for place, line in enumerate(lines) if re.match(rf" *(\w+, )*{name}\b.*=", line))
    value, _, behind = lines[at].strip().partition("  # ")
    above = lines[at - 1].removeprefix("# ") if lines[at - 1].startswith("# ") else ""
    said = behind or above
    return f"`{value}`" + (f": {said}" if said else "")


def _documented(text: str) -> Iterator[str]:
    """Yield a docstring with NumPy sections as Markdown."""
    first, *rest = _SECTION.split(text)
    prose, *examples = re.split(r"\n\n(?=>>> )", first.strip(), maxsplit=1)
    yield re.sub(r"^- ([\w, ]+): ", r"- `\1`: ", prose, flags=re.MULTILINE)
    for one in examples:
        yield from ("", "```pycon", one, "```")
    for title, body in zip(rest[::2], rest[1::2], strict=True):
        yield from ("", f"**{title}**", "")
        if title == "Examples":
            yield from ("```pycon", body.strip(), "```")
        else:
            yield from ("| | |", "|---|---|", *_rows(body))


def _rows(body: str) -> Iterator[str]:
    for entry in re.split(r"\n(?=\S)", body.strip()):
        head, *described = entry.splitlines()
        name, _, kind = head.partition(" : ")
        meaning = " ".join(line.strip() for line in described)
        yield f"| `{_cell(name)}` | {_cell(f'{kind}: ' if kind else '')}{_cell(meaning)} |"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("*", "\\*")

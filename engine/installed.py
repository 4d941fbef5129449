"""How this program was installed here, and so the commands that add packages to it or install it again.

A tool of uv, a package of pipx, and an environment with pip or without it each take another command; a command that
belongs to one of them changes nothing in the others.
"""

import json
import re
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # takes a moment to load
    from importlib.metadata import Distribution

NAME = "timbre-studio"  # of the distribution, and of its command
_SOURCE = Path(__file__).parents[1]  # the project's folder, where this runs from it
_UV_TOOL, _PIPX = "uv-receipt.toml", "pipx_metadata.json"  # what these leave in an environment of theirs
_OF_AN_EXTRA = re.compile(r"""extra\s*==\s*['"]([\w-]+)['"]""")


def add_packages(*packages: str, again: bool = False, alone: bool = False) -> str:
    """Return the command that installs packages beside this program.

    again: also those that are there. alone: without what they ask for.

    >>> add_packages("onnx>=1.23").endswith('install "onnx>=1.23"')
    True
    """
    wanted = "--no-deps " * alone + " ".join(map(_quoted, packages))
    if _belongs_to(_PIPX) and not again and not alone:
        return f"pipx inject {NAME} {wanted}"
    return f"{_installs()} {('--reinstall ' if _by_uv() else '--force-reinstall ') * again}{wanted}"


def add_extra(extra: str) -> str:
    """Return the command that adds the packages of an extra of this project.

    >>> "mcp" in add_extra("mcp")
    True
    """
    if packages := extra_packages(extra):
        return add_packages(*packages)
    return f'{_installs()} -e "{_SOURCE}[{extra}]"'


def extra_packages(extra: str) -> tuple[str, ...]:
    """Return what an extra asks for, with versions; nothing where this program is not installed, or has no such extra.

    >>> extra_packages("postgres"), extra_packages("no such")
    (('psycopg[binary]<4,>=3.3',), ())
    """
    found = _distribution()
    pairs = [one.partition(";") for one in (found.requires or () if found else ())]
    return tuple(name.strip() for name, _, marker in pairs if _OF_AN_EXTRA.findall(marker) == [extra])


def add_evaluation() -> str:
    """Return the command that adds what full scores need.

    resemblyzer asks for webrtcvad, which has to be compiled; the extra has wheels of it.
    """
    return f"{add_extra('evaluation')} && {add_packages('resemblyzer', alone=True)}"


def install_again() -> str:
    """Return the command that installs this program again as it is.

    >>> "install" in install_again()
    True
    """
    if _belongs_to(_UV_TOOL):
        return f"uv tool upgrade --reinstall {NAME}"
    if _belongs_to(_PIPX):
        return f"pipx reinstall {NAME}"
    source, editable = origin()
    if editable:
        return f"{_installs()} -e {_quoted(source)}"
    return f"{_installs()} {'--reinstall' if _by_uv() else '--force-reinstall'} {_quoted(source)}"


def install_from(source: str) -> str:
    """Return the command that installs this program from its name, a folder or a wheel, in place of the one here.

    What is beside it stays: no other package is installed again.

    >>> install_from("newer/timbre_studio-9.0.0-py3-none-any.whl").endswith("py3-none-any.whl")
    True
    """
    if source != NAME:
        return f"{_installs()} {_quoted(source)}"
    if _belongs_to(_UV_TOOL):
        return f"uv tool upgrade {NAME}"
    return f"pipx upgrade {NAME}" if _belongs_to(_PIPX) else f"{_installs()} --upgrade {NAME}"


def newest_in_index() -> list[str]:
    """Return the arguments of the command that finds the newest version in the package index, and installs nothing.

    It asks the index that pip, or uv, is set up for, and its last word is NAME-VERSION or NAME==VERSION.

    >>> newest_in_index()[-1]
    'timbre-studio'
    """
    asks = ["install", "--dry-run", "--no-deps", "--upgrade", NAME]
    if _by_uv():
        return ["uv", "pip", asks[0], "--python", sys.executable, *asks[1:]]
    return [sys.executable, "-m", "pip", *asks]


def installed_files(suffix: str) -> list[Path]:
    """Return the files that were installed with this program and have this suffix.

    >>> installed_files(".no such")
    []
    """
    found = _distribution()
    files = [one for one in (found.files or () if found else ()) if one.suffix == suffix]
    return [path for one in files if (path := Path(str(one.locate())).resolve()).is_file()]


def shown_path(path: Path) -> str:
    """Return a path as it is typed in this folder: relative where it lies in it, and quoted where it has spaces.

    >>> shown_path(Path.cwd() / "a voice" / "mia.wav").replace(chr(92), "/")
    '"a voice/mia.wav"'
    """
    here = Path.cwd()
    near = path.relative_to(here) if path.is_relative_to(here) else path
    return f'"{near}"' if " " in str(near) else str(near)


def _belongs_to(receipt: str) -> bool:
    return (Path(sys.prefix) / receipt).is_file()


def _by_uv() -> bool:
    """Return whether uv installs here: an environment of its tools, or any other without pip, as it makes them."""
    return _belongs_to(_UV_TOOL) or (not _belongs_to(_PIPX) and not _has_pip())


def _has_pip() -> bool:
    """Return whether pip can be imported; asking the import system for it loads setuptools, which warns of that."""
    return any((Path(folder) / "pip" / "__init__.py").is_file() for folder in sys.path)


def _installs() -> str:
    """Return what packages are named after; pip by its name alone, where that is the one that is found."""
    if _belongs_to(_PIPX):
        return f"pipx runpip {NAME} install"
    if _by_uv():
        return f"uv pip install --python {shown_path(Path(sys.executable))}"
    found = shutil.which("pip")
    if found and Path(found).parent == Path(sys.executable).parent:
        return "pip install"
    return f"{shown_path(Path(sys.executable))} -m pip install"


def origin() -> tuple[str, bool]:
    """Return where this was installed from (PEP 610): a folder, a file, an address, or its name in an index.

    And whether it runs from there.

    >>> place, runs_from_there = origin()
    """
    found = _distribution()
    text = found.read_text("direct_url.json") if found else None
    if text is None:
        return (NAME, False) if found else (str(_SOURCE), True)
    from urllib.parse import urlsplit
    from urllib.request import url2pathname

    given = json.loads(text)
    place = urlsplit(given["url"])
    source = url2pathname(place.path) if place.scheme == "file" else given["url"]
    return source, bool(given.get("dir_info", {}).get("editable"))


def _distribution() -> "Distribution | None":
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        return distribution(NAME)
    except PackageNotFoundError:  # it runs without being installed
        return None


def _quoted(text: str) -> str:
    """Return an argument that shells of all systems take as it is; < and > would be files to them."""
    return text if re.fullmatch(r"[\w./\\:=-]+", text) else f'"{text}"'

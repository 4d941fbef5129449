"""`update`: what is new since this version, and the command that brings it here. It looks only when it is called."""

import os
import re
import subprocess
import tomllib
from dataclasses import dataclass
from pathlib import Path

import typer

from engine.errors import EngineError
from engine.installed import NAME, install_from, newest_in_index, origin, shown_path
from engine.texts import tr
from engine.version import __version__
from studio.commands.failures import in_one_sentence
from studio.commands.wording import show

_PROJECT, _CHANGES = "pyproject.toml", ".github/CHANGELOG.md"
_UPSTREAM, _FETCHED = "@{upstream}", "FETCH_HEAD"
_WITHIN_S = 120.0
_WHEEL = re.compile(rf"{NAME.replace('-', '_')}-([\d.]+)-.*\.whl")
_IN_INDEX = re.compile(rf"{NAME}(?:-|==)(\d[\d.]*\d)")


@dataclass(frozen=True)
class Newest:
    """The newest version that is to be had. changes: a changelog in Markdown, "" where there is none."""

    version: str
    command: str
    changes: str = ""


@in_one_sentence
def update() -> None:
    """Say whether there is a newer version, what is new in it, and the command that installs it here.

    Looks only where this installation came from (a folder, its repository, a wheel or a package index), and changes
    nothing.
    """
    newest = find_newest()
    if _numbers(newest.version) <= _numbers(__version__):
        show(tr("You have {version}, the newest version available.", version=__version__))
        return
    show(tr("You have {version}; {newest} is available.", version=__version__, newest=newest.version))
    if new := changes_since(__version__, newest.changes):
        typer.echo(f"\n{new}\n")
    show(tr("To install it: {command}", command=newest.command))


def find_newest() -> Newest:
    """Look where this program came from. Raises EngineError if nothing can be found there."""
    source, runs_from_there = origin()
    place = Path(source)
    if source == NAME:
        return _in_index()
    if place.suffix == ".whl" and place.parent.is_dir():
        return _among_wheels(place)
    if (place / ".git").exists():
        return _in_repository(place, runs_from_there)
    if (place / _PROJECT).is_file():
        return _in_folder(place, runs_from_there)
    raise _unknown(source)


def _in_folder(folder: Path, runs_from_there: bool) -> Newest:
    """Look whether the folder, as an unpacked ZIP, was replaced by a newer one. Raises EngineError if it was not: it
    tells nothing of versions that are elsewhere."""
    version = _version_in((folder / _PROJECT).read_text(encoding="utf-8"))
    if _numbers(version) <= _numbers(__version__):
        raise _unknown(str(folder), runs_from_there)
    changes = (folder / _CHANGES).read_text(encoding="utf-8") if (folder / _CHANGES).is_file() else ""
    return Newest(version, _install(str(folder), runs_from_there), changes)


def _in_repository(folder: Path, runs_from_there: bool) -> Newest:
    """Look into the repository that a clone came from; fetching it changes none of the user's files.

    Where its branch follows none, that is the main branch of its first remote. Raises EngineError without a remote."""
    git = ["git", "-C", str(folder)]
    remotes = _done([*git, "remote"]).stdout.split()
    if not remotes:
        raise _unknown(str(folder), runs_from_there)
    followed = _done([*git, "for-each-ref", "--format=%(HEAD)%(upstream)", "refs/heads"]).stdout
    from_where = [] if any(line.startswith("*refs/") for line in followed.splitlines()) else [remotes[0], "HEAD"]
    _done([*git, "fetch", "--quiet", *from_where])
    newest = _FETCHED if from_where else _UPSTREAM
    there = [_done([*git, "show", f"{newest}:{name}"]).stdout for name in (_PROJECT, _CHANGES)]
    pull = " ".join(["git -C", shown_path(folder), "pull", *from_where])
    return Newest(_version_in(there[0]), f"{pull} && {_install(str(folder), runs_from_there)}", there[1])


def _install(folder: str, runs_from_there: bool) -> str:
    command = install_from(folder)
    return command.replace(" install ", " install -e ", 1) if runs_from_there else command


def _unknown(source: str, runs_from_there: bool = False) -> EngineError:
    return EngineError(
        tr(
            'It was installed from "{source}", where no versions can be looked up; get the newest one, and install it: '
            "{command}",
            source=source,
            command=_install("FOLDER", runs_from_there),
        )
    )


def _among_wheels(wheel: Path) -> Newest:
    """Look at the wheels that lie beside the one that this came from."""
    found = {match[1]: one for one in wheel.parent.iterdir() if (match := _WHEEL.fullmatch(one.name))}
    version = max(found, key=_numbers, default=__version__)
    return Newest(version, install_from(str(found.get(version, wheel))))


def _in_index() -> Newest:
    """Ask the index that this environment's installer is set up for."""
    asked = _done(newest_in_index())
    found = _IN_INDEX.findall(asked.stdout + asked.stderr)  # uv writes to the latter
    return Newest(max(found, key=_numbers, default=__version__), install_from(NAME))


def _done(command: list[str]) -> subprocess.CompletedProcess[str]:
    """Run a program. Raises EngineError in one sentence if it fails, or takes too long."""
    quiet = {"GIT_TERMINAL_PROMPT": "0", "PIP_NO_INPUT": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    try:
        done = subprocess.run(
            command, capture_output=True, encoding="utf-8", errors="replace", check=False, stdin=subprocess.DEVNULL,
            timeout=_WITHIN_S, env=os.environ | quiet,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as cause:
        raise _unreachable(str(cause)) from cause
    if done.returncode != 0:
        raise _unreachable(done.stderr.strip().rpartition("\n")[2])
    return done


def _unreachable(cause: str) -> EngineError:
    return EngineError(tr("No newer version could be looked up ({cause}).", cause=cause.rstrip(".")))


def _version_in(project: str) -> str:
    return str(tomllib.loads(project)["project"]["version"])


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", version)))


def changes_since(version: str, changes: str) -> str:
    """Return the parts of a changelog that are newer than a version."""
    parts = re.split(r"^(?=## )", changes, flags=re.MULTILINE)[1:]
    return "".join(one for one in parts if _numbers(one.partition("\n")[0]) > _numbers(version)).strip()

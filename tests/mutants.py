"""Faults that the tests must find: `python -m tests.mutants [--only N ...]`.

A row of `mutants.toml` names a file, what stands there once, what stands there instead, and the tests that must fail
then; without `tests`, those are the ones that mirror the file. Each fault is put into a copy of the house. A row whose
text is gone, or stands there twice, is stale. Large packages are imported once, and each fault has a fork of its own.
"""

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
import traceback
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path, PurePosixPath
from typing import NoReturn

import pytest

ROOT = Path(__file__).parents[1]
TABLE = ROOT / "tests/mutants.toml"
LOG = "mutants.log"  # in the copy: what the tests said last
_SHARED = ("torch", "scipy.signal", "soundfile", "hypothesis", "sqlalchemy", "fastapi", "playwright.sync_api", "moto")
_PATIENCE_S = 900  # a fault may make a test wait for ever
_LOOK_S = 0.2


@dataclass(frozen=True)
class Mutant:
    """A fault, and the tests that must find it."""

    file: str
    was: str
    becomes: str
    tests: tuple[str, ...]

    def put_into(self, house: Path) -> bool:
        """Write the fault into the copy, unless the row no longer fits the file."""
        path = house / self.file
        text = path.read_text(encoding="utf-8") if path.is_file() else ""
        if fits := text.count(self.was) == 1:
            path.write_text(text.replace(self.was, self.becomes), encoding="utf-8")
        return fits


def mutants() -> list[Mutant]:
    """All rows of the table, in its order."""
    return [
        Mutant(row["file"], row["was"], row["becomes"], tuple(row.get("tests", [_mirror(row["file"])])))
        for row in tomllib.loads(TABLE.read_text(encoding="utf-8"))["mutant"]
    ]


def _mirror(file: str) -> str:
    path = PurePosixPath(file)
    return str(PurePosixPath("tests") / path.parent / f"test_{path.name}")


def outcome(mutant: Mutant, house: Path) -> str:
    """Say whether the tests find the fault: killed, or SURVIVED, hangs, STALE."""
    if not mutant.put_into(house):
        return "STALE"
    try:
        status = _status_of_tests(mutant.tests, house)
    finally:
        shutil.copyfile(ROOT / mutant.file, house / mutant.file)
    said = (house / LOG).read_text(encoding="utf-8")[-500:]
    return {0: "SURVIVED", 1: "killed", None: "hangs"}.get(status, f"STALE, the tests do not run: {said}")


def _status_of_tests(tests: Iterable[str], house: Path) -> int | None:
    """Return what pytest says of some tests, in a process of its own; None if they do not end."""
    child = os.fork()
    if not child:
        try:
            _run(tests, house)
        except BaseException:  # nothing that the parent cleans up may be cleaned up here
            traceback.print_exc()
        os._exit(pytest.ExitCode.INTERNAL_ERROR)
    end_s = time.monotonic() + _PATIENCE_S
    while not (ended := os.waitpid(child, os.WNOHANG))[0]:
        if time.monotonic() > end_s:
            with suppress(ProcessLookupError):
                os.killpg(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return None
        time.sleep(_LOOK_S)
    return os.waitstatus_to_exitcode(ended[1])


def _run(tests: Iterable[str], house: Path) -> NoReturn:
    os.setsid()
    os.chdir(house)
    os.environ["PYTHONPATH"] = sys.path[0] = str(house)
    with open(house / LOG, "w") as said:
        os.dup2(said.fileno(), 1)
        os.dup2(said.fileno(), 2)
    alone = ("-x", "-q", "-m", "not slow", "-p", "no:cacheprovider", "-W", "ignore::pytest.PytestAssertRewriteWarning")
    os._exit(pytest.main([*alone, f"--rootdir={house}", *tests]))


def copied_to(folder: Path) -> Path:
    """Copy what git knows of the house, and what has been added; the tree itself is never changed."""
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    for name in filter(None, subprocess.check_output(listed, cwd=ROOT, text=True).split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    return folder


def main(only: Iterable[int]) -> int:
    """Print a line for each mutant; the status is the number of those that no test found."""
    chosen, left = set(only), 0
    sys.dont_write_bytecode = True  # that of a mutant would pass for that of the file after it
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    for name in _SHARED:
        import_module(name)
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        house = copied_to(Path(folder))
        for number, mutant in enumerate(mutants(), 1):
            if not chosen or number in chosen:
                found = outcome(mutant, house)
                left += found not in ("killed", "hangs")
                print(f"{number:3} {found}: {mutant.file}: {mutant.was!r} -> {mutant.becomes!r}", flush=True)
    return left


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", type=int, nargs="*", default=[], metavar="N", help="numbers of rows, from 1")
    sys.exit(main(parser.parse_args().only))

"""What macOS is told; whether it does it, only it can say."""

import subprocess
import sys
from pathlib import Path

import pytest

from engine.confinement import macos
from engine.confinement.macos import confined_command, profile_of

READ, PYTHON = [Path('/data/a "model" \\ of Mía.pth')], [Path("/opt/python")]


def test_profile_of_denies_reading_writing_network_and_processes_and_allows_what_is_given():
    lines = profile_of(READ, PYTHON, "cpu").splitlines()
    assert lines[:2] == ["(version 1)", "(allow default)"]
    for denied in ("file-write*", "network*", "process-fork", "process-exec*", "mach-lookup", "mach-priv-task-port"):
        assert f"(deny {denied})" in lines
    assert lines.index("(deny file-read-data file-read-xattr)") < next(
        place for place, line in enumerate(lines) if '(subpath "/data/a \\"model\\" \\\\ of Mía.pth")' in line
    )
    # the last rule decides: Python itself may still be started
    assert lines.index("(deny process-exec*)") < lines.index('(allow process-exec* (subpath "/opt/python"))')
    assert profile_of(READ, PYTHON, "cpu").count("(") == profile_of(READ, PYTHON, "cpu").count(")")


def test_profile_of_leaves_a_gpu_the_services_that_its_driver_is():
    assert "(deny mach-lookup)" not in profile_of(READ, PYTHON, "mps").splitlines()
    assert "(deny process-fork)" in profile_of(READ, PYTHON, "mps").splitlines()


def test_confined_command_is_tried_once_and_left_out_where_it_does_not_start(monkeypatch, tmp_path):
    command = [sys.executable, "-m", "this"]
    macos._works.cache_clear()
    monkeypatch.setattr(macos, "PROGRAM", tmp_path / "sandbox-exec")
    assert confined_command(command, "none of it") == command  # there is none
    # one that forgets the profile and starts the rest, and one whose language has changed
    for text, works in (('shift 2; exec "$@"', True), ("exit 65", False)):
        macos._works.cache_clear()
        (tmp_path / "sandbox-exec").write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / "sandbox-exec").chmod(0o700)
        started = [str(tmp_path / "sandbox-exec"), "-p", "profile"] if works else []
        assert confined_command(command, "profile") == [*started, *command]
    macos._works.cache_clear()


@pytest.mark.skipif(sys.platform != "darwin", reason="it is macOS's")
def test_profile_holds_on_macos(tmp_path):
    own, secret = tmp_path / "own", tmp_path / "secret"
    for path in (own, secret):
        path.write_text("x")
    from engine.confinement.readable import python_paths

    python = [Path(sys.prefix).resolve(), Path(sys.base_prefix).resolve()]
    profile = profile_of([own.resolve(), *python_paths()], python, "cpu")
    script = f"open({str(own)!r}).read()\ntry: open({str(secret)!r})\nexcept PermissionError: print('refused')"
    done = subprocess.run([*confined_command([sys.executable], profile), "-c", script], capture_output=True, text=True)
    assert done.stdout == "refused\n", done.stderr

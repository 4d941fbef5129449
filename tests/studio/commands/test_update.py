"""What is new, looked up where this program came from: a clone, a folder, wheels and an index, all of them here."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from typer.testing import CliRunner

from engine import installed
from engine.version import __version__
from studio.commands import update
from studio.commands.cli import app

CHANGES = f"# Changes\n\n## 98.7.0\n\n- Sings better.\n\n## {__version__}\n\n- Known.\n"


@pytest.fixture
def from_where(monkeypatch):
    def choose(source: str | Path, runs_from_there: bool = False) -> None:
        monkeypatch.setattr(update, "origin", lambda: (str(source), runs_from_there))

    return choose


def project(folder: Path, version: str) -> Path:
    (folder / ".github").mkdir(parents=True, exist_ok=True)
    (folder / "pyproject.toml").write_text(f'[project]\nname = "timbre-studio"\nversion = "{version}"\n')
    (folder / ".github" / "CHANGELOG.md").write_text(CHANGES)
    return folder


def run() -> tuple[int, str, str]:
    done = CliRunner().invoke(app, ["update"])
    return done.exit_code, done.stdout, done.stderr


def git(folder: Path, *words: str) -> None:
    own = ["-c", "user.name=A", "-c", "user.email=a@b", "-c", "init.defaultBranch=main"]
    subprocess.run(["git", "-C", folder, *own, *words], check=True, capture_output=True)


def wheel(folder: Path, version: str) -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / f"timbre_studio-{version}-py3-none-any.whl"
    info = f"timbre_studio-{version}.dist-info"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: timbre-studio\nVersion: {version}\n")
        file.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        file.writestr(f"{info}/RECORD", "")
    return path


def test_update_shows_what_is_new_in_the_folder_it_was_installed_from(tmp_path, from_where):
    from_where(project(tmp_path / "a folder", "98.7.0"))
    status, shown, complaint = run()
    assert (status, complaint) == (0, "")
    assert f"You have {__version__}; 98.7.0 is available." in shown
    assert "- Sings better." in shown
    assert "Known" not in shown
    assert shown.splitlines()[-1].endswith(f'install "{tmp_path}/a folder"')


@pytest.mark.parametrize("version", [__version__, "0.0.1", "0.9.0"])
def test_update_says_that_the_folder_of_a_zip_cannot_tell(version, tmp_path, from_where):
    from_where(project(tmp_path, version))
    status, shown, complaint = run()
    assert (status, shown) == (1, "")
    assert f'"{tmp_path}", where no versions can be looked up; get the newest one' in complaint
    assert complaint.endswith(" install FOLDER\n")


def test_update_says_that_nothing_is_newer(tmp_path, from_where):
    from_where(wheel(tmp_path, __version__))
    assert run()[1] == f"You have {__version__}, the newest version available.\n"


@pytest.mark.parametrize(
    "words", [("branch", "--unset-upstream"), ("switch", "--detach"), ("switch", "--create", "mine")]
)
def test_update_of_a_branch_that_follows_none_asks_the_main_branch_of_its_remote(words, tmp_path, from_where):
    there, clone = project(tmp_path / "there", __version__), tmp_path / "clone"
    git(tmp_path, "init", there)
    for version in (__version__, "98.7.0"):
        git(project(there, version), "add", ".")
        git(there, "commit", "-m", version)
        if not clone.exists():
            git(tmp_path, "clone", there, clone)
    git(clone, *words)
    from_where(clone)
    status, shown, complaint = run()
    assert (status, complaint) == (0, "")
    assert f"git -C {clone} pull origin HEAD && " in shown
    git(clone, "pull", "origin", "HEAD")
    assert "98.7.0" in (clone / "pyproject.toml").read_text()
    git(clone, "remote", "remove", "origin")
    status, shown, complaint = run()
    assert (status, shown) == (1, "")
    assert f'"{clone}", where no versions can be looked up' in complaint


@pytest.mark.parametrize("runs_from_there", [True, False])
def test_update_reads_the_repository_of_a_clone_and_leaves_its_files_alone(runs_from_there, tmp_path, from_where):
    there, clone = project(tmp_path / "there", __version__), tmp_path / "clone"
    git(tmp_path, "init", there)
    for version in (__version__, "98.7.0"):
        project(there, version)
        git(there, "add", ".")
        git(there, "commit", "-m", version)
        if not clone.exists():
            git(tmp_path, "clone", there, clone)
    before = (clone / "pyproject.toml").read_text()
    from_where(clone, runs_from_there)
    status, shown, _ = run()
    assert status == 0
    assert "- Sings better." in shown
    command = shown.splitlines()[-1]
    assert f"git -C {clone} pull && " in command
    assert command.endswith(f"install {'-e ' * runs_from_there}{clone}")
    assert (clone / "pyproject.toml").read_text() == before
    there.rename(tmp_path / "gone")
    status, shown, complaint = run()
    assert (status, shown) == (1, "")
    assert complaint.startswith("No newer version could be looked up (")
    assert complaint.count("\n") == 1


def test_update_finds_a_newer_wheel_beside_its_own(tmp_path, from_where):
    own, _ = wheel(tmp_path, "0.20.0"), wheel(tmp_path, "98.10.0")
    wheel(tmp_path, "98.9.0")
    from_where(own)
    assert run()[1].splitlines()[-1].endswith("timbre_studio-98.10.0-py3-none-any.whl")


def test_update_asks_the_index_that_pip_is_set_up_for(tmp_path, from_where, monkeypatch):
    wheel(tmp_path / "index", "98.7.0")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "index"))
    monkeypatch.setattr(update, "newest_in_index", lambda: pip("98.7.0"))
    from_where(installed.NAME)
    assert "98.7.0 is available." in run()[1]
    monkeypatch.setattr(update, "newest_in_index", lambda: pip("99.0.0"))
    status, shown, complaint = run()
    assert (status, shown) == (1, "")
    assert "No matching distribution found for timbre-studio==99.0.0" in complaint


def pip(version: str) -> list[str]:
    """The command of an environment with pip that has none of this yet: this one may have it from its folder."""
    *command, name = installed.newest_in_index()
    if command[0] != sys.executable:
        pytest.skip("This environment has no pip.")
    return [*command, "--ignore-installed", f"{name}=={version}"]


@pytest.mark.parametrize("source", ["https://example.com/timbre.zip", "/no/such/folder", "/no/such/timbre.whl"])
def test_update_says_where_no_versions_can_be_looked_up(source, from_where):
    from_where(source)
    status, shown, complaint = run()
    assert (status, shown) == (1, "")
    assert f'"{source}", where no versions can be looked up' in complaint
    assert " install FOLDER" in complaint


def test_update_says_that_a_program_is_missing(tmp_path, from_where, monkeypatch):
    (project(tmp_path, "98.7.0") / ".git").touch()
    from_where(tmp_path)
    monkeypatch.setenv("PATH", "")
    assert run()[2].startswith("No newer version could be looked up (")

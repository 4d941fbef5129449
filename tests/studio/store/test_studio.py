import errno
import os
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from studio.actions.uploads import scratch_folder
from studio.errors import NotFound
from studio.settings.environment import Settings
from studio.settings.service import ServiceSettings
from studio.store.accounts import Account
from studio.store.deadlines_and_callbacks import Promised
from studio.store.studio import Cost, Studio, cost_of, costs, done_here, open_studio


@pytest.fixture(params=[0o000, 0o022, 0o077])
def umask(request):
    """What this process withholds from others, and from itself nothing."""
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def mode_of(path: Path) -> int:
    return path.lstat().st_mode & 0o7777


def opened(home: Path) -> Studio:
    return open_studio(Settings(home), ServiceSettings())


def test_open_studio_makes_its_folder_and_all_in_it_private(home, umask):
    studio = opened(home)
    studio.storage.put_bytes(b"recording", "tasks/one/input.wav")
    studio.installation.identity()
    with scratch_folder(studio):
        modes = {path.relative_to(home).as_posix(): mode_of(path) for path in (home, *home.rglob("*"))}
    studio.close()
    assert {".", "work", "work/incoming", "tasks", "tasks/one", "credentials"} <= set(modes)
    top = {name: mode for name, mode in modes.items() if "/" not in name}
    assert not [name for name, mode in top.items() if mode & 0o077]


def test_open_studio_leaves_the_rights_of_a_folder_that_others_work_in(home, tmp_path, umask):
    """A team's folder and all folders in it were closed to the team, and those that links led to as well."""
    outside = tmp_path / "outside"
    theirs = {home: 0o2775, home / "mixes": 0o2775, home / "web": 0o755, home / "voices": 0o775, outside: 0o755}
    for folder, mode in theirs.items():
        folder.mkdir(parents=True)
        folder.chmod(mode)
    (home / "link").symlink_to(outside)
    studio = opened(home)
    studio.storage.put_bytes(b"recording", "tasks/one/input.wav")
    studio.storage.put_bytes(b"card", "voices/mia/card.json")
    studio.close()
    opened(home).close()
    assert {folder: mode_of(folder) for folder in theirs} == theirs
    own = [home / name for name in ("studio.sqlite", "work", "tasks", "voices/mia")]
    assert not [path for path in own if mode_of(path) & 0o077]


def test_open_studio_leaves_the_rights_of_a_home_that_is_a_link(home, tmp_path):
    (tmp_path / "disk").mkdir(mode=0o755)
    home.parent.mkdir(parents=True, exist_ok=True)
    home.symlink_to(tmp_path / "disk")
    opened(home).close()
    assert mode_of(tmp_path / "disk") == 0o755
    assert mode_of(tmp_path / "disk" / "studio.sqlite") == 0o600


def test_open_studio_keeps_an_earlier_home_private(home):
    opened(home).close()
    (home / "studio.sqlite").chmod(0o644)  # as before 0.6
    opened(home).close()
    assert (mode_of(home), mode_of(home / "studio.sqlite")) == (0o700, 0o600)


def test_open_studio_leaves_the_rights_of_a_database_that_a_link_leads_to(home, tmp_path):
    opened(home).close()
    elsewhere = (home / "studio.sqlite").rename(tmp_path / "shared.sqlite")
    elsewhere.chmod(0o660)
    (home / "studio.sqlite").symlink_to(elsewhere)
    opened(home).close()
    assert mode_of(elsewhere) == 0o660


def test_open_studio_works_where_no_rights_can_be_changed(home, monkeypatch):
    """File systems of other systems know none, or those of the whole disk."""

    def refuse(self, mode):
        raise PermissionError(errno.EPERM, "no rights here")

    monkeypatch.setattr(Path, "chmod", refuse)
    monkeypatch.setattr(Path, "lstat", lambda self: os.stat_result((0o100777, *os.lstat(self)[1:])))
    studio = opened(home)
    studio.installation.identity()
    studio.installation.identity()  # read again
    studio.close()


@pytest.mark.parametrize("name", ["50%41", "what?", "no#1", "two words & more"])
def test_open_studio_puts_its_database_into_a_folder_of_any_name(home, name):
    folder = home / name
    open_studio(Settings(folder), ServiceSettings()).close()
    assert (folder / "studio.sqlite").is_file()
    assert [one.name for one in home.iterdir()] == [name]


def where(studio: Studio, word: str, *, again: str) -> tuple[int, str]:
    return threading.get_ident(), word + again


def refuse(studio: Studio) -> None:
    raise NotFound("There is none.")


def test_apart_does_actions_here_unless_the_studio_says_where(home):
    studio = open_studio(Settings(home), ServiceSettings())
    assert studio.apart(studio.local, where, "a", again="b").result() == (threading.get_ident(), "ab")
    with pytest.raises(NotFound):
        studio.apart(studio.local, refuse).result()
    asked: list[tuple[Account, str]] = []

    def noted(studio, account, action, at_most=None):
        asked.append((account, action.name))
        return done_here(studio, account, action)

    assert replace(studio, submit=noted).apart(studio.local, where, "a", again="c").result()[1] == "ac"
    assert asked == [(studio.local, "where")]
    studio.close()


def test_an_action_costs_what_it_says_and_so_does_one_that_keeps_promises():
    marked = costs(Cost.START)(lambda studio: None)
    expected = [Cost.QUICK, Cost.START, Cost.START]
    assert [cost_of(one) for one in (refuse, marked, Promised("me", "").around(marked))] == expected

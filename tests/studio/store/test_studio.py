import threading
from dataclasses import replace

import pytest

from studio.errors import NotFound
from studio.settings.environment import Settings
from studio.settings.service import ServiceSettings
from studio.store.accounts import Account
from studio.store.studio import Studio, done_here, open_studio


def test_open_studio_makes_its_folder_and_database_private(home):
    home.mkdir(mode=0o755, parents=True)  # made by another program, or by an earlier version
    studio = open_studio(Settings(home), ServiceSettings())
    studio.close()
    assert home.stat().st_mode & 0o777 == 0o700
    assert (home / "studio.sqlite").stat().st_mode & 0o777 == 0o600


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

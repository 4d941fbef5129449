from pathlib import Path

import platformdirs
import pytest

from engine.errors import SettingsError
from studio.settings.environment import HOME_VARIABLE, load_settings
from studio.settings.service import ServiceSettings
from studio.store.database import open_database
from studio.store.studio import open_studio


def test_load_settings_takes_the_folders_from_the_environment(home, monkeypatch):
    settings = load_settings()
    assert settings.data == home
    assert settings.voices == home / "voices"
    assert settings.datasets == home / "datasets"
    assert not home.exists()


@pytest.mark.parametrize("environment", [{}, {HOME_VARIABLE: ""}, {HOME_VARIABLE: "  "}])
def test_load_settings_uses_the_data_folder_of_the_system_by_default(environment):
    assert load_settings(environment).data == Path(platformdirs.user_data_dir("timbre-studio", appauthor=False))


def test_load_settings_expands_home_and_relative_paths(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    assert load_settings({HOME_VARIABLE: "~/studio"}).data == tmp_path / "studio"
    monkeypatch.chdir(tmp_path)
    assert load_settings({HOME_VARIABLE: "studio"}).data == tmp_path / "studio"


def test_open_studio_and_open_database_refuse_a_home_that_is_a_file(tmp_path):
    (tmp_path / "home").write_text("a file")
    with pytest.raises(SettingsError, match=rf"cannot be used \(it is a file\): set {HOME_VARIABLE} to another folder"):
        open_studio(load_settings({HOME_VARIABLE: str(tmp_path / "home")}), ServiceSettings())
    with pytest.raises(SettingsError, match="it is a file"):
        open_database(f"sqlite:///{tmp_path}/home/studio.sqlite")


def test_open_studio_says_of_a_home_that_it_is_a_link_to_nothing(tmp_path):
    (tmp_path / "home").symlink_to(tmp_path / "disk that is not there")
    with pytest.raises(SettingsError, match="it is a link to nothing"):
        open_studio(load_settings({HOME_VARIABLE: str(tmp_path / "home")}), ServiceSettings())
    assert not (tmp_path / "disk that is not there").exists()


@pytest.mark.parametrize("given", ['"{home}"', "'{home}'", "file://{home}", " {home} "])
def test_load_settings_takes_a_home_as_it_is_pasted(tmp_path, given):
    """Files of variables for containers keep quotes: a folder of that name was made in the current one."""
    home = tmp_path / "studio"
    assert load_settings({HOME_VARIABLE: given.format(home=home)}).data == home


def test_load_settings_refuses_the_folder_of_a_user_who_is_not_there():
    with pytest.raises(SettingsError, match='There is no folder "~no-such-user-here/studio"'):
        load_settings({HOME_VARIABLE: "~no-such-user-here/studio"})

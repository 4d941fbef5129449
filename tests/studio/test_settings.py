from pathlib import Path

import platformdirs
import pytest

from studio.settings import HOME_VARIABLE, load_settings


def test_the_environment_says_where_the_users_things_are(home, monkeypatch):
    settings = load_settings()
    assert settings.data == home
    assert settings.voices == home / "voices"
    assert settings.datasets == home / "datasets"
    assert not home.exists()


@pytest.mark.parametrize("environment", [{}, {HOME_VARIABLE: ""}, {HOME_VARIABLE: "  "}])
def test_without_it_they_are_where_the_system_keeps_such_things(environment):
    assert load_settings(environment).data == Path(platformdirs.user_data_dir("timbre-studio", appauthor=False))


def test_a_path_may_be_short_for_another(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    assert load_settings({HOME_VARIABLE: "~/studio"}).data == tmp_path / "studio"
    monkeypatch.chdir(tmp_path)
    assert load_settings({HOME_VARIABLE: "studio"}).data == tmp_path / "studio"

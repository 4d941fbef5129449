"""A voice, a preset or a file that is not there is refused at once, with what was probably meant."""

import pytest

from studio.commands import in_process
from studio.settings.environment import HOME_VARIABLE
from tests.command_line import run

MEANT = "There is no voice 'koguchii': did you mean koguchi?"


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.setenv(HOME_VARIABLE, str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "vocal.wav").touch()
    return tmp_path


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("live -v koguchii", MEANT),
        ("train koguchii", MEANT),
        ("report koguchii", MEANT),
        ("voices export koguchii", MEANT),
        ("voices blend koguchii everett", MEANT),
        ("voices blend everett koguchii", MEANT),
        ("voices import vocal.wav --replace koguchii", MEANT),
        ("rvc teach koguchii vocal.wav", MEANT),
        ("convert vocal.wav --from 0:04=koguchii", MEANT),
        ("convert vocal.wav -v keep --from 0:04=everett,0:06=koguchii", MEANT),
        ("convert vocal.wav --backing vocal.wav --stem vocal.wav=koguchii", MEANT),
        ("report nothing.zip", 'There is no file or folder "nothing.zip".'),
        ("create nofolder --name Mia", 'There is no file or folder "nofolder".'),
        ("create vocal.wav nothing.wav --name Mia", 'There is no file or folder "nothing.wav".'),
        ("voices import nothing.zip", 'There is no file or folder "nothing.zip".'),
        ("voices import vocal.wav --index nothing.index", 'There is no file or folder "nothing.index".'),
    ],
)
def test_what_is_not_there_is_refused_before_the_studio_is_opened(given, said, here, monkeypatch):
    def opened(*_: object, **__: object) -> None:
        pytest.fail("the studio was opened")

    monkeypatch.setattr(in_process, "local_studio", opened)
    words = [word.replace("=", " ") if ":" in word else word for word in given.split()]
    result = run(*words)
    assert result.exit_code == 1
    assert result.stderr.startswith(said)
    assert result.stderr.count("\n") == 1
    assert not (here / "home").exists()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("voices delete koguchii", MEANT),
        ("presets show melodik", "There is no preset 'melodik': did you mean melodic?"),
        ("convert vocal.wav --preset melodik", "There is no preset 'melodik': did you mean melodic?"),
        ("convert vocal.wav --preset zzzz", "There is no preset 'zzzz'; the presets are: auto, melodic,"),
    ],
)
def test_what_the_studio_does_not_have_is_refused_before_the_engine_is_loaded(given, said, here, monkeypatch):
    from studio.commands import convert

    monkeypatch.setattr(convert, "_load_engine", lambda _: pytest.fail("the engine was loaded"))
    result = run(*given.split())
    assert (result.exit_code, result.stderr.count("\n")) == (1, 1)
    assert result.stderr.startswith(said)

import inspect
import re
from dataclasses import dataclass, field
from typing import Any, Literal

import pytest
import typer
from typer.testing import CliRunner

from engine.errors import SettingsError
from studio.settings.options import read_settings, setting_options, with_options


def setting(default: Any, minimum: float, maximum: float, meaning: str) -> Any:
    return field(default=default, metadata={"minimum": minimum, "maximum": maximum, "meaning": meaning})


@dataclass(frozen=True)
class Settings:
    steps: int | Literal["auto"] = setting(0, -12, 12, "How high it sounds.")
    takes: int = setting(1, 1, 10, "How many.")
    breath_level: float = setting(0.5, 0.0, 1.0, "How much breath one hears.")

    def __post_init__(self) -> None:
        if not 1 <= self.takes <= 10:
            raise SettingsError("takes must be from 1 to 10.")


def run(*arguments: str):
    given: dict[str, str | None] = {}

    def command(name: str, loud: bool = False, **settings: str | None) -> None:
        given.update(settings)

    app = typer.Typer()
    app.command()(
        with_options(command, setting_options(Settings, "How it sounds", "(Default: {default}, or the preset's.)"))
    )
    return CliRunner().invoke(app, [*arguments], env={"COLUMNS": "200"}), given


def test_setting_options_show_range_and_meaning_of_each_field():
    result, _ = run("--help")
    text = re.sub(r"\s+", " ", re.sub(r"\x1b\[[0-9;]*m|[│╭╰─╮╯]", " ", result.stdout))
    assert "--steps -12..12|auto How high it sounds. (Default: 0" in text
    assert "--takes 1..10 How many." in text
    assert "--breath-level 0.0..1.0 How much breath one hears." in text


def test_with_options_passes_none_for_omitted_options():
    result, given = run("song", "--takes", "3")
    assert result.exit_code == 0
    assert given == {"steps": None, "takes": "3", "breath_level": None}


def test_read_settings_replaces_only_the_given_values():
    preset = Settings(steps=5, breath_level=0.9)
    assert read_settings(preset, {"steps": None, "takes": "3", "breath_level": None}) == Settings(5, 3, 0.9)
    assert read_settings(preset, {"steps": "auto"}) == Settings("auto", 1, 0.9)
    assert read_settings(preset, {"steps": "-7", "breath_level": "0.25"}) == Settings(-7, 1, 0.25)


@pytest.mark.parametrize(
    ("name", "text", "sentence"),
    [
        ("steps", "high", "--steps takes a whole number or 'auto', not 'high'."),
        ("steps", "1.5", "--steps takes a whole number or 'auto', not '1.5'."),
        ("takes", "auto", "--takes takes a whole number, not 'auto'."),
        ("breath_level", "loud", "--breath-level takes a number, not 'loud'."),
        ("breath_level", "nan", "--breath-level takes a number, not 'nan'."),
        ("breath_level", "inf", "--breath-level takes a number, not 'inf'."),
        ("takes", "11", "takes must be from 1 to 10."),
    ],
)
def test_read_settings_names_an_invalid_setting(name, text, sentence):
    with pytest.raises(SettingsError, match=f"^{re.escape(sentence)}$"):
        read_settings(Settings(), {name: text})


def test_with_options_removes_the_placeholder_without_options():
    def command(name: str, **settings: str | None) -> None: ...

    assert list(inspect.signature(with_options(command, [])).parameters) == ["name"]

"""What the parser of the command line refuses: one sentence each, whatever typer says itself."""

import pytest
from typer.testing import CliRunner

from studio.commands.cli import app
from tests.catalogues import catalogue

SENTENCES = {
    ("convert", "--voice", "kathleen"): "Missing argument 'FILE'.",
    ("voices", "--json=3"): "Option '--json' does not take a value.",
    ("convert", "--takes"): "Option '--takes' requires an argument.",
    ("--language",): "Option '--language' requires an argument.",
    ("token", "create", "mine", "--xyzzy"): "No such option: --xyzzy",
    ("token", "create", "mine", "--expire-day", "3"): "No such option: --expire-day (Possible options: --expires-days)",
    ("token", "create", "mine", "--expires-days", "x"): "--expires-days takes a number, not 'x'.",
    ("rvc", "teach", "--epochs", "1.5"): "--epochs takes a whole number, not '1.5'.",
    ("token", "crate"): "No such command 'crate'. Did you mean 'create'?",
    ("xyzzy",): "No such command 'xyzzy'.",
    ("token", "revoke", "one", "two"): (
        "There are more arguments than this command takes: put names with spaces in quotation marks."
    ),
}


@pytest.mark.parametrize(("arguments", "sentence"), SENTENCES.items())
def test_parser_says_what_is_wrong_in_one_sentence(arguments, sentence):
    result = CliRunner().invoke(app, list(arguments), env={"COLUMNS": "200", "TIMBRE_STUDIO_LANGUAGE": "en"})
    assert result.exit_code == 2
    assert sentence in " ".join(result.stderr.replace("│", " ").split())


@pytest.mark.parametrize(
    ("arguments", "template", "translated", "sentence"),
    [
        (["token", "crate"], "No such command '{name}'.", "Den Befehl {name} gibt es nicht.", "Den Befehl crate gibt"),
        (["convert"], "Missing argument '{name}'.", "{name} fehlt.", "FILE fehlt."),
        (["convert", "--takes"], "Option '{name}' requires an argument.", "{name} braucht etwas.", "--takes braucht"),
        (["rvc", "teach", "--epochs", "x"], "{flag} takes a whole number, not '{text}'.", "{flag}: Zahl!", "s: Zahl!"),
    ],
)  # fmt: skip
def test_parser_speaks_the_language_of_the_terminal(tmp_path, arguments, template, translated, sentence):
    with catalogue(tmp_path / "catalogues", "de", {template: translated}):
        result = CliRunner().invoke(app, ["--language", "de", *arguments], env={"COLUMNS": "200"})
    assert (result.exit_code, sentence in result.stderr) == (2, True)

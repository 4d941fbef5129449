"""What the parser of the command line refuses: typer says it itself, and what we say is in the language."""

import pytest
from typer.testing import CliRunner

from studio.commands.cli import app
from tests.catalogues import catalogue


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["convert", "--voice", "kathleen"], "Missing argument 'FILE|-'."),
        (["voices", "--json=3"], "Option '--json' does not take a value."),
        (["convert", "--takes"], "Option '--takes' requires an argument."),
        (["--language"], "Option '--language' requires an argument."),
        (["token", "create", "mine", "--expire-day", "3"], "No such option: --expire-day"),
        (["token", "create", "mine", "--expires-days", "x"], "Invalid value for '--expires-days'"),
        (["rvc", "teach", "--epochs", "1.5"], "Invalid value for '--epochs'"),
        (["token", "crate"], "No such command 'crate'. Did you mean 'create'?"),
        (["voices", "lst"], "No such command 'lst'. Did you mean 'list'?"),
        (["projects", "lst"], "No such command 'lst'. Did you mean 'list', 'set'?"),
        (["voices", "exprot", "mia"], "No such command 'exprot'. Did you mean 'export'"),
        (["separation", "list"], "No such command 'list'."),
        (["voice"], "No such command 'voice'. Did you mean 'voices'?"),
        (["xyzzy"], "No such command 'xyzzy'."),
        (["token", "revoke", "one", "two"], "unexpected extra argument"),
        (["--language", "xx", "voices"], "There is no language 'xx': choose one of en, de,"),
    ],
)
def test_parser_says_what_is_wrong_in_one_sentence(arguments, sentence):
    result = CliRunner().invoke(app, arguments, env={"COLUMNS": "200", "TIMBRE_STUDIO_LANGUAGE": "en"})
    assert result.exit_code == 2
    assert sentence in " ".join(result.stderr.replace("│", " ").split())


def test_parser_says_what_is_ours_in_the_language_of_the_terminal(tmp_path):
    ours = {"There is no language '{wish}': choose one of {languages}.": "Sprache {wish} gibt es nicht."}
    with catalogue(tmp_path / "catalogues", "de", ours):
        result = CliRunner().invoke(app, ["--language", "xx"], env={"COLUMNS": "200", "TIMBRE_STUDIO_LANGUAGE": "de"})
    assert (result.exit_code, "Sprache xx gibt es nicht." in result.stderr) == (2, True)


@pytest.mark.parametrize("group", ["voices", "presets", "projects"])
def test_list_does_what_a_group_does_by_itself(group):
    done = [CliRunner().invoke(app, one) for one in ([group, "list"], [group])]
    assert [one.exit_code for one in done] == [0, 0], done[0].stderr
    assert done[0].stdout == done[1].stdout

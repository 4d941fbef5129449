"""`token create`, `list` and `revoke`, as somebody at a terminal or a script uses them."""

import json

import pytest
from typer.testing import CliRunner

from studio.commands.cli import app
from studio.settings.environment import load_settings
from studio.store.database import database_url, open_database
from studio.store.tokens import account_of_token


def token(*arguments, fails=False):
    result = CliRunner().invoke(app, ["token", *arguments])
    assert result.exit_code == int(fails), result.output
    return result


def listed(*arguments):
    return json.loads(token("list", "--json", *arguments).stdout)["tokens"]


@pytest.fixture
def owner():
    """Whose a token is, by its name."""

    def look(secret):
        database = open_database(database_url("", load_settings().data))
        found = account_of_token(database, secret)
        database.close()
        return found and found.name

    return look


def test_token_create_prints_only_the_token_to_stdout(owner):
    made = token("create", "laptop")
    assert made.stdout.count("\n") == 1
    assert owner(made.stdout.strip()) == "local"
    assert "until it is revoked" in made.stderr
    assert made.stdout.strip() not in made.stderr
    assert owner(token("create").stdout.strip()) == "local"


def test_token_create_creates_a_missing_account_and_reports_it(owner):
    first = token("create", "--account", "anna", "--expires-days", "2")
    assert owner(first.stdout.strip()) == "anna"
    assert "Created account 'anna'." in first.stderr
    second = token("create", "--account", "anna")
    assert "Created account" not in second.stderr
    first_row, second_row = listed("--account", "anna")
    assert first_row["expires_at"] > first_row["created_at"]
    assert second_row["expires_at"] is None


def test_token_list_shows_no_token():
    secret = token("create", "laptop").stdout.strip()
    token("create", "[bold]server", "--account", "anna")
    assert [(row["name"], row["account"], row["state"]) for row in listed()] == [
        ("laptop", "local", "valid"),
        ("[bold]server", "anna", "valid"),
    ]
    assert [row["name"] for row in listed("--account", "anna")] == ["[bold]server"]
    table = token("list").stdout
    assert all(row["id"] in table for row in listed())  # which `revoke` wants
    assert "[bold]" in table
    for output in (table, json.dumps(listed())):
        assert secret not in output
        assert secret[3:] not in output
        assert "digest" not in output


def test_token_revoke_by_name_or_id_invalidates_the_token(owner):
    secret = token("create", "laptop").stdout.strip()
    said = token("revoke", "laptop")
    assert "is revoked" in said.stderr
    assert said.stdout == ""
    assert owner(secret) is None
    assert [row["state"] for row in listed()] == ["revoked"]
    again = token("create", "laptop").stdout.strip()
    token("revoke", listed()[1]["id"])
    assert owner(again) is None


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["revoke", "laptop"], "no valid token 'laptop'"),
        (["revoke", "laptop", "--account", "nobody"], "no account 'nobody'"),
        (["list", "--account", "nobody"], "no account 'nobody'"),
        (["create", "--expires-days", "0"], "lifetime"),
        (["create", "--expires-days", "nan"], "lifetime"),
        (["create", ""], "needs a name"),
        (["create", "--account", ""], "needs a name"),
    ],
)
def test_token_commands_fail_with_one_sentence_and_change_nothing(arguments, said):
    failed = token(*arguments, fails=True)
    assert said in failed.stderr
    assert failed.stderr.count("\n") == 1
    assert failed.stdout == ""
    assert listed() == []


def test_token_commands_use_the_database_url_and_hide_its_password(monkeypatch, tmp_path):
    monkeypatch.setenv("TIMBRE_STUDIO_DATABASE_URL", f"sqlite:///{tmp_path / 'elsewhere.sqlite'}")
    token("create")
    assert (tmp_path / "elsewhere.sqlite").exists()
    assert not load_settings().data.exists()
    monkeypatch.setenv("TIMBRE_STUDIO_DATABASE_URL", "mysql://user:hidden@host/name")
    assert "hidden" not in token("list", fails=True).output

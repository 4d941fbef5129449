import pytest

from studio.actions import tokens
from studio.actions.tokens import make_token, take_back_token, tokens_view
from studio.errors import Invalid, NotFound, TooMany
from studio.store.accounts import account_of_token


def test_make_token_shows_the_secret_once_and_it_works_until_revoked(studio):
    token, secret = make_token(studio, studio.local, "my program", None)
    assert account_of_token(studio.database, secret) == studio.local
    assert secret not in str(tokens_view(studio, studio.local))
    assert take_back_token(studio, studio.local, token["id"])["state"] == "revoked"
    assert account_of_token(studio.database, secret) is None
    with pytest.raises(NotFound):
        take_back_token(studio, studio.local, token["id"])


def test_tokens_view_lists_newest_first_with_state_and_expiry(studio):
    make_token(studio, studio.local, "first", 1.0)
    make_token(studio, studio.local, "second", None)
    second, first = tokens_view(studio, studio.local)
    assert (second["name"], second["state"], second["expires_at"]) == ("second", "valid", None)
    assert first["expires_at"] - first["created_at"] == pytest.approx(86400, abs=1)


@pytest.mark.parametrize(("name", "days"), [("", None), ("x" * 201, None), ("a\nb", None), ("x", 0.0), ("x", -1.0)])
def test_make_token_refuses_an_invalid_name_or_lifetime(studio, name, days):
    with pytest.raises(Invalid):
        make_token(studio, studio.local, name, days)
    assert not tokens_view(studio, studio.local)


def test_tokens_view_and_take_back_token_cover_only_the_own_account(studio, other):
    token, secret = make_token(studio, studio.local, "mine", None)
    assert not tokens_view(studio, other)
    for name in (token["id"], "mine"):
        with pytest.raises(NotFound):
            take_back_token(studio, other, name)
    assert account_of_token(studio.database, secret) == studio.local


def test_take_back_token_refuses_a_name_instead_of_an_id(studio):
    make_token(studio, studio.local, "mine", None)
    with pytest.raises(NotFound):
        take_back_token(studio, studio.local, "mine")


def test_make_token_refuses_tokens_above_the_limit_until_one_is_revoked(studio, monkeypatch):
    monkeypatch.setattr(tokens, "MOST_TOKENS", 2)
    first, _ = make_token(studio, studio.local, "one", None)
    make_token(studio, studio.local, "two", None)
    with pytest.raises(TooMany):
        make_token(studio, studio.local, "three", None)
    take_back_token(studio, studio.local, first["id"])
    make_token(studio, studio.local, "three", None)

"""Create, list and revoke tokens of an account."""

from typing import Any

from engine.texts import ntr, tr
from studio.errors import NotFound, TooMany
from studio.store.accounts import Account, Token, create_token, list_tokens, revoke_token
from studio.store.studio import Studio

MOST_TOKENS = 100  # valid ones per account
_DAY_S = 86400.0
_LATER_S = 1.0


def tokens_view(studio: Studio, account: Account) -> list[dict[str, Any]]:
    """Return the account's tokens without secrets, newest first: id, name, state, created_at, expires_at, used_at."""
    return [_view(one) for one in reversed(list_tokens(studio.database, account))]


def make_token(studio: Studio, account: Account, name: str, expires_days: float | None) -> tuple[dict[str, Any], str]:
    """Create a token; return it and its secret, which is never shown again. Raises Invalid, TooMany."""
    if sum(one.is_valid for one in list_tokens(studio.database, account)) >= MOST_TOKENS:
        raise TooMany(ntr(
            "There is already {most_tokens} token: revoke it first.",
            "There are already {most_tokens} tokens: revoke one first.",
            most_tokens=MOST_TOKENS,
        ), _LATER_S, "too_many_tokens")
    expires_s = None if expires_days is None else expires_days * _DAY_S
    token, secret = create_token(studio.database, account, name, expires_s)
    return _view(token), secret


def take_back_token(studio: Studio, account: Account, token_id: str) -> dict[str, Any]:
    """Revoke a token of the account for good. Raises NotFound."""
    if not any(one.id == token_id and one.is_valid for one in list_tokens(studio.database, account)):
        raise NotFound(tr("This token has expired or been revoked."), "token_not_found")
    return _view(revoke_token(studio.database, token_id, account))


def _view(token: Token) -> dict[str, Any]:
    state = "valid" if token.is_valid else "expired" if token.revoked_at is None else "revoked"
    return {
        "id": token.id,
        "name": token.name,
        "state": state,
        "created_at": token.created_at,
        "expires_at": token.expires_at,
        "used_at": token.used_at,
    }

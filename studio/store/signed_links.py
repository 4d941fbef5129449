"""Signed links (HMAC-SHA-256 over key and expiry) open a stored file without a token until they expire."""

import base64
import hmac
import math
import secrets as random
from functools import lru_cache
from urllib.parse import quote

from sqlalchemy import select

from studio.store.database import Database, insert_or_keep
from studio.store.tables import secrets

_NAME = "links"
_SECRET_BYTES = 32
_HOUR_S = 3600
_LONGEST_TIME = 12  # digits


def secret_of(database: Database) -> bytes:
    """Return the secret this installation signs with, created on the first call."""
    with database.write() as connection:
        new = {"name": _NAME, "value": random.token_bytes(_SECRET_BYTES)}
        connection.execute(insert_or_keep(connection, secrets).values(new))
        return bytes(connection.execute(select(secrets.c.value).where(secrets.c.name == _NAME)).scalar_one())


def sign(secret: bytes, key: str, expires_s: float) -> str:
    """Return the part of a link after `.../files/`, valid at least until `expires_s` (since 1970).
    That is rounded up to the hour, so that repeated calls return the same link and browsers can cache it."""
    return _signed(secret, key, math.ceil(expires_s / _HOUR_S) * _HOUR_S)


@lru_cache(maxsize=4096)
def _signed(secret: bytes, key: str, expires: int) -> str:
    """Return the same, computed once an hour for clients that poll."""
    return f"{quote(key, safe='/')}?expires={expires}&signature={_signature(secret, key, expires)}"


def check(secret: bytes, key: str, expires: str, signature: str, now_s: float) -> bool:
    """Return whether this signature opens the file with this key now; all texts are untrusted."""
    if not (expires.isascii() and expires.isdigit() and len(expires) <= _LONGEST_TIME):
        return False
    known = _signature(secret, key, int(expires))
    return hmac.compare_digest(known.encode(), signature.encode("utf-8", "replace")) and now_s <= int(expires)


def _signature(secret: bytes, key: str, expires: int) -> str:
    signed = f"{expires}\n{key}".encode("utf-8", "surrogatepass")
    return base64.urlsafe_b64encode(hmac.digest(secret, signed, "sha256")).decode().rstrip("=")

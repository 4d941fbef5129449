"""Signatures of callbacks, by Standard Webhooks (www.standardwebhooks.com), with a secret of each account's own."""

import base64
import hmac

_PREFIX = "whsec_"


def secret_of_account(installation: bytes, account_id: str) -> str:
    """Return the secret that the callbacks of an account are signed with, as libraries of the standard take it."""
    return _PREFIX + base64.b64encode(hmac.digest(installation, f"callbacks\n{account_id}".encode(), "sha256")).decode()


def signed_headers(secret: str, delivery_id: str, sent_at: int, body: bytes) -> dict[str, str]:
    """Return the headers that sign a body: HMAC-SHA-256 over id, time and body.
    sent_at: seconds since 1970; receivers refuse old ones, so that nobody can send it again."""
    key = base64.b64decode(secret.removeprefix(_PREFIX))
    made = hmac.digest(key, b".".join((delivery_id.encode(), str(sent_at).encode(), body)), "sha256")
    signature = base64.b64encode(made).decode()
    return {"webhook-id": delivery_id, "webhook-timestamp": str(sent_at), "webhook-signature": f"v1,{signature}"}

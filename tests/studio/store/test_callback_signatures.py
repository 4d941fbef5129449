"""Signatures of callbacks: those of Standard Webhooks, and another secret for each account."""

from studio.store.callback_signatures import secret_of_account, signed_headers


def test_signed_headers_are_those_of_the_standard():
    """The example that the libraries of the standard test themselves with."""
    headers = signed_headers(
        "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, b'{"test": 2432232314}'
    )
    assert headers == {
        "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
        "webhook-timestamp": "1614265330",
        "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    }


def test_secret_of_account_is_its_own_and_stays():
    mia, again, leo = (secret_of_account(b"installation", name) for name in ("mia", "mia", "leo"))
    assert mia == again != leo
    assert mia != secret_of_account(b"another", "mia")
    assert mia.startswith("whsec_")

from dataclasses import replace

import pytest

from studio.errors import TooMany, Unauthorised
from studio.page.sessions import IDLE_S, SessionRegister, address_of
from studio.settings.service import DEMO, ServiceSettings

HERE = "203.0.113.5"


def test_session_register_drops_the_least_recently_used_above_the_limit():
    register = SessionRegister(ServiceSettings(page_sessions=3))
    for now_s, name in enumerate(["a", "b", "c", "a"]):
        assert register.use(name, "", HERE, now_s) == []
    assert register.use("d", "", HERE, 4.0) == ["b"]
    assert len(register) == 3


def test_session_register_above_the_limit_drops_those_of_whoever_has_most():
    """One visitor's thousand sessions ended everybody's."""
    register = SessionRegister(ServiceSettings(page_sessions=4))
    register.use("annas", "anna", HERE, 0.0)
    gone = [old for number in range(9) for old in register.use(f"b{number}", "bert", HERE, 1.0 + number)]
    assert gone == [f"b{number}" for number in range(6)]
    demo = SessionRegister(replace(DEMO, page_sessions=4))
    demo.use("annas", "anna", "198.51.100.7", 0.0)
    gone = [old for number in range(9) for old in demo.use(f"b{number}", f"bert {number}", HERE, 1.0 + number)]
    assert gone == [f"b{number}" for number in range(6)]  # a cookie is easily had, an address is not


def test_session_register_sweeps_idle_sessions():
    register = SessionRegister(ServiceSettings())
    register.use("old", "", HERE, 0.0)
    register.use("kept", "", HERE, 2.0)
    assert register.use("new", "", HERE, IDLE_S + 1) == ["old"]
    demo = SessionRegister(replace(DEMO, visitor_minutes=1.0))
    demo.use("old", "", HERE, 0.0)
    assert demo.use("new", "", HERE, 61.0) == ["old"]


def test_session_register_limits_the_sessions_of_an_address():
    register = SessionRegister(replace(DEMO, page_sessions=100, page_sessions_per_address=3))
    register.use("other", "", "198.51.100.7", 0.0)
    gone = [old for number in range(9) for old in register.use(str(number), "", HERE, 1.0 + 30 * number)]
    assert gone == [str(number) for number in range(6)]
    assert len(register) == 4


def test_session_register_limits_new_sessions_and_events_per_minute():
    register = SessionRegister(replace(DEMO, page_sessions_per_address=5, page_events_per_minute=50))
    for number in range(5):
        register.use(str(number), "", HERE, 0.0)
    with pytest.raises(TooMany, match="More than 5 calls per minute"):
        register.use("another", "", HERE, 1.0)
    register.use("of somebody else", "", "198.51.100.7", 1.0)
    register.use("another", "", HERE, 13.0)
    for _ in range(49):
        register.use("another", "", HERE, 13.0)
    with pytest.raises(TooMany, match="More than 50"):
        register.use("another", "", HERE, 13.0)


def test_session_register_refuses_a_session_of_another_visitor():
    register = SessionRegister(DEMO)
    register.use("a", "anna", HERE, 0.0)
    for refused in (lambda: register.check("a", "bert"), lambda: register.use("a", "", HERE, 1.0)):
        with pytest.raises(Unauthorised, match="another visitor"):
            refused()
    register.check("a", "anna")
    register.check("unknown", "bert")


@pytest.mark.parametrize(
    ("peer", "reported", "address"),
    [
        ("203.0.113.5", "", "203.0.113.5"),
        ("8.8.8.8", "1.1.1.1", "8.8.8.8"),  # no proxy of ours: whoever calls could claim anything
        ("10.0.0.1", "1.1.1.1", "1.1.1.1"),
        ("10.0.0.1", "9.9.9.9, 1.1.1.1, 10.0.0.2", "1.1.1.1"),  # what comes first is the client's own claim
        ("10.0.0.1", "nonsense", "10.0.0.1"),
        ("10.0.0.1", "192.168.1.9", "10.0.0.1"),
        ("2600:1:2:3:4:5:6:7", "", "2600:1:2:3::/64"),
        ("127.0.0.1", "", "127.0.0.1"),
    ],
)
def test_address_of_trusts_only_the_report_of_the_nearest_proxy(peer, reported, address):
    headers = [(b"x-forwarded-for", reported.encode())] if reported else []
    assert address_of({"type": "http", "client": (peer, 1), "headers": headers}) == address

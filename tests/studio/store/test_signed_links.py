"""Signed links: they open one file, for some time, and nothing else."""

from urllib.parse import parse_qs, unquote, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from studio.store.signed_links import check, secret_of, sign
from studio.store.storage import checked
from tests.waiting import in_threads

SECRET = b"s" * 32
NOW_S = 1_800_000_000.0
HOUR_S = 3600


def taken_apart(link: str) -> tuple[str, str, str]:
    """Key, expiry and signature, as a server sees them."""
    parts = urlsplit(f"http://host/files/{link}")
    [expires], [signature] = (parse_qs(parts.query, strict_parsing=True)[name] for name in ("expires", "signature"))
    return unquote(parts.path.removeprefix("/files/")), expires, signature


def opens(link: str, now_s: float = NOW_S, secret: bytes = SECRET) -> bool:
    return check(secret, *taken_apart(link), now_s)


keys = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=40).filter(
    lambda key: not any(part in ("", ".", "..") for part in key.split("/")) and "\\" not in key
)


@given(keys)
def test_signed_link_opens_its_file(key):
    link = sign(SECRET, checked(key), NOW_S + 60)
    assert taken_apart(link)[0] == key
    assert link.isascii()
    assert opens(link)


def test_signed_link_is_valid_until_its_time_and_at_most_an_hour_longer():
    link = sign(SECRET, "tasks/a/1/take-1.wav", NOW_S + 60)
    assert opens(link, NOW_S + 60)
    assert not opens(link, NOW_S + 60 + HOUR_S)


def test_sign_returns_the_same_link_within_the_hour():
    begin = NOW_S // HOUR_S * HOUR_S
    links = {sign(SECRET, "a", begin + second) for second in (1, 60, HOUR_S)}
    assert len(links) == 1
    assert links != {sign(SECRET, "a", begin + HOUR_S + 1)}


def test_check_refuses_a_link_with_any_part_changed():
    key, expires, signature = taken_apart(sign(SECRET, "tasks/a", NOW_S))
    assert check(SECRET, key, expires, signature, NOW_S)
    assert not check(SECRET, "tasks/b", expires, signature, NOW_S)
    assert not check(SECRET, key, str(int(expires) + HOUR_S), signature, NOW_S)
    assert not check(b"t" * 32, key, expires, signature, NOW_S)
    assert not check(SECRET, key, expires, signature[:-1], NOW_S)
    assert not check(SECRET, key, expires, "", NOW_S)


@pytest.mark.parametrize("expires", ["", "-1", "1e12", "nan", "٣", "9" * 13, " 1", "1.5", "9" * 5000])
def test_check_refuses_an_invalid_expiry(expires):
    assert not check(SECRET, "a", expires, "x", NOW_S)


@given(st.text(), st.text(), st.text())
def test_check_refuses_any_made_up_link(key, expires, signature):
    assert not check(SECRET, key, expires, signature, NOW_S)


def test_secret_of_creates_one_secret_for_parallel_callers(database):
    found = in_threads(5, lambda _: secret_of(database))
    assert len(set(found)) == 1
    assert len(found[0]) == 32
    assert secret_of(database) == found[0]

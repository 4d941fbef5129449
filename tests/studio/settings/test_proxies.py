"""Proxies that programs set for every shell, of kinds that httpx cannot use: it ends at them when it makes a client."""

import os

import httpx
import pytest

from engine.errors import SettingsError
from studio.settings.proxies import certificates, proxy_for, unusable_variables, without_proxies

UNUSABLE = [
    *("socks5://127.0.0.1:9", "socks5h://127.0.0.1:9", "socks4://127.0.0.1:9", "ftp://127.0.0.1:9", "direct://"),
    *("http://[::1", "http://127.0.0.1:port", "http://a..b:1", f"http://{'x' * 80}:1"),
]
USABLE = ["http://127.0.0.1:9", "https://proxy.test:3128", "127.0.0.1:9", "http://me:p@ss@proxy.test", " proxy.test "]


@pytest.fixture(autouse=True)
def no_others(monkeypatch):
    for name in list(os.environ):
        if name.lower().endswith("_proxy") or name.startswith("SSL_CERT"):
            monkeypatch.delenv(name)


@pytest.mark.parametrize("address", UNUSABLE)
@pytest.mark.parametrize("name", ["ALL_PROXY", "all_proxy", "HTTPS_PROXY", "https_proxy"])
def test_proxy_for_names_the_variable_of_a_proxy_that_cannot_be_used(monkeypatch, name, address):
    monkeypatch.setenv(name, address)
    with pytest.raises(SettingsError, match=f"The proxy that {name} names cannot be used"):
        proxy_for("https://models.test/network")
    assert unusable_variables() == [name]


@pytest.mark.parametrize("address", USABLE)
def test_proxy_for_returns_a_proxy_that_can_be_used_beside_one_that_cannot(monkeypatch, address):
    monkeypatch.setenv("HTTPS_PROXY", address)
    monkeypatch.setenv("ALL_PROXY", "socks5://127.0.0.1:9")
    proxy = proxy_for("https://models.test/network")
    assert proxy is not None
    assert proxy.removeprefix("http://") == address.strip().removeprefix("http://")
    assert unusable_variables() == ["ALL_PROXY"]


@pytest.mark.parametrize("exceptions", ["*", "models.test", ".test", "[::1], models.test", "10.0.0.0/8,models.test"])
def test_proxy_for_returns_none_for_exceptions_and_without_proxies(monkeypatch, exceptions):
    assert proxy_for("https://models.test:443/network") is None
    monkeypatch.setenv("ALL_PROXY", "socks5://127.0.0.1:9")
    monkeypatch.setenv("no_proxy", exceptions)
    assert proxy_for("https://models.test:443/network") is None


def test_proxy_for_prefers_the_variable_in_small_letters(monkeypatch):
    monkeypatch.setenv("HTTPS_PROXY", "socks4://127.0.0.1:9")
    monkeypatch.setenv("https_proxy", "http://proxy.test:80")
    assert proxy_for("https://models.test/network") == "http://proxy.test:80"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(*(("ALL_PROXY", address) for address in UNUSABLE), ("no_proxy", "[::1]"), ("NO_PROXY", "::1,[::1]:8080")),
        *(("SSL_CERT_FILE", "/no/such/file"), ("SSL_CERT_FILE", __file__)),
    ],
)
def test_without_proxies_lets_clients_be_made_and_restores_the_environment(monkeypatch, name, value):
    monkeypatch.setenv(name, value)
    before = dict(os.environ)
    with without_proxies():
        httpx.Client().close()
    assert dict(os.environ) == before


def test_without_proxies_restores_the_environment_after_an_error(monkeypatch):
    monkeypatch.setenv("no_proxy", "localhost")
    with pytest.raises(ZeroDivisionError), without_proxies():
        raise ZeroDivisionError
    assert os.environ["no_proxy"] == "localhost"


@pytest.mark.parametrize("value", ["/no/such/file", __file__])
def test_certificates_names_the_variable_of_a_file_that_is_none(monkeypatch, value):
    certificates()
    monkeypatch.setenv("SSL_CERT_FILE", value)
    with pytest.raises(SettingsError, match="The certificates that SSL_CERT_FILE names cannot be read"):
        certificates()

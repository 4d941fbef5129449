"""Addresses that others gave: what may be called, and that the address called is the one that was checked."""

import asyncio
from http.server import BaseHTTPRequestHandler, HTTPServer
from ipaddress import ip_address

import httpx
import pytest

from engine.errors import SettingsError
from studio import addresses
from studio.addresses import WHOSE, GuardedTransport, checked_address, is_public, resolved
from tests.servers import serving


@pytest.mark.parametrize(
    "address", ["93.184.216.34", "8.8.8.8", "2606:2800:220:1:248:1893:25c8:1946", "::ffff:8.8.8.8", "64:ff9b::808:808"]
)
def test_is_public_takes_addresses_of_the_internet(address):
    assert is_public(address)


@pytest.mark.parametrize(
    "address",
    """
    127.0.0.1 127.9.9.9 0.0.0.0 10.0.0.1 172.16.3.4 192.168.1.1 169.254.169.254 100.64.0.1 192.0.0.8 198.18.0.1
    224.0.0.1 240.0.0.1 255.255.255.255 ::1 :: fe80::1 fe80::1%eth0 fc00::1 fd12:3456::1 ff02::1 2001:db8::1
    ::ffff:127.0.0.1 ::ffff:10.0.0.1 ::127.0.0.1 64:ff9b::7f00:1 64:ff9b::a9fe:a9fe 2002:7f00:1:: 2002:a00:1::1
    2001:0:a00:1:0:0:80ff:fffe 2002:808:808::1 2001:0:808:808::1 2001:20::1 192.88.99.1 fec0::1 feff::1 febf::1
    3fff::1 5f00::1 64:ff9b:1::808:808 100::1 ::8.8.8.8 ::ffff:0:8.8.8.8 ff0e::1 4000::1 2606:2800::1%eth0
    ::ffff:169.254.169.254 ::ffff:c0a8:1 64:ff9b::a00:1
    """.split(),
)
def test_is_public_refuses_everything_else_in_all_its_disguises(address):
    assert not is_public(address)


@pytest.mark.parametrize(
    ("written", "read"),
    [
        *((same, same) for same in ("https://example.com/done?x=1", "http://example.com:8080", "https://8.8.8.8/")),
        *((same, same) for same in ("https://xn--strae-oqa.de/", "https://[2606:2800::1]:8443/x")),
        *(("https://1password.com/", "https://1password.com/"), ("HTTPS://EXAMPLE.COM", "https://example.com")),
        ("https://bücher.example/a#b", "https://xn--bcher-kva.example/a"),
        ("https://例え.テスト/", "https://xn--r8jz45g.xn--zckzah/"),
        ("https://a_b.r3---sn.example:443/", "https://a_b.r3---sn.example/"),
    ],
)
def test_checked_address_takes_public_ones_without_their_fragment(written, read):
    assert checked_address(written) == read


@pytest.mark.parametrize(
    "written",
    [
        *("", "example.com", "ftp://example.com/", "file:///etc/passwd", "javascript:alert(1)", "https://"),
        *("https://user:pass@example.com/", "https://example.com/" + "x" * 2000, "https://exa mple.com/"),
        *("http://[::1/", "https://example.com/\r\nX: y", "http://localhost/", "http://LOCALHOST./"),
        *("http://a.localhost/", "http://printer.local/", "http://metadata.google.internal/", "http://[::1]/"),
        *("http://127.0.0.1:7860/", "http://169.254.169.254/latest/", "http://192.168.0.1/"),
        *("http://[::ffff:10.0.0.1]/", "https://@example.com/", "https://example.com\\@127.0.0.1/", "https:///a"),
        "https:example.com",
        # ports out of range, and ports that only Python reads
        *(f"https://example.com:{port}/" for port in ("0", "65536", "99999", "8_0", "+80", "\u0663", "-1")),
        # names that cannot be encoded or looked up
        *(f"https://{name}/" for name in ("xn--", "xn--a", "a.xn--0.com", "XN--A", "xn--\u00fc", "xn--strae-oqa-")),
        *("https://example.xn--a", f"https://{'a' * 64}.com/", f"https://{'.'.join(['a' * 50] * 5)}.com/"),
        *(f"https://{name}/" for name in ("a..com", ".com", "example.com.", "example.com..", ".".join("a" * 17))),
        *(f"https://{name}.com/" for name in ("-a", "a-", "a*b", "%61", "\ud800")),
        *(f"https://{name}.com/" for name in ("ex\u00adample", "\u24d4xample", "exa\u200bmple")),
        # other spellings of addresses of this machine
        *(f"http://{host}/" for host in "2130706433 0x7f000001 0x7f.1 0177.0.0.1 127.1 0 017700000001".split()),
        *(f"http://{host}/" for host in ("127.0.0.0x1", "127.0.0.1.", "127\u30020\u30020\u30021")),
        *(f"http://{host}/" for host in ("\uff11\uff12\uff17.0.0.1", "256.1.1.1", "1.2.3", "8.8.8.8.8")),
        *(f"http://[{host}]/" for host in "::127.0.0.1 0:0:0:0:0:ffff:7f00:1 fe80::1%25eth0 fe80::1%eth0".split()),
        *(f"http://[{host}]/" for host in "fec0::1 64:ff9b::7f00:1 2002:7f00:1:: ::ffff:0x7f.1 v1.a".split()),
        "http://[2001:0:a00:1:0:0:80ff:fffe]/",
    ],
)
def test_checked_address_refuses_what_must_not_be_called(written):
    with pytest.raises(SettingsError):
        checked_address(written)


def test_checked_address_takes_private_ones_where_they_are_allowed():
    assert checked_address("http://127.0.0.1:9/x", private=True) == "http://127.0.0.1:9/x"
    with pytest.raises(SettingsError):
        checked_address("http://user@127.0.0.1/", private=True)


class Receiver(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(302)
        self.send_header("Location", self.server.redirect)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def do_POST(self):
        self.server.seen.append((self.path, self.headers["Host"], self.rfile.read(int(self.headers["Content-Length"]))))
        self.send_response(204)
        self.end_headers()

    def log_message(self, *said):
        pass


@pytest.fixture
def receiver():
    server = HTTPServer(("127.0.0.1", 0), Receiver)
    server.seen = []
    with serving(server):
        yield server


def call(url: str, *answers: list[str], private: bool = False) -> tuple[httpx.Response, list[str]]:
    """Post to the address; each look-up of a name gives the next of the answers. Also return the names."""
    names, left = [], list(answers)

    async def resolve(name, port, whose):
        names.append(name)
        return left.pop(0)

    async def post():
        async with httpx.AsyncClient(transport=GuardedTransport(private, resolve), trust_env=False) as client:
            return await client.post(url, content=b"sound")

    return asyncio.run(post()), names


def test_transport_resolves_once_and_calls_the_address_that_was_checked(receiver, monkeypatch):
    """A name that means something else a moment later gains nothing."""
    port = receiver.server_port
    monkeypatch.setattr(addresses, "is_public", lambda address: str(ip_address(address)) == "127.0.0.1")
    answer, names = call(f"http://example.com:{port}/done", ["127.0.0.1"], ["10.0.0.1"])
    assert (answer.status_code, names) == (204, ["example.com"])
    assert receiver.seen == [("/done", f"example.com:{port}", b"sound")]


@pytest.mark.parametrize("found", [["127.0.0.1"], ["::1"], ["8.8.8.8", "10.0.0.1"], ["169.254.169.254"]])
def test_transport_refuses_names_that_lead_inside(receiver, found):
    with pytest.raises(SettingsError, match="private network"):
        call(f"http://example.com:{receiver.server_port}/", found)
    assert receiver.seen == []


def test_transport_reports_names_that_lead_nowhere():
    with pytest.raises(httpx.ConnectError):
        call("http://example.com/", [])


def test_transport_calls_this_machine_where_that_is_allowed(receiver):
    answer, _ = call(f"http://127.0.0.1:{receiver.server_port}/", ["127.0.0.1"], private=True)
    assert answer.status_code == 204


def test_transport_gives_up_a_look_up_that_hangs(monkeypatch):
    monkeypatch.setattr(addresses, "LOOK_UP_S", 0.01)

    async def hang(name, port, whose):
        await asyncio.Event().wait()

    async def post():
        async with httpx.AsyncClient(transport=GuardedTransport(resolve=hang), trust_env=False) as client:
            await client.post("http://example.com/")

    with pytest.raises(httpx.ConnectTimeout):
        asyncio.run(post())


def test_transport_says_for_whom_it_looks_up():
    asked = []

    async def resolve(name, port, whose):
        asked.append((name, port, whose))
        return ["::1"]

    async def post():
        async with httpx.AsyncClient(transport=GuardedTransport(resolve=resolve), trust_env=False) as client:
            await client.post("https://example.com/", extensions={WHOSE: "mia"})

    with pytest.raises(SettingsError):
        asyncio.run(post())
    assert asked == [("example.com", 443, "mia")]


def test_resolved_finds_this_machine_and_reports_what_is_not_there():
    assert set(asyncio.run(resolved("localhost", 80, ""))) & {"127.0.0.1", "::1"}
    with pytest.raises(httpx.ConnectError):
        asyncio.run(resolved("nobody.invalid", 80, ""))


def test_transport_checks_each_redirect(receiver, monkeypatch):
    """The first address is public, as it seems; where it redirects to is not called."""
    monkeypatch.setattr(addresses, "is_public", lambda address: str(ip_address(address)) == "127.0.0.1")
    port = receiver.server_port
    places = {"example.com": ["127.0.0.1"], "inside.example.com": ["10.0.0.1"]}

    async def resolve(name, port, whose):
        return places[name]

    async def get(url):
        transport = GuardedTransport(resolve=resolve)
        async with httpx.AsyncClient(transport=transport, trust_env=False, follow_redirects=True) as client:
            return await client.get(url)

    for place in (f"http://inside.example.com:{port}/", "http://localhost/", "http://[::1]/", "http://2130706433/"):
        receiver.redirect = place
        with pytest.raises(SettingsError):
            asyncio.run(get(f"http://example.com:{port}/"))

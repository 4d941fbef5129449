"""Files in a storage: whole or not there, in any part, under no name that leads elsewhere; the same on both kinds."""

import errno
import http.client
import os
import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.errors import SettingsError
from studio.errors import DiskFull, NotFound, Unavailable
from studio.store.storage import BLOCK, LONGEST_KEY, Storage, _as_key, _as_path, checked, open_storage
from tests.servers import serving
from tests.waiting import PATIENCE_S

LARGE = bytes(range(256)) * (3 * BLOCK // 256) + b"the end"
LEADING_ELSEWHERE = [
    *("", "/", "/etc/passwd", "..", "a/../b", "../a", "a/./b", "a//b", "a/", "a\0b", "a\nb", "a\\b"),
    *("x" * (LONGEST_KEY + 1), "ü" * (LONGEST_KEY // 2 + 1), "a/\udcff"),
]
NAMES = ["plain.wav", "ü b.wav", "50%.wav", "%20.wav", "take #1.wav", "[a] {b} ~'.wav", "q?*&+=.wav", "日本/歌 1.wav"]


def written(path: Path, data: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def content(storage: Storage, key: str) -> bytes:
    return b"".join(storage.read(key))


def everything(storage: Storage) -> list[str]:
    return sorted(storage.list_keys("tasks"))


# ---- stored and read


def test_storage_returns_stored_files_and_bytes(storage, tmp_path):
    storage.check()
    before_s = time.time()
    storage.put_file(written(tmp_path / "song.wav", LARGE), "tasks/a/input.wav")
    storage.put_bytes(b"{}", "tasks/a/1/scores.json")
    stored = storage.head("tasks/a/input.wav")
    assert (stored.key, stored.size) == ("tasks/a/input.wav", len(LARGE))
    assert stored.etag[0] == stored.etag[-1] == '"'
    assert before_s - 5 < stored.modified_s < time.time() + 5  # the clocks of two machines, which may round
    assert content(storage, "tasks/a/input.wav") == LARGE
    assert storage.fetch("tasks/a/input.wav", tmp_path / "fetched").read_bytes() == LARGE
    assert everything(storage) == ["tasks/a/1/scores.json", "tasks/a/input.wav"]


def test_put_file_replaces_a_file_and_changes_its_etag(storage, tmp_path):
    storage.put_bytes(b"one", "tasks/a")
    first = storage.head("tasks/a")
    storage.put_file(written(tmp_path / "two", b"second"), "tasks/a")
    assert content(storage, "tasks/a") == b"second"
    assert storage.head("tasks/a").etag != first.etag


def test_copy_is_independent_of_the_original(storage):
    storage.put_bytes(b"first", "tasks/one/take.wav")
    storage.copy("tasks/one/take.wav", "tasks/two/original/take.wav")
    storage.put_bytes(b"second", "tasks/one/take.wav")
    assert b"".join(storage.read("tasks/two/original/take.wav")) == b"first"
    storage.copy("tasks/two/original/take.wav", "tasks/three/take.wav")
    storage.delete_below("tasks/two")
    assert b"".join(storage.read("tasks/three/take.wav")) == b"first"
    with pytest.raises(NotFound):
        storage.copy("tasks/two/original/take.wav", "tasks/four/take.wav")
    assert storage.head("tasks/four/take.wav") is None


def test_copy_works_on_a_disk_without_hard_links(folder_storage, monkeypatch):
    def refuse(self, target):
        raise PermissionError(errno.EPERM, "no hard links here")

    monkeypatch.setattr(Path, "hardlink_to", refuse)
    folder_storage.put_bytes(b"first", "one.wav")
    folder_storage.copy("one.wav", "two.wav")
    folder_storage.put_bytes(b"second", "one.wav")
    assert b"".join(folder_storage.read("two.wav")) == b"first"


@pytest.mark.parametrize(("data", "largest"), [(LARGE, BLOCK), (b"", 0)])
def test_read_returns_blocks_of_limited_size(storage, data, largest):
    storage.put_bytes(data, "tasks/a")
    assert storage.head("tasks/a").size == len(data)
    blocks = list(storage.read("tasks/a"))
    assert b"".join(blocks) == data
    assert max(map(len, blocks), default=0) == largest


around_blocks = st.builds(lambda blocks, more: blocks * BLOCK + more, st.integers(0, 3), st.integers(-3, 9))


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(start=around_blocks, stop=st.none() | around_blocks)
def test_read_returns_any_byte_range(storage, start, stop):
    if storage.head("tasks/a") is None:
        storage.put_bytes(LARGE, "tasks/a")
    first, last = max(start, 0), len(LARGE) if stop is None else max(stop, 0)
    assert b"".join(storage.read("tasks/a", start, None if stop is None else max(stop, 0))) == LARGE[first:last]


def test_storage_raises_not_found_for_missing_files_and_folders(storage, tmp_path):
    storage.put_bytes(b"x", "tasks/a/b")
    for key in ("tasks/b", "tasks/a", "tasks/a/b/c"):
        assert storage.head(key) is None
        with pytest.raises(NotFound):
            storage.read(key)
        with pytest.raises(NotFound):
            storage.fetch(key, tmp_path / "fetched")
        storage.delete(key)
    assert content(storage, "tasks/a/b") == b"x"
    with pytest.raises(NotFound):
        storage.pull_folder("tasks/c", tmp_path / "pulled")
    with pytest.raises(NotFound):
        storage.put_file(tmp_path / "missing", "tasks/a/c")


def test_read_raises_unavailable_if_the_file_is_replaced_meanwhile(storage):
    storage.put_bytes(LARGE, "tasks/a")
    blocks = storage.read("tasks/a")
    next(blocks)
    storage.put_bytes(LARGE[1:], "tasks/a")
    with pytest.raises(Unavailable, match="replaced while it was being read"):
        list(blocks)


def test_put_bytes_never_shows_a_partial_file(storage):
    sizes, stop = set(), threading.Event()

    def look() -> None:
        while not stop.is_set():
            stored = storage.head("tasks/a")
            sizes.add(None if stored is None else stored.size)

    watcher = threading.Thread(target=look)
    watcher.start()
    for number in range(4):
        storage.put_bytes(LARGE * (1 + number % 2), "tasks/a")
    stop.set()
    watcher.join(PATIENCE_S)
    assert sizes <= {None, len(LARGE), 2 * len(LARGE)}


# ---- folders


def test_pull_folder_returns_a_pushed_folder_unchanged(storage, tmp_path):
    for number, name in enumerate(NAMES):
        written(tmp_path / "mia" / "audio" / name, bytes([number]) * (number + 1))
    storage.push_folder(tmp_path / "mia", "datasets/mia")
    storage.pull_folder("datasets/mia", tmp_path / "back")
    found = {
        path.relative_to(tmp_path / "back" / "audio").as_posix(): path.read_bytes() for path in files(tmp_path / "back")
    }
    assert found == {name: bytes([number]) * (number + 1) for number, name in enumerate(NAMES)}


@given(
    st.binary(min_size=1, max_size=60)
    .map(os.fsdecode)
    .filter(lambda name: not set(name) & {"/", "\0"} and name[0] != ".")
)
def test_as_key_and_as_path_round_trip_any_file_name(name):
    key = _as_key(Path("audio", name))
    assert checked(key) == key
    assert _as_path(key) == Path("audio", name)


def test_pull_folder_restores_file_names_that_are_not_utf_8(storage, tmp_path):
    (tmp_path / "mia").mkdir()
    (tmp_path / "mia" / os.fsdecode(b"caf\xe9.wav")).write_bytes(b"latin")
    storage.push_folder(tmp_path / "mia", "datasets/mia")
    storage.pull_folder("datasets/mia", tmp_path / "back")
    assert os.listdir(os.fsencode(tmp_path / "back")) == [b"caf\xe9.wav"]


def test_s3_storage_push_folder_skips_links(s3_storage, tmp_path):
    written(tmp_path / "mia" / "a.wav", b"a")
    (tmp_path / "mia" / "b.wav").symlink_to("/etc/hostname")
    s3_storage.push_folder(tmp_path / "mia", "datasets/mia")
    assert list(s3_storage.list_keys("datasets/mia")) == ["datasets/mia/a.wav"]


def test_push_folder_replaces_an_earlier_folder(folder_storage, tmp_path):
    for name in "ab":
        written(tmp_path / name / f"{name}.wav", b"x")
        folder_storage.push_folder(tmp_path / name, "datasets/mia")
    assert list(folder_storage.list_keys("datasets")) == ["datasets/mia/b.wav"]
    assert left_behind(tmp_path) == []


def test_delete_below_deletes_only_keys_under_the_folder(storage):
    for key in ("tasks/mia/a", "tasks/mia/b/c", "tasks/mia-2/a", "tasks/mi/a", "tasks/other"):
        storage.put_bytes(b"x", key)
    storage.delete_below("tasks/mia")
    assert everything(storage) == ["tasks/mi/a", "tasks/mia-2/a", "tasks/other"]
    storage.delete_below("tasks/mia")
    storage.delete("tasks/other")
    storage.delete("tasks/other")
    assert everything(storage) == ["tasks/mi/a", "tasks/mia-2/a"]


@pytest.mark.parametrize("fails", [False, True])
def test_deleting_removes_the_given_folders_unless_it_fails(storage, tmp_path, fails):
    keys = ["tasks/datasets/mia/a", "tasks/voices/lou/card.json", "tasks/voices/mia/card.json"]
    for key in keys:
        storage.put_bytes(b"x", key)
    with suppress(DiskFull), storage.deleting() as take_away:
        for key in ("tasks/voices/mia", "tasks/datasets/mia", "tasks/voices/none"):
            take_away(key)
        if fails:
            raise DiskFull("The disk is full.")
    assert everything(storage) == (keys if fails else keys[1:2])
    assert left_behind(tmp_path) == []


def test_folder_and_free_bytes_are_none_on_s3(folder_storage, s3_storage, tmp_path):
    assert folder_storage.folder("voices/mia") == tmp_path / "data" / "voices" / "mia"
    assert folder_storage.free_bytes() > 0
    assert s3_storage.folder("voices/mia") is None
    assert s3_storage.free_bytes() is None


def test_put_file_and_push_folder_move_files_from_another_disk(folder_storage, tmp_path):
    elsewhere = Path("/dev/shm")
    if not elsewhere.is_dir() or elsewhere.stat().st_dev == tmp_path.stat().st_dev:
        pytest.skip("there is no second disk here")
    place = elsewhere / f"studio-{os.getpid()}"
    try:
        folder_storage.put_file(written(place / "song.wav", LARGE), "tasks/a")
        written(place / "mia" / "audio" / "a.wav", b"x")
        folder_storage.push_folder(place / "mia", "datasets/mia")
        assert list(place.iterdir()) == []
    finally:
        shutil.rmtree(place, ignore_errors=True)
    assert content(folder_storage, "tasks/a") == LARGE
    assert content(folder_storage, "datasets/mia/audio/a.wav") == b"x"


# ---- keys


@pytest.mark.parametrize("key", LEADING_ELSEWHERE)
def test_storage_raises_not_found_for_unsafe_keys(storage, tmp_path, key):
    source = written(tmp_path / "source", b"x")
    assert storage.head(key) is None
    attempts = [
        lambda: storage.read(key),
        lambda: storage.put_bytes(b"x", key),
        lambda: storage.put_file(source, key),
        lambda: storage.fetch(key, tmp_path / "fetched"),
    ]
    if key != "a/":  # as a prefix it means the same as without the slash
        attempts += [lambda: list(storage.list_keys(key)), lambda: storage.delete_below(key)]
    for attempt in attempts:
        with pytest.raises(NotFound):
            attempt()
    storage.delete(key)
    assert source.exists()


# ---- troubles


def test_put_bytes_and_put_file_raise_disk_full_and_leave_nothing_behind(folder_storage, tmp_path, monkeypatch):
    folder_storage.put_bytes(b"before", "tasks/a")

    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    for attempt in (
        lambda: folder_storage.put_bytes(LARGE, "tasks/a"),
        lambda: folder_storage.put_file(written(tmp_path / "song", LARGE), "tasks/a"),
    ):
        with pytest.raises(DiskFull, match="disk is full"):
            attempt()
    assert content(folder_storage, "tasks/a") == b"before"
    assert left_behind(tmp_path) == []


def test_put_bytes_raises_unavailable_for_an_unwritable_folder(folder_storage, tmp_path):
    written(tmp_path / "data" / "tasks", b"a file where a folder should be")
    with pytest.raises(Unavailable) as trouble:
        folder_storage.put_bytes(b"x", "tasks/a/b")
    assert trouble.value.code == "storage_unreachable"


def test_s3_storage_retries_after_a_single_failure(s3_server, s3_bucket, tmp_path):
    with flaky(s3_server) as (url, failures):
        storage = open_storage(f"s3://{s3_bucket}?endpoint={url}&region=us-east-1", tmp_path)
        for attempt in (
            lambda: storage.put_bytes(b"x", "tasks/a"),
            lambda: content(storage, "tasks/a"),
            lambda: list(storage.list_keys("tasks")),
            lambda: storage.delete_below("tasks"),
        ):
            failures.append(503)
            attempt()
            assert failures == []


def test_s3_storage_raises_unavailable_while_the_server_fails(s3_server, s3_bucket, tmp_path):
    with flaky(s3_server) as (url, failures):
        storage = open_storage(f"s3://{s3_bucket}?endpoint={url}&region=us-east-1", tmp_path / "data")
        storage.put_bytes(b"x", "tasks/a")
        failures.extend([503] * 1000)
        for attempt in (lambda: storage.head("tasks/a"), lambda: storage.put_bytes(b"y", "tasks/a")):
            with pytest.raises(Unavailable) as trouble:
                attempt()
            assert trouble.value.code == "storage_unreachable"
            assert s3_bucket not in str(trouble.value)
        failures[:] = [403] * 1000
        with pytest.raises(Unavailable, match="credentials"):
            storage.put_bytes(b"y", "tasks/a")
        failures.clear()
        assert content(storage, "tasks/a") == b"x"


def test_fetch_leaves_nothing_after_a_broken_download(s3_server, s3_bucket, tmp_path):
    with flaky(s3_server) as (url, failures):
        storage = open_storage(f"s3://{s3_bucket}?endpoint={url}&region=us-east-1", tmp_path / "data")
        storage.put_bytes(LARGE, "tasks/a")
        failures.extend([0, 0, *[503] * 1000])  # what it is like, its first block, and no more
        with pytest.raises(Unavailable):
            storage.fetch("tasks/a", tmp_path / "fetched")
    assert list((tmp_path / "fetched").iterdir()) == []


# ---- addresses


@pytest.mark.parametrize(
    "url",
    [
        *("nonsense", "http://bucket", "s3://", "s3:///prefix", "s3://key:secret@bucket"),
        *("s3://bucket?password=secret", "s3://bucket?endpoint", "file:///tmp"),
    ],
)
def test_open_storage_refuses_invalid_addresses(url, tmp_path):
    with pytest.raises(SettingsError, match="storage") as trouble:
        open_storage(url, tmp_path)
    assert "secret" not in str(trouble.value)


def test_s3_storage_refuses_a_missing_bucket(s3_server, s3_bucket, tmp_path):
    missing = open_storage(f"s3://missing-bucket?endpoint={s3_server}&region=us-east-1", tmp_path)
    with pytest.raises(SettingsError, match="no such bucket"):
        missing.check()
    with pytest.raises(Unavailable, match="bucket"):
        missing.put_bytes(b"x", "tasks/a")


def test_s3_storage_separates_two_prefixes_of_a_bucket(s3_server, s3_bucket, tmp_path):
    one, two = (
        open_storage(f"s3://{s3_bucket}/{name}?endpoint={s3_server}&region=us-east-1", tmp_path)
        for name in ("one", "two")
    )
    one.put_bytes(b"x", "tasks/a")
    assert two.head("tasks/a") is None
    assert (everything(one), everything(two)) == (["tasks/a"], [])


# ---- what the tests are made of


def files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def left_behind(tmp_path: Path) -> list[Path]:
    return [path for path in (tmp_path / "data").rglob("*") if path.name.endswith(".part") or "gone-" in path.name]


@contextmanager
def flaky(server: str) -> Iterator[tuple[str, list[int]]]:
    """An address that passes on what it is asked to `server`; for each status in the list it answers that instead,
    once, where 0 passes the call on after all."""
    failures: list[int] = []
    target = urlsplit(server)

    class PassOn(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def handle_any(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            status = failures.pop(0) if failures else 0
            if status:
                self.send_response(status)
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            connection = http.client.HTTPConnection(target.hostname, target.port, timeout=PATIENCE_S)
            connection.request(self.command, self.path, body, dict(self.headers))
            answer = connection.getresponse()
            data = answer.read()
            connection.close()
            self.send_response(answer.status)
            for name, value in answer.getheaders():
                if name.lower() not in ("transfer-encoding", "connection", "content-length", "server", "date"):
                    self.send_header(name, value)
            length = answer.getheader("Content-Length") if self.command == "HEAD" else None
            self.send_header("Content-Length", length or str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = handle_any

        def log_message(self, *arguments: object) -> None:
            pass

    proxy = ThreadingHTTPServer(("127.0.0.1", 0), PassOn)
    proxy.daemon_threads = True
    with serving(proxy):
        yield f"http://127.0.0.1:{proxy.server_port}", failures

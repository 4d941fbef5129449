"""Uploads: from chunks of a network to files on the disk, of which nothing is left afterwards."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from dataclasses import replace

import pytest
from anyio import CapacityLimiter
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from studio.errors import Invalid, TooLarge
from studio.http.bodies import BodyLimits, Form
from studio.http.field_names import FieldNames
from studio.http.uploads import UploadPlace, received_form
from tests.waiting import OwnClock

TYPE = "multipart/form-data; boundary=x"
HEAD = b'--x\r\nContent-Disposition: form-data; name="audio"; filename="a.wav"\r\n\r\n'
TAIL = b"\r\n--x--\r\n"
LARGEST = 5_000_000
NAMES = FieldNames(files=("audio",))


@pytest.fixture
def place(tmp_path) -> UploadPlace:
    return UploadPlace(tmp_path / "incoming", BodyLimits(LARGEST), CapacityLimiter(2))


async def chunks(pieces: Iterable[bytes], error: Exception | None = None) -> AsyncIterator[bytes]:
    for piece in pieces:
        await asyncio.sleep(0)
        yield piece
    if error:
        raise error


def left(place: UploadPlace) -> list:
    return list(place.folder.iterdir()) if place.folder.exists() else []


def test_received_form_keeps_an_uploaded_file_only_while_open(place):
    async def upload() -> None:
        sent = [HEAD, *(bytes([number]) * 65536 for number in range(70)), TAIL]
        async with received_form(chunks(sent), TYPE, place, NAMES) as form:
            assert form.files["audio"].size == 70 * 65536
            assert form.files["audio"].path.read_bytes() == b"".join(sent[1:-1])
            assert len(left(place)) == 1

    asyncio.run(upload())
    assert not left(place)


@pytest.mark.parametrize(
    ("sent", "error", "raised"),
    [
        ([HEAD, b"x" * 100], None, Invalid),
        ([HEAD, b"x" * 100], ClientDisconnect(), ClientDisconnect),
        ([HEAD, b"x" * (LARGEST + 1)], None, TooLarge),
        ([HEAD, b"x" * 2_000_000], TooLarge("Counted elsewhere."), TooLarge),
        ([HEAD, b"x" * 2_000_000, TAIL], None, KeyError),
    ],
    ids=["ends early", "client gone", "too large", "too large, as the middleware counts", "error in the route"],
)
def test_received_form_leaves_no_files_after_any_error(place, sent, error, raised):
    async def upload() -> None:
        async with received_form(chunks(sent, error), TYPE, place, NAMES):
            raise KeyError

    with pytest.raises(raised):
        asyncio.run(upload())
    assert not left(place)


def test_received_form_leaves_no_files_after_a_cancelled_call(place):
    async def upload(arrived: asyncio.Event) -> None:
        async with received_form(chunks([HEAD, b"x" * 2_000_000, TAIL]), TYPE, place, NAMES):
            arrived.set()
            await asyncio.Event().wait()

    async def cancelled() -> None:
        arrived = asyncio.Event()
        task = asyncio.create_task(upload(arrived))
        await arrived.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancelled())
    assert not left(place)


def test_received_form_refuses_a_stalled_upload_with_408(place):
    async def stalling() -> AsyncIterator[bytes]:
        yield HEAD
        await asyncio.Event().wait()

    async def upload() -> None:
        async with received_form(stalling(), TYPE, place, NAMES, stalled_s=0.05):
            pass

    with pytest.raises(HTTPException) as raised:
        asyncio.run(upload())
    assert raised.value.status_code == 408
    assert not left(place)


def test_received_form_keeps_concurrent_uploads_apart(place):
    async def upload(number: int) -> bool:
        body = bytes([number]) * 1_500_000
        pieces = [body[start : start + 65536] for start in range(0, len(body), 65536)]
        async with received_form(chunks([HEAD, *pieces, TAIL]), TYPE, place, NAMES) as form:
            return form.files["audio"].path.read_bytes() == body

    async def all_of_them() -> list[bool]:
        return await asyncio.gather(*(upload(number) for number in range(12)))

    assert all(asyncio.run(all_of_them()))
    assert not left(place)


def test_received_form_of_an_empty_body_is_empty(place):
    async def upload() -> Form:
        async with received_form(chunks([]), "", place) as form:
            return form

    assert asyncio.run(upload()) == Form({}, {})


@pytest.mark.parametrize(("size", "arrives"), [(10_000, False), (50_000, True)])
def test_received_form_refuses_only_uploads_below_the_minimum_rate(place, monkeypatch, size, arrives):
    clock = OwnClock()
    monkeypatch.setattr("studio.http.uploads.time", clock)
    place = replace(place, limits=replace(place.limits, least_rate=10_000))

    async def trickling() -> AsyncIterator[bytes]:
        yield HEAD + b"x" * 100_000  # a fast beginning does not count for ever
        for _ in range(40):
            clock.sleep(3.0)
            yield b"x" * size
        yield TAIL

    async def upload() -> None:
        async with received_form(trickling(), TYPE, place, NAMES) as form:
            assert form.files["audio"].size == 100_000 + 40 * size

    if arrives:
        asyncio.run(upload())
    else:
        with pytest.raises(HTTPException, match="slower than 10 kB a second"):
            asyncio.run(upload())
    assert not left(place)

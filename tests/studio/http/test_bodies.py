"""Bodies of POSTs: whatever they claim to be, in pieces of any size, whole or broken."""

import hashlib
import json
from contextlib import suppress
from pathlib import Path
from tempfile import mkdtemp
from urllib.parse import urlencode

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from studio.errors import DiskFull, Invalid, NotReadable, StudioError, TooLarge
from studio.http.bodies import (
    JSON,
    LONGEST_FIELD,
    LONGEST_FILE_NAME,
    LONGEST_PLAIN_BODY,
    MOST_PARTS,
    BodyLimits,
    BodyReader,
    Form,
    plain_file_name,
    recognised,
)
from studio.http.field_names import FieldNames

BOUNDARY = "----formdata-7f3a"
MULTIPART = f"multipart/form-data; boundary={BOUNDARY}"
URLENCODED = "application/x-www-form-urlencoded"
LARGEST = 100_000
repeated = settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])


def part(name: str, value: bytes, file_name: str | None = None, more: str = "") -> bytes:
    named = f'; filename="{file_name}"' if file_name is not None else ""
    return (
        f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="{name}"{named}\r\n{more}\r\n'.encode() + value + b"\r\n"
    )


def whole(*parts: bytes) -> bytes:
    return b"".join(parts) + f"--{BOUNDARY}--\r\n".encode()


ANY = FieldNames(files=("audio",))
FEW = FieldNames(("model", "likeness"), ("audio",))


def read(body: bytes, content_type: str, folder: Path, piece: int = 1 << 20, names: FieldNames = ANY) -> Form:
    reader = BodyReader(content_type, folder, names, BodyLimits(LARGEST))
    try:
        for start in range(0, len(body), piece):
            reader.feed(body[start : start + piece])
        return reader.finish()
    finally:
        reader.close()


VOCAL = bytes(range(256)) * 300  # with every line end and hyphen there is
BODY = whole(part("model", b"kathleen"), part("audio", VOCAL, "my vocal.wav", "Content-Type: audio/wav\r\n"))


@pytest.mark.parametrize("piece", [1, 2, 7, 64, 4096, 1 << 20])
def test_body_reader_reads_a_form_in_pieces_of_any_size(tmp_path, piece):
    form = read(BODY, MULTIPART, tmp_path / "in", piece)
    assert form.fields == {"model": "kathleen"}
    [(name, file)] = form.files.items()
    assert (name, file.name, file.size) == ("audio", "my vocal.wav", len(VOCAL))
    assert file.path.read_bytes() == VOCAL
    assert file.digest == hashlib.sha256(VOCAL).hexdigest()


def test_form_fingerprint_depends_on_content_and_not_on_the_boundary(tmp_path):
    first = read(BODY, MULTIPART, tmp_path / "1")
    other_boundary = BODY.replace(BOUNDARY.encode(), b"XX")
    second = read(other_boundary, "multipart/form-data; boundary=XX", tmp_path / "2")
    changed = read(BODY.replace(b"kathleen", b"koguchi!"), MULTIPART, tmp_path / "3")
    other_file = read(BODY.replace(b"\x00\x01\x02", b"\x00\x01\x03"), MULTIPART, tmp_path / "4")
    assert first.fingerprint == second.fingerprint
    assert len({first.fingerprint, changed.fingerprint, other_file.fingerprint}) == 3


LIES = {
    "json header, multipart body": ("application/json", whole(part("epochs", b"100"))),
    "as curl does with a json header and -F": (
        "application/json",
        whole(part("epochs", b"100")).replace(b"form-data;", b"attachment;"),
    ),
    "json header, urlencoded body": ("application/json", b"epochs=100"),
    "urlencoded header, json body": (URLENCODED, b'{"epochs": 100}'),
    "urlencoded header, multipart body": (URLENCODED, whole(part("epochs", b"100"))),
    "multipart header without boundary": ("multipart/form-data", whole(part("epochs", b"100"))),
    "multipart header with another boundary": ("multipart/form-data; boundary=other", whole(part("epochs", b"100"))),
    "multipart header, urlencoded body": ("multipart/form-data", b"epochs=100"),
    "multipart header, json body": ("multipart/form-data", b'{"epochs": "100"}'),
    "no header, json": ("", b' \n{"epochs": 100}'),
    "no header, urlencoded": ("", b"epochs=100"),
    "no header, multipart": ("", whole(part("epochs", b"100"))),
    "multipart after line ends": (MULTIPART, b"\r\n" + whole(part("epochs", b"100"))),
    "json with a charset": ("application/json; charset=utf-8", b'{"epochs":100,"other":null}'),
    "what text there is": ("text/plain", b"epochs=100"),
}


@pytest.mark.parametrize("piece", [1, 1 << 20])
@pytest.mark.parametrize("name", LIES)
def test_body_reader_recognises_the_format_by_the_body_despite_a_wrong_header(tmp_path, name, piece):
    content_type, body = LIES[name]
    assert read(body, content_type, tmp_path, piece).fields == {"epochs": "100"}


def test_body_reader_gives_equal_forms_for_multipart_urlencoded_and_json(tmp_path):
    said = {"name": "Gökhan & Co", "plus": "a+b c", "empty": ""}
    bodies = (
        (MULTIPART, whole(*(part(name, value.encode()) for name, value in said.items()))),
        (URLENCODED, urlencode(said).encode()),
        (JSON, json.dumps(said).encode()),
    )
    forms = [read(body, kind, tmp_path) for kind, body in bodies]
    assert all(form.fields == said for form in forms)
    assert len({form.fingerprint for form in forms}) == 1


def test_body_reader_returns_an_empty_form_for_an_empty_body(tmp_path):
    for content_type in ("", JSON, URLENCODED):
        assert read(b"", content_type, tmp_path) == Form({}, {})
    assert read(f"--{BOUNDARY}--".encode(), MULTIPART, tmp_path) == Form({}, {})
    assert read(f"--{BOUNDARY}--\r\n".encode(), MULTIPART, tmp_path) == Form({}, {})


def test_body_reader_ignores_empty_uploads(tmp_path):
    assert read(whole(part("audio", b"", "")), MULTIPART, tmp_path / "in") == Form({}, {})
    assert not (tmp_path / "in").exists()


def problems_of(body: bytes, content_type: str, folder: Path) -> tuple[str, dict[str, str]]:
    with pytest.raises(Invalid) as said:
        read(body, content_type, folder, names=FEW)
    assert not folder.exists()
    return said.value.code, dict(said.value.problems)


def test_body_reader_refuses_unknown_fields_in_every_format_and_names_what_was_meant(tmp_path):
    said = {"likenes": "0.1", "model": "kathleen", "Modell": "x", "zzz": ""}
    bodies = (
        (MULTIPART, whole(*(part(name, value.encode()) for name, value in said.items()))),
        (URLENCODED, urlencode(said).encode()),
        (JSON, json.dumps(said | {"zzz": None}).encode()),
    )
    expected = {
        "likenes": "likenes is not a field of this call: did you mean likeness?",
        "Modell": "Modell is not a field of this call: did you mean model?",
        "zzz": "zzz is not a field of this call.",
    }
    for kind, body in bodies:
        assert problems_of(body, kind, tmp_path / "in") == ("unknown_field", expected)


def test_body_reader_refuses_unknown_fields_before_a_file_is_stored(tmp_path):
    body = whole(part("likenes", b"0.1"), part("audio", VOCAL, "my vocal.wav"), part("zzz", b""))
    code, problems = problems_of(body, MULTIPART, tmp_path / "in")
    assert (code, list(problems)) == ("unknown_field", ["likenes"])


@pytest.mark.parametrize(
    ("name", "code", "sentence"),
    [
        ("audo", "unknown_field", "audo is not a field of this call: did you mean audio?"),
        ("model", "invalid", "model must be text, not a file."),
    ],
)
def test_body_reader_refuses_a_file_of_a_wrong_name_at_its_beginning(tmp_path, name, code, sentence):
    reader = BodyReader(MULTIPART, tmp_path / "in", FEW, BodyLimits(LARGEST))
    with pytest.raises(Invalid) as said:
        reader.feed(part(name, b"x" * 700, "a.wav")[:650])  # it goes on, but nobody reads it
    assert (said.value.code, said.value.problems) == (code, ((name, sentence),))
    assert not (tmp_path / "in").exists()


def test_body_reader_bounds_the_text_of_an_unknown_field(tmp_path):
    reader = BodyReader(MULTIPART, tmp_path / "in", FEW, BodyLimits(LARGEST))
    with pytest.raises(Invalid, match="too long"):
        reader.feed(part("other", b"x" * (LONGEST_FIELD + 1))[: LONGEST_FIELD + 300])


def test_body_reader_leaves_out_and_names_unknown_fields_where_they_are_allowed(tmp_path):
    allowed = FieldNames(FEW.texts, FEW.files, ignores_others=True)
    parts = (part("likenes", b"\xff"), part("model", b"kathleen"), part("other", VOCAL, "x.wav"))
    form = read(whole(*parts), MULTIPART, tmp_path / "in", names=allowed)
    assert form == Form({"model": "kathleen"}, {}, ("likenes", "other"))
    form = read(b'{"model": "kathleen", "\\ud800": {"a": 1}, "b": null}', JSON, tmp_path / "in", names=allowed)
    assert form == Form({"model": "kathleen"}, {}, ("\ud800", "b"))
    assert not (tmp_path / "in").exists()


BROKEN = {
    "cut off in a file": (MULTIPART, BODY[:5000]),
    "cut off in a header": (MULTIPART, BODY[:30]),
    "without its end": (MULTIPART, BODY[: -len(f"--{BOUNDARY}--\r\n")]),
    "no form at all": (MULTIPART, b"x" * 1000),
    "a part without a name": (MULTIPART, f"--{BOUNDARY}\r\nContent-Type: a/b\r\n\r\nx\r\n--{BOUNDARY}--\r\n".encode()),
    "given twice": (MULTIPART, whole(part("model", b"a"), part("model", b"b"))),
    "given twice in json": (JSON, b'{"epochs": 1, "epochs": 2}'),
    "given twice in an urlencoded form": (URLENCODED, b"epochs=1&epochs=1"),
    "json of pairs": (JSON, b'[["epochs", 1]]'),
    "file given twice": (MULTIPART, whole(part("audio", b"a", "a.wav"), part("audio", b"b", "b.wav"))),
    "too many fields": (MULTIPART, whole(*(part(f"f{number}", b"") for number in range(MOST_PARTS + 1)))),
    "too long a field": (MULTIPART, whole(part("model", b"a" * (LONGEST_FIELD + 1)))),
    "too long a name": (MULTIPART, whole(part("a" * 200, b"b"))),
    "no text": (MULTIPART, whole(part("model", b"\xff\xfe"))),
    "zero byte": (MULTIPART, whole(part("model", b"a\0b"))),
    "encoded part": (MULTIPART, whole(part("model", b"YQ==", None, "Content-Transfer-Encoding: base64\r\n"))),
    "long header": (MULTIPART, whole(part("model", b"a", None, f"X: {'y' * 9000}\r\n"))),
    "broken json": (JSON, b'{"epochs": 1'),
    "a json list": (JSON, b"[1, 2]"),
    "json within json": (JSON, b'{"epochs": {"a": 1}}'),
    "deep json": (JSON, b"[" * 60_000),
    "no number": (JSON, b'{"epochs": NaN}'),
    "a number without end": (JSON, b'{"epochs": ' + b"9" * 5000 + b"}"),
    "half a character": (JSON, b'{"model": "\\ud800"}'),
    "half a character in a name": (JSON, b'{"\\ud800": {}}'),
    "too many pairs": (URLENCODED, b"&".join(b"a%d=1" % number for number in range(200))),
    "not encoded": (URLENCODED, "model=Gökhan".encode()),
    "wrongly encoded": (URLENCODED, b"model=%ff"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_body_reader_refuses_a_broken_body_with_a_reason(tmp_path, name):
    content_type, body = BROKEN[name]
    with pytest.raises(Invalid) as said:
        read(body, content_type, tmp_path / "in")
    assert str(said.value).endswith(".")
    assert said.value.problems


@pytest.mark.parametrize("content_type", ["audio/wav", "application/octet-stream", ""])
def test_body_reader_refuses_a_bare_recording(tmp_path, content_type):
    with pytest.raises(NotReadable, match="multipart"):
        read(b"RIFF\x00\x00\x00\x00WAVE" + VOCAL, content_type, tmp_path)


def test_body_reader_enforces_the_size_limits(tmp_path):
    exact = read(whole(part("audio", b"x" * LARGEST, "a.wav")), MULTIPART, tmp_path / "1")
    assert exact.files["audio"].size == LARGEST
    for number, piece in enumerate((100, 1 << 20)):
        with pytest.raises(TooLarge):
            read(whole(part("audio", b"x" * (LARGEST + 1), "a.wav")), MULTIPART, tmp_path / f"large {number}", piece)
    for kind in (JSON, URLENCODED):
        with pytest.raises(TooLarge):
            read(b"a=" + b"b" * LONGEST_PLAIN_BODY, kind, tmp_path)


def test_body_reader_raises_disk_full_to_keep_the_reserve_free(tmp_path):
    reader = BodyReader(MULTIPART, tmp_path / "in", ANY, BodyLimits(LARGEST, free_disk=1 << 62))
    try:
        with pytest.raises(DiskFull):
            reader.feed(BODY)
    finally:
        reader.close()


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("vocal.wav", "vocal.wav"),
        ("../../etc/passwd", "passwd"),
        ("C:\\Users\\me\\take 1.flac", "take 1.flac"),
        ("Gökhan.mp3", "Gökhan.mp3"),
        ("a\x00b\nc\u202e.wav", "abc.wav"),
        ("", "unnamed"),
        ("..", ".."),
        ("folder/", "unnamed"),
    ],
)
def test_plain_file_name_drops_folders_and_invisible_characters(given, kept):
    assert plain_file_name(given.encode()) == kept


def test_plain_file_name_keeps_the_suffix_of_a_long_name():
    name = plain_file_name(b"x" * 5000 + b".flac")
    assert name.endswith(".flac")
    assert len(name) <= LONGEST_FILE_NAME


def test_recognised_uses_the_header_boundary_that_matches_the_body():
    assert recognised("multipart/form-data; boundary=a--", b"--a--\r\nContent") == ("multipart/form-data", b"a--")
    assert recognised("multipart/form-data; boundary=a", b"--a--\r\n") == ("multipart/form-data", b"a")


fields = st.dictionaries(
    st.text(st.characters(codec="utf-8", exclude_characters='\0"\r\n\\;'), min_size=1, max_size=20),
    st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=60),
    max_size=8,
)


@repeated
@given(fields, st.binary(max_size=3000), st.integers(1, 900))
def test_body_reader_keeps_any_fields_and_file_unchanged(tmp_path, said, content, piece):
    said.pop("audio", None)
    body = whole(*(part(name, value.encode()) for name, value in said.items()), part("audio", content, "a.wav"))
    if f"--{BOUNDARY}".encode() in content:
        return
    form = read(body, MULTIPART, Path(mkdtemp(dir=tmp_path)), piece)
    assert form.fields == {name: value for name, value in said.items()}
    assert form.files["audio"].path.read_bytes() == content


@repeated
@given(st.binary(max_size=2000), st.sampled_from([MULTIPART, JSON, URLENCODED, "", "multipart/form-data", "text/x"]))
def test_body_reader_raises_only_studio_errors_for_any_bytes(tmp_path, body, content_type):
    with suppress(StudioError):
        assert isinstance(read(body, content_type, Path(mkdtemp(dir=tmp_path)), 97), Form)


@repeated
@given(st.data())
def test_body_reader_raises_only_studio_errors_for_a_damaged_form(tmp_path, data):
    body = bytearray(whole(part("model", b"kathleen"), part("audio", b"RIFF" * 50, "a.wav"), part("transpose", b"-3")))
    for _ in range(data.draw(st.integers(1, 6))):
        place = data.draw(st.integers(0, len(body) - 1))
        body[place : place + data.draw(st.integers(0, 5))] = data.draw(st.binary(max_size=5))
    with suppress(StudioError):
        read(bytes(body), MULTIPART, Path(mkdtemp(dir=tmp_path)), data.draw(st.integers(1, 300)))


def test_body_reader_names_an_invalid_field_without_unencodable_characters(tmp_path):
    with pytest.raises(Invalid) as error:
        read(b'{"a\\ud800": "\\u0000"}', JSON, tmp_path)
    assert error.value.problems == (("a?", "a? is not a field name."),)


def test_body_reader_raises_disk_full_if_the_folder_cannot_be_created(tmp_path):
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(DiskFull):
        read(BODY, MULTIPART, tmp_path / "file" / "in")

"""Parse the body of a POST block by block: multipart, urlencoded or JSON, detected from its contents.
Files are written to the disk as they arrive; only short fields stay in memory."""

import hashlib
import json
import re
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from io import FileIO
from pathlib import Path
from urllib.parse import parse_qsl

from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header

from engine.spelling import composed
from engine.texts import ntr, numeral, tr
from studio.errors import DiskFull, Invalid, NotReadable, StudioError, TooLarge
from studio.http.field_names import FieldNames, shown_name
from studio.store.folder_locks import make_locked

LONGEST_FIELD = 16 << 10  # bytes
LONGEST_NAME = 100  # characters of a field's name
LONGEST_FILE_NAME = 200
MOST_PARTS = 50
LONGEST_PLAIN_BODY = 64 << 10  # of a body without files
LARGEST_FORM = 1 << 20  # bytes of a form that takes no files; there is room for the longest fields
MULTIPART = "multipart/form-data"
URLENCODED = "application/x-www-form-urlencoded"
JSON = "application/json"
_ENOUGH_TO_TELL = 600  # bytes that show the kind of a body; a boundary has at most 256
_FIRST_LINE = re.compile(rb"(?:\r\n)*--([^\r\n]{1,256})\r\n")
_PAIR = re.compile(rb"[A-Za-z0-9_.%+\-\[\]]+=")
_PLAIN_ENCODINGS = ("", "7bit", "8bit", "binary")
_KINDS_TAKEN = tr("{multipart}, {urlencoded} or {json}", multipart=MULTIPART, urlencoded=URLENCODED, json=JSON)


@dataclass(frozen=True)
class UploadedFile:
    """A file of the form, on the disk."""

    name: str  # the client's name for it, without folders
    path: Path
    size: int  # bytes
    digest: str  # SHA-256


@dataclass(frozen=True)
class Form:
    """The fields of a body by name. ignored: names that the call does not have and that were left out.
    unquoted: names of those that JSON gives as a number, true or false."""

    fields: Mapping[str, str]
    files: Mapping[str, UploadedFile]
    ignored: tuple[str, ...] = ()
    unquoted: frozenset[str] = frozenset()

    @property
    def fingerprint(self) -> str:
        """SHA-256 over all fields and files; equal for equal contents, whatever the encoding."""
        files = {name: [file.name, file.digest] for name, file in self.files.items()}
        said = json.dumps([dict(self.fields), files], sort_keys=True)
        return hashlib.sha256(said.encode()).hexdigest()


@dataclass(frozen=True)
class BodyLimits:
    """Limits: bytes of a file, bytes of the disk kept free, and bytes a second that a client must send."""

    largest_file: int
    free_disk: int = 0
    least_rate: int = 0


class BodyReader:
    """Parses a body in blocks into a form. Blocking: for a thread. Always `close` it."""

    def __init__(self, content_type: str, folder: Path, names: FieldNames, limits: BodyLimits) -> None:
        """folder: for files, created for the first one. names: of the fields that the call has."""
        self._content_type = content_type
        self._target = _Target(folder, names, limits)
        self._largest = None if names.files else LARGEST_FORM  # files have a limit of their own
        self._received = 0
        self._head = b""
        self._parser: _Multipart | _Plain | None = None

    def feed(self, block: bytes) -> None:
        """Parse the next bytes. Raises Invalid, NotReadable, TooLarge and DiskFull."""
        self._received += len(block)
        if self._largest is not None and self._received > self._largest:
            raise plain_too_large(self._largest)
        if self._parser is None:
            self._head += block
            if len(self._head) >= _ENOUGH_TO_TELL:
                self._begin()
        else:
            self._parser.feed(block)

    def finish(self) -> Form:
        """Return the form at the end of the body. Raises what `feed` does, also if the body ends too early."""
        if self._parser is None:
            self._begin()
        assert self._parser is not None
        self._parser.finish()
        return self._target.form()

    def close(self) -> None:
        """Close a file still being written, and release the folder."""
        self._target.close()

    def _begin(self) -> None:
        kind, boundary = recognised(self._content_type, self._head)
        self._parser = _Multipart(boundary, self._target) if kind == MULTIPART else _Plain(kind, self._target)
        self._parser.feed(self._head)
        self._head = b""


def recognised(content_type: str, head: bytes) -> tuple[str, bytes]:
    """Detect the kind of a body from its beginning rather than its header; return it, and the boundary of a multipart
    one. Raises NotReadable if it is none of the three."""
    declared, options = parse_options_header(content_type)
    said = declared.decode("latin-1")
    boundary = options.get(b"boundary", b"")
    if first_line := _FIRST_LINE.match(head):
        found = first_line[1].rstrip(b" \t")
        # the header's boundary, since the first line may be the end of an empty form
        return MULTIPART, boundary if boundary and found.removesuffix(b"--") == boundary else found
    start = head.lstrip()[:1]
    if said == MULTIPART and boundary:
        return MULTIPART, boundary
    if start in (b"{", b"["):
        return JSON, b""
    if not start or _PAIR.match(head) or said == URLENCODED:
        return URLENCODED, b""
    if said == JSON or said.endswith("+json"):
        return JSON, b""
    raise NotReadable(
        tr("The body cannot be read. Send it as {kinds_taken}.", kinds_taken=_KINDS_TAKEN), "body_not_readable"
    )


def _malformed(text: str) -> Invalid:
    return Invalid([("body", text)], "malformed_body")


def _refuse_long_name(name: str) -> None:
    if len(name) > LONGEST_NAME:
        raise _malformed(
            ntr(
                "The name of a field has more than {longest_name} character.",
                "The name of a field has more than {longest_name} characters.",
                longest_name=LONGEST_NAME,
            )
        )


def _field_text(name: str, value: bytes) -> str:
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError as cause:
        raise Invalid([(name, tr("{name} must be text in UTF-8.", name=name))]) from cause


@dataclass
class _Target:
    """Collects fields and files."""

    folder: Path
    names: FieldNames
    limits: BodyLimits
    fields: dict[str, str] = field(default_factory=dict)
    files: dict[str, UploadedFile] = field(default_factory=dict)
    others: list[str] = field(default_factory=list)  # names of fields that the call does not have
    unquoted: set[str] = field(default_factory=set)
    parts: int = 0
    _open: FileIO | None = None
    _release: Callable[[], None] | None = None

    def count_part(self) -> None:
        self.parts += 1
        if self.parts > MOST_PARTS:
            raise _malformed(
                ntr(
                    "The form has more than {most_parts} field.",
                    "The form has more than {most_parts} fields.",
                    most_parts=MOST_PARTS,
                )
            )

    def form(self) -> Form:
        self.names.without(self.others)
        return Form(self.fields, self.files, tuple(self.others), frozenset(self.unquoted))

    def has(self, name: str) -> bool:
        """Whether the call has a field of this name; others are noted."""
        if self.names.texts is None or name in self.names.texts or name in self.names.files:
            return True
        self.others.append(name)
        return False

    def has_file(self, name: str) -> bool:
        """Whether the call has this field, for a file. Raises Invalid before any of a file is read in vain."""
        known = self.has(name)
        self.names.without(self.others)
        if known and name not in self.names.files:
            raise Invalid([(shown_name(name), tr("{name} must be text, not a file.", name=shown_name(name)))])
        return known

    def add_field(self, name: str, value: str) -> None:
        if not _is_storable(name):
            raise Invalid([(shown_name(name), tr("{name} is not a field name.", name=shown_name(name)))])
        self.refuse_twice(name)
        if "\0" in value or not _is_storable(value):
            raise Invalid([(name, tr("{name} must not contain control characters.", name=name))])
        self.fields[name] = value

    def refuse_twice(self, name: str) -> None:
        if name in self.fields or name in self.files:
            raise Invalid([(name, tr("{name} is given more than once.", name=name))])

    def open_file(self) -> "_Writing":
        path = self.folder / str(len(self.files))
        try:
            if self._release is None:
                self._release = make_locked(self.folder)
            self._open = FileIO(path, "x")
        except OSError as cause:
            raise DiskFull(tr("The upload cannot be stored: the disk is full or not writable.")) from cause
        return _Writing(path, self._open, self.limits)

    def close(self) -> None:
        if self._open is not None:
            self._open.close()
        if self._release is not None:
            self._release()


class _Writing:
    """A file being received."""

    def __init__(self, path: Path, file: FileIO, limits: BodyLimits) -> None:
        self.path, self.size = path, 0
        self._file, self._limits, self._digest = file, limits, hashlib.sha256()

    def write(self, data: memoryview) -> None:
        self.size += len(data)
        if self.size > self._limits.largest_file:
            raise too_large(self._limits.largest_file)
        if self._limits.free_disk and shutil.disk_usage(self.path.parent).free < self._limits.free_disk:
            raise DiskFull(tr("There is not enough disk space for this upload. Delete something and try again."))
        self._digest.update(data)
        try:
            while len(data):
                data = data[self._file.write(data) :]
        except OSError as cause:
            raise DiskFull(tr("The upload cannot be stored: the disk is full or not writable.")) from cause

    def done(self, name: str) -> UploadedFile:
        self._file.close()
        return UploadedFile(name, self.path, self.size, self._digest.hexdigest())


def too_large(largest: int, raised_by: str = "") -> StudioError:
    """Return the error for an upload over the limit, with the sentence of `ServiceSettings.raised_by`."""
    text = tr(
        "The upload is larger than {largest} MB. Send a smaller file.{raised_by}",
        largest=numeral(largest / 1000000.0, "g"),
        raised_by=raised_by,
    )
    return TooLarge(text, "too_large")


def plain_too_large(largest: int) -> StudioError:
    """Return the error for a body without files over the limit."""
    return TooLarge(tr("A body without files can have at most {largest} bytes.", largest=largest), "too_large")


class _Multipart:
    """A form with files, parsed by python-multipart, which calls back for each piece."""

    def __init__(self, boundary: bytes, target: _Target) -> None:
        self._target = target
        self._header_name = self._header_value = b""
        self._headers: dict[bytes, bytes] = {}
        self._name, self._file_name = "", ""
        self._value: bytearray | None = None  # of a field
        self._file: _Writing | None = None
        self._ended = False
        try:
            self._parser = MultipartParser(
                boundary,
                {
                    "on_part_begin": self._begin_part,
                    "on_header_field": self._more_header_name,
                    "on_header_value": self._more_header_value,
                    "on_header_end": self._end_header,
                    "on_headers_finished": self._end_headers,
                    "on_part_data": self._more_data,
                    "on_part_end": self._end_part,
                    "on_end": self._end,
                },
            )
        except FormParserError as cause:
            raise _malformed(tr("The boundary of the form is too long.")) from cause

    def feed(self, block: bytes) -> None:
        try:
            self._parser.write(block)
        except FormParserError as cause:
            raise _malformed(tr("The body is not valid multipart/form-data.")) from cause

    def finish(self) -> None:
        if not self._ended:
            raise _malformed(tr("The form is incomplete."))

    def _begin_part(self) -> None:
        self._target.count_part()
        self._headers = {}
        self._name = self._file_name = ""
        self._value = self._file = None

    def _more_header_name(self, data: bytes, start: int, end: int) -> None:
        self._header_name += data[start:end]

    def _more_header_value(self, data: bytes, start: int, end: int) -> None:
        self._header_value += data[start:end]

    def _end_header(self) -> None:
        self._headers[self._header_name.lower()] = self._header_value
        self._header_name = self._header_value = b""

    def _end_headers(self) -> None:
        # curl with another Content-Type than multipart/form-data writes `attachment` instead of `form-data`
        _, options = parse_options_header(_latin(self._headers.get(b"content-disposition", b"")))
        if b"name" not in options:
            raise _malformed(tr("A part of the form has no name in its Content-Disposition."))
        self._name = _field_text("body", options[b"name"])
        _refuse_long_name(self._name)
        encoding = _latin(self._headers.get(b"content-transfer-encoding", b"")).strip().lower()
        if encoding not in _PLAIN_ENCODINGS:
            raise _malformed(tr("Parts of the form must not have a Content-Transfer-Encoding."))
        if b"filename" not in options:
            self._value = bytearray()
        elif self._target.has_file(self._name) and options[b"filename"]:
            self._target.refuse_twice(self._name)
            self._file_name = plain_file_name(options[b"filename"])
            self._file = self._target.open_file()

    def _more_data(self, data: bytes, start: int, end: int) -> None:
        if self._file is not None:
            with memoryview(data) as view, view[start:end] as piece:
                self._file.write(piece)
        elif self._value is not None:
            self._value += data[start:end]
            if len(self._value) > LONGEST_FIELD:
                raise Invalid([(self._name, self._too_long())])

    def _too_long(self) -> str:
        if self._name not in self._target.names.files:
            return tr("{name} is too long for a field.", name=self._name)
        return tr(
            "{name} is too long for a field; a file must be sent with its name, as curl does for -F field=@file.",
            name=self._name,
        )

    def _end_part(self) -> None:
        if self._file is not None:
            self._target.files[self._name] = self._file.done(self._file_name)
        elif self._value is not None and self._target.has(self._name):
            self._target.add_field(self._name, _field_text(self._name, bytes(self._value)))

    def _end(self) -> None:
        self._ended = True


class _Plain:
    """A short body without files."""

    def __init__(self, kind: str, target: _Target) -> None:
        self._kind, self._target = kind, target
        self._body = bytearray()

    def feed(self, block: bytes) -> None:
        self._body += block
        if len(self._body) > LONGEST_PLAIN_BODY:
            raise plain_too_large(LONGEST_PLAIN_BODY)

    def finish(self) -> None:
        pairs = _json_fields(bytes(self._body)) if self._kind == JSON else _urlencoded_fields(bytes(self._body))
        for name, value in pairs:
            self._target.count_part()
            _refuse_long_name(name)
            if self._target.has(name) and value is not None:
                self._target.add_field(name, _plain_text(name, value))
                if not isinstance(value, str):
                    self._target.unquoted.add(name)


def _urlencoded_fields(body: bytes) -> list[tuple[str, str]]:
    try:
        return parse_qsl(
            body.decode("ascii").strip(), keep_blank_values=True, errors="strict", max_num_fields=MOST_PARTS
        )
    except ValueError as cause:
        raise _malformed(
            ntr(
                "The body is not an urlencoded UTF-8 form of at most {most_parts} field.",
                "The body is not an urlencoded UTF-8 form of at most {most_parts} fields.",
                most_parts=MOST_PARTS,
            )
        ) from cause


class _Pairs(list[tuple[str, object]]):
    """An object of JSON, in which a name may stand twice."""


def _json_fields(body: bytes) -> _Pairs:
    try:
        said = json.loads(body, parse_constant=_refuse_constant, object_pairs_hook=_Pairs)
    except (ValueError, RecursionError) as cause:
        raise _malformed(tr("The body is not valid JSON.")) from cause
    if not isinstance(said, _Pairs):
        raise _malformed(tr("The JSON body must be an object."))
    return said


def _plain_text(name: str, value: object) -> str:
    if isinstance(value, list):
        raise Invalid([(shown_name(name), tr("{name} must be a text or a number.", name=shown_name(name)))])
    if isinstance(value, str):
        return value
    try:
        return json.dumps(value)
    except ValueError as cause:  # thousands of digits
        raise Invalid([(shown_name(name), tr("{name} is out of range.", name=shown_name(name)))]) from cause


def _refuse_constant(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON")


def plain_file_name(given: bytes) -> str:
    """Clean a client's file name: no folders, no control characters, limited length."""
    try:
        text = given.decode("utf-8")
    except UnicodeDecodeError:
        text = given.decode("latin-1")
    last = composed(re.split(r"[\\/]", text)[-1])
    shown = "".join(sign for sign in last if sign.isprintable()).strip()
    stem, dot, suffix = shown.rpartition(".")
    kept = shown if len(shown) <= LONGEST_FILE_NAME else f"{stem[: LONGEST_FILE_NAME - 20]}{dot}{suffix[-19:]}"
    return kept[:LONGEST_FILE_NAME] or "unnamed"


def _is_storable(text: str) -> bool:
    """Return whether a text is free of lone surrogates, which JSON can express but nothing can store."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _latin(value: bytes) -> str:
    return value.decode("latin-1")

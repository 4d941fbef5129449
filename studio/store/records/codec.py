"""The one place where JSON of the database becomes a record, and the reverse."""

import functools
from collections.abc import Callable, Hashable, Mapping
from enum import Enum
from typing import Annotated, Never, TypeVar, cast, overload

from pydantic import (
    ConfigDict,
    Field,
    GetPydanticSchema,
    JsonValue,
    SkipValidation,
    TypeAdapter,
    ValidationError,
    with_config,
)
from pydantic.json_schema import SkipJsonSchema

from engine.texts import tr
from studio.errors import StudioError

T = TypeVar("T")
Json = Mapping[str, JsonValue]


class _Left(Enum):
    OUT = "left out"


left_out = cast(Callable[[], Never], lambda: _Left.OUT)  # makes the value of a field whose key is left out
Maybe = Annotated[T, Field(exclude_if=lambda value: value is _Left.OUT)]  # a field that may have that
Absent = Annotated[T | None, Field(exclude_if=lambda value: value is None)]  # None: the key is left out
open_ended = with_config(ConfigDict(extra="ignore"))  # of one that may have more
Url = Annotated[str, Field(json_schema_extra={"format": "uri"})]
Time = Annotated[str, Field(json_schema_extra={"format": "date-time"}, description="ISO 8601, UTC.")]
Undocumented = Annotated[T, SkipValidation(), SkipJsonSchema()]  # a field that the published interface does not promise


class Record:
    """Base of records: frozen dataclasses that refuse keys they do not have."""

    __pydantic_config__ = ConfigDict(extra="forbid")


@overload
def plain(shown: Record) -> Json: ...
@overload
def plain(shown: object) -> object: ...
def plain(shown: object) -> object:
    """Return what is shown, a record or what is made of records, as the JSON that services and pages send.

    Its texts stay texts, which are said in the reader's language.
    """
    if isinstance(shown, Record):
        return _adapter(cast(Hashable, type(shown))).dump_python(shown, warnings=False)
    if isinstance(shown, Mapping):
        return {name: plain(one) for name, one in shown.items()}
    return [plain(one) for one in shown] if isinstance(shown, list | tuple) else shown


class UnknownRecord(StudioError):
    """A row that this version cannot read."""

    default_code = "unknown_record"


def shown_as(kind: object) -> GetPydanticSchema:
    """Let a published field be described and checked as another kind than the code has it."""
    return GetPydanticSchema(lambda source, handler: handler.generate_schema(kind))


def read(kind: type[T], values: object) -> T:
    """Return JSON as a record of this kind; keys that a released version left out have their defaults.

    Raises UnknownRecord.
    """
    try:
        return cast(T, _adapter(cast(Hashable, kind)).validate_python(values))
    except ValidationError as cause:
        first = cause.errors(include_url=False)[0]
        place = ".".join(map(str, first["loc"])) or kind.__name__
        raise UnknownRecord(
            tr(
                "A later version of Timbre Studio has stored this ({place}: {msg}). Update this installation, or "
                "delete the task.",
                place=place,
                msg=first["msg"],
            )
        ) from cause


def written(record: object) -> dict[str, JsonValue]:
    """Return a record as JSON. Raises ValidationError, a bug, for one that could not be read again."""
    adapter = _adapter(cast(Hashable, type(record)))
    values: dict[str, JsonValue] = adapter.dump_python(record, mode="json", warnings=False)
    adapter.validate_python(values)
    return values


@functools.cache
def _adapter(kind: Hashable) -> TypeAdapter[object]:
    return TypeAdapter(cast(type[object], kind))

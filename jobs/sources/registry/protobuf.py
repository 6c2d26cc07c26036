"""Protobuf schemas of the registry, with those that they import.

A registry gives them as text, which Protobuf's own compiler turns into descriptors. A field that is absent is
NULL where Protobuf can tell (messages, `optional`, proto2, `oneof`), and its type's zero elsewhere.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from datetime import UTC, date, time
from decimal import Decimal
from importlib.resources import files
from pathlib import Path, PurePosixPath
from typing import Any

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.descriptor_pb2 import FileDescriptorProto, FileDescriptorSet
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message import DecodeError, Message
from google.protobuf.message_factory import GetMessageClass

from jobs.sources.connector import Away
from jobs.sources.formats.decode import Columns, Unreadable
from jobs.sources.registry.client import Schema, Schemas
from jobs.sources.registry.columns import SchemaColumn
from jobs.sources.registry.writer import Unusable, Writer, referenced
from optimizer.algebra.types import ColumnType

_COMPILER_S = 60.0
_FILE = "millrace.value.proto"
"""What the schema itself is called among what it imports."""
_SHIPPED = {
    "confluent/type/decimal.proto": 'syntax = "proto3"; package confluent.type; '
    "message Decimal { bytes value = 1; uint32 precision = 2; int32 scale = 3; }",
    "google/type/date.proto": 'syntax = "proto3"; package google.type; '
    "message Date { int32 year = 1; int32 month = 2; int32 day = 3; }",
}
"""Files that schemas import without a reference; Protobuf's own come with the compiler."""
_NO_ERROR = re.compile(r"WARNING: |[IW]\d{4} ")
"""With what lines of the compiler begin that are about itself."""
_WHOLE, _LONGEST = 0x7F, 10
"""A varint's bits in a byte, and its bytes at most."""


class ProtobufWriter(Writer):
    """A file of Protobuf messages; each value names its message.

    Raises `Unusable` for what the compiler refuses, and as `Schemas.numbered`.
    """

    def __init__(self, schema: Schema, number: int, schemas: Schemas) -> None:
        self._called = f"schema {number}"
        imported = {reference.name: other.text for reference, other in referenced(schema, schemas)}
        pool = DescriptorPool()
        for file in compiled(schema.text, imported):
            pool.AddSerializedFile(file.SerializeToString())
        self._file = pool.FindFileByName(_FILE)
        self._messages: dict[tuple[int, ...], type[Message]] = {}

    def record(self, body: bytes, columns: Columns) -> object:
        found = self._message(body)
        if isinstance(found, Unreadable):
            return found
        kind, rest = found
        try:
            message = kind.FromString(rest)
        except DecodeError as error:
            return Unreadable(f"not Protobuf of {self._called}: {error}"[:200])
        fields = kind.DESCRIPTOR.fields_by_name
        return {name: _value(message, fields[name]) for name, _ in columns if name in fields}

    def type_of(self, body: bytes, column: str) -> str | None:
        found = self._message(body)
        if isinstance(found, Unreadable) or column not in found[0].DESCRIPTOR.fields_by_name:
            return None
        return type_name(found[0].DESCRIPTOR.fields_by_name[column])

    def columns(self) -> list[SchemaColumn]:
        try:
            fields = self.message().fields
        except LookupError:
            return []
        return [SchemaColumn(field.name, type_name(field), _kinds(field)) for field in fields]

    def message(self, path: tuple[int, ...] = (0,)) -> Descriptor:
        """The message at a path: its place in the file, then in each message around it.

        Raises `LookupError` for one that is not there.
        """
        there: Any = list(self._file.message_types_by_name.values())
        for place in path:
            if not 0 <= place < len(there):
                raise LookupError(path)
            found: Descriptor = there[place]
            there = found.nested_types
        return found

    def _message(self, body: bytes) -> tuple[type[Message], bytes] | Unreadable:
        """The class of a value's message, and what is behind its path."""
        try:
            path, behind = message_path(body)
        except ValueError:
            return Unreadable(f"no message's place before the value, of {self._called}")
        kind = self._messages.get(path)
        if kind is None:
            try:
                kind = GetMessageClass(self.message(path))
            except LookupError:
                return Unreadable(f"no message {'.'.join(map(str, path))} in {self._called}")
            self._messages[path] = kind
        return kind, body[behind:]


def message_path(body: bytes) -> tuple[tuple[int, ...], int]:
    """The message of a value by its place in the schema, and the byte behind that.

    A count and so many places, as zigzag varints; a zero alone is the first message.
    Raises `ValueError` for bytes that do not begin so.

    >>> message_path(bytes([0, 8])), message_path(bytes([4, 2, 0, 8]))
    (((0,), 1), ((1, 0), 3))
    """
    count, position = _varint(body, 0)
    if count == 0:
        return (0,), position
    if not 0 < count <= len(body):
        raise ValueError(f"{count} places in {len(body)} bytes")
    path = []
    for _ in range(count):
        place, position = _varint(body, position)
        path.append(place)
    return tuple(path), position


def _varint(body: bytes, position: int) -> tuple[int, int]:
    number = 0
    for step, byte in enumerate(body[position : position + _LONGEST]):
        number |= (byte & _WHOLE) << (7 * step)
        if byte <= _WHOLE:
            return (number >> 1) ^ -(number & 1), position + step + 1
    raise ValueError("a number without an end")


def compiled(text: str, imported: dict[str, str]) -> list[FileDescriptorProto]:
    """Descriptors of a schema and all that it imports, each behind its own imports.

    Args:
        text: the schema.
        imported: texts of other schemas by the paths that imports name them by.
    Raises:
        Unusable: what the compiler says of them, or a path that leads elsewhere.
        Away: the machine is too busy for the compiler to end; no value is at fault.
    """
    with tempfile.TemporaryDirectory(prefix="millrace-proto-") as scratch:
        folder = Path(scratch)
        texts = folder / "texts"
        for path, content in {**_SHIPPED, **imported, _FILE: text}.items():
            if PurePosixPath(path).is_absolute() or ".." in PurePosixPath(path).parts:
                raise Unusable(f"the import {path!r} leads out of the schema")
            (texts / path).parent.mkdir(parents=True, exist_ok=True)
            (texts / path).write_text(content)
        command = [sys.executable, "-m", "grpc_tools.protoc", f"--proto_path={texts}"]
        command += [f"--proto_path={files('grpc_tools') / '_proto'}"]
        command += ["--include_imports", f"--descriptor_set_out={folder / 'made'}", _FILE]
        try:
            done = subprocess.run(
                command, cwd=folder, capture_output=True, text=True, check=False, timeout=_COMPILER_S
            )
        except subprocess.TimeoutExpired as error:
            raise Away(f"the compiler of a schema did not end within {_COMPILER_S:.0f} s") from error
        if done.returncode:
            lines = [line for line in done.stderr.splitlines() if line and not _NO_ERROR.match(line)]
            told = lines[0] if lines else f"the compiler ends with {done.returncode}"
            raise Unusable(told.replace(f"{texts}/", "").replace(_FILE, "the schema")[:200])
        return list(FileDescriptorSet.FromString((folder / "made").read_bytes()).file)


def _value(message: Message, field: FieldDescriptor) -> Any:
    if field.has_presence and not message.HasField(field.name):
        return None
    value = getattr(message, field.name)
    if field.is_repeated:
        return list(value)
    if field.enum_type is not None:
        named = field.enum_type.values_by_number.get(value)
        return value if named is None else named.name
    if field.message_type is None:
        return value
    convert = _MESSAGES.get(field.message_type.full_name)
    if convert is None:
        return value
    try:
        return convert(value)
    except (ValueError, OverflowError):
        # What the message says instead is in the reason.
        return value


def _decimal(value: Any) -> Decimal:
    unscaled = int.from_bytes(value.value, "big", signed=True)
    return Decimal(unscaled).scaleb(-value.scale)


_WRAPPERS = ("Double", "Float", "Int64", "UInt64", "Int32", "UInt32", "Bool", "String", "Bytes")
_MESSAGES: dict[str, Callable[[Any], Any]] = {
    "google.protobuf.Timestamp": lambda value: value.ToDatetime(UTC),
    "google.type.Date": lambda value: date(value.year, value.month, value.day),
    "google.type.TimeOfDay": lambda value: time(
        value.hours, value.minutes, value.seconds, value.nanos // 1000
    ),
    "confluent.type.Decimal": _decimal,
    **{f"google.protobuf.{name}Value": lambda value: value.value for name in _WRAPPERS},
}
"""Messages that stand for one value."""

_KINDS = {
    "google.protobuf.Timestamp": ColumnType.TIMESTAMP,
    "google.type.Date": ColumnType.DATE,
    "google.type.TimeOfDay": ColumnType.TIME,
    "confluent.type.Decimal": ColumnType.decimal(18, 2),
}
"""Columns of such messages; a decimal's digits are not in the schema."""
_SCALARS = {
    number: name.removeprefix("TYPE_").lower()
    for name, number in vars(FieldDescriptor).items()
    if name.startswith("TYPE_")
}
_WIDE = ("int64", "sint64", "sfixed64", "uint64", "fixed64", "uint32", "fixed32")
_OF_SCALARS = {
    **dict.fromkeys(_WIDE, ColumnType.BIGINT),
    **dict.fromkeys(("int32", "sint32", "sfixed32"), ColumnType.INT),
    **dict.fromkeys(("double", "float"), ColumnType.DOUBLE),
    "bool": ColumnType.BOOLEAN,
    "string": ColumnType.STRING,
    "bytes": ColumnType.BINARY,
}


def _kinds(field: FieldDescriptor) -> tuple[ColumnType, ...]:
    """The column types of a field's values."""
    if field.is_repeated:
        return ()
    if field.enum_type is not None:
        return (ColumnType.STRING,)
    if field.message_type is None:
        return (_OF_SCALARS[_SCALARS[field.type]],)
    name = field.message_type.full_name
    if name in _MESSAGES and name not in _KINDS:
        return _kinds(field.message_type.fields_by_name["value"])
    return (_KINDS[name],) if name in _KINDS else ()


def type_name(field: FieldDescriptor) -> str:
    """A field's type as a schema writes it, such as `repeated int64`."""
    kind = field.message_type or field.enum_type
    name = kind.full_name if kind is not None else _SCALARS[field.type]
    return f"repeated {name}" if field.is_repeated else name

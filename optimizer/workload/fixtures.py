"""queries/NAME.test.yaml: tuples for a query, and what it has to answer."""

from __future__ import annotations

import base64
import binascii
import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import ClassVar, TypeAlias

import yaml

from optimizer.algebra.errors import InputError, Place
from optimizer.algebra.functions.decimals import to_decimal
from optimizer.algebra.functions.moments import time_text
from optimizer.algebra.functions.uuids import uuid_text
from optimizer.algebra.identifiers import nearest
from optimizer.algebra.types import ColumnType
from optimizer.logical.catalog import Catalog
from optimizer.logical.durations import parse_duration_us
from optimizer.logical.query import Query
from optimizer.logical.stream import Stream
from optimizer.workload.yaml_nodes import YamlDocument

Value: TypeAlias = int | float | Decimal | str | bool | datetime | date | time | timedelta | bytes | None
Row: TypeAlias = Mapping[str, Value]

_KEYS = ("given", "late", "expect", "dead_letters")
_LIST = "a list of {column: value, ...}"
_LETTER_KEYS = ("stream", "reason", "tuple")
MOST_TUPLES = 2000
"""Of one case: each is a batch of its own once."""
_INT = {ColumnType.BIGINT: 2**63, ColumnType.INT: 2**31}


@dataclass(frozen=True, slots=True)
class GivenTuple:
    stream: str
    row: Row
    """All columns of the stream; those that the file leaves out are NULL."""
    place: Place


@dataclass(frozen=True, slots=True)
class ExpectedLetter:
    stream: str
    reason: str | None
    """With which the letter's begins; None for any."""
    row: Row
    """Some of the tuple's columns."""


@dataclass(frozen=True, slots=True)
class Case:
    """One case of a query: what arrives, and what must come of it."""

    name: str
    given: tuple[GivenTuple, ...]
    """In time, in the order of the file, stream after stream."""
    late: tuple[GivenTuple, ...]
    """Behind all of those, and older than their stream's watermark then."""
    expect: tuple[Row, ...]
    """By output name; without order."""
    dead_letters: tuple[ExpectedLetter, ...] | None
    """None if the file says nothing: then exactly what is late, or has no event time, is turned away."""
    place: Place


class FixturesDocument(YamlDocument):
    """Reads a queries/NAME.test.yaml for its query."""

    code: ClassVar[str] = "bad-fixture"

    def __init__(self, source: str, query: Query, catalog: Catalog) -> None:
        super().__init__(source)
        self._outputs = {output.name: output.expression.type for output in query.outputs}
        self._streams = {name: catalog[name] for name in sorted({one.stream for one in query.inputs})}

    def read(self, text: str) -> tuple[Case, ...]:
        """The cases in the file's order. Raises `InputError` with line and path."""
        root = self._root(text)
        if root is None:
            expected = "at least one case: NAME: {given: ..., expect: ...}"
            raise InputError(self.code, Place(self._source, 1, 1), "nothing", expected)
        entries = self._mapping(root, "")
        if not entries:
            self._fail(root, "", "no case", "at least one: NAME: {given: ..., expect: ...}")
        return tuple(self._case(name, key, node) for name, (key, node) in entries.items())

    def _case(self, name: str, key: yaml.Node, node: yaml.Node) -> Case:
        entries = self._mapping(node, name)
        self._known(entries, _KEYS, name)
        if "expect" not in entries:
            self._fail(node, name, "no expect", "expect: a list of results, [] for none")
        given = self._tuples(entries["given"][1], f"{name}.given") if "given" in entries else ()
        late = self._tuples(entries["late"][1], f"{name}.late") if "late" in entries else ()
        if len(given) + len(late) > MOST_TUPLES:
            self._fail(node, name, f"{len(given) + len(late)} tuples", f"at most {MOST_TUPLES}")
        case = Case(
            name,
            given,
            late,
            self._rows(entries["expect"][1], f"{name}.expect"),
            self._letters(entries["dead_letters"][1], f"{name}.dead_letters")
            if "dead_letters" in entries
            else None,
            self._place(key, name),
        )
        self._check_late(case)
        return case

    def _tuples(self, node: yaml.Node, path: str) -> tuple[GivenTuple, ...]:
        found = []
        for stream, (key, items) in self._mapping(node, path).items():
            declared = self._stream(key, stream, f"{path}.{stream}")
            types = dict(declared.columns)
            for number, item in enumerate(self._sequence(items, f"{path}.{stream}", _LIST)):
                at = f"{path}.{stream}.{number}"
                row = self._row(item, at, types, f"column of {stream}")
                whole = {name: row.get(name) for name in types}
                found.append(GivenTuple(declared.name, whole, self._place(item, at)))
        return tuple(found)

    def _stream(self, node: yaml.Node, name: str, path: str) -> Stream:
        if name not in self._streams:
            streams = ", ".join(self._streams)
            hint = nearest(name, list(self._streams))
            self._fail(node, path, f"stream {name}", f"a stream that the query reads: {streams}", hint)
        return self._streams[name]

    def _rows(self, node: yaml.Node, path: str) -> tuple[Row, ...]:
        rows = []
        for number, item in enumerate(self._sequence(node, path, _LIST)):
            row = self._row(item, f"{path}.{number}", self._outputs, "output of the query")
            rows.append({name: row.get(name) for name in self._outputs})
        return tuple(rows)

    def _letters(self, node: yaml.Node, path: str) -> tuple[ExpectedLetter, ...]:
        found = []
        for number, item in enumerate(self._sequence(node, path, _LIST)):
            at = f"{path}.{number}"
            entries = self._mapping(item, at)
            self._known(entries, _LETTER_KEYS, at)
            if "stream" not in entries:
                self._fail(item, at, "no stream", "stream: the stream of the tuple")
            name_node = entries["stream"][1]
            name = self._text(name_node, f"{at}.stream", "a stream's name")
            stream = self._stream(name_node, name, f"{at}.stream")
            reason = entries.get("reason")
            row: Row = {}
            if "tuple" in entries:
                types = dict(stream.columns)
                row = self._row(entries["tuple"][1], f"{at}.tuple", types, f"column of {name}")
            said = None if reason is None else self._text(reason[1], f"{at}.reason", "a text such as late")
            found.append(ExpectedLetter(name, said, row))
        return tuple(found)

    def _row(self, node: yaml.Node, path: str, types: Mapping[str, ColumnType], what: str) -> Row:
        row = {}
        for name, (key, value) in self._mapping(node, path).items():
            if name not in types:
                expected = f"a {what}: {', '.join(types)}"
                self._fail(key, f"{path}.{name}", name, expected, nearest(name, list(types)))
            row[name] = self._value(value, f"{path}.{name}", types[name])
        return row

    def _value(self, node: yaml.Node, path: str, kind: ColumnType) -> Value:
        if node.tag == "tag:yaml.org,2002:null":
            return None
        if not isinstance(node, yaml.ScalarNode):
            self._fail(node, path, "no single value", _expected(kind))
        text = str(node.value)
        try:
            return _read(text, kind)
        except (ValueError, OverflowError, binascii.Error):
            self._fail(node, path, text or "nothing", f"{_expected(kind)}, or null")

    def _check_late(self, case: Case) -> None:
        for one in case.late:
            stream = self._streams[one.stream]
            if stream.late == "join" or stream.is_table:
                kind = "table" if stream.is_table else "stream whose late tuples are joined"
                expected = "one that drops late tuples: what others meet is no function of the tuples"
                self._fail_at(one.place, f"a late tuple of the {kind} {stream.name}", expected)
            times = [
                time
                for other in case.given
                if other.stream == one.stream and isinstance(time := other.row[stream.event_time], datetime)
            ]
            time = one.row[stream.event_time]
            if not times:
                self._fail_at(
                    one.place, f"a late tuple of {stream.name}", "tuples of it that are given before"
                )
            watermark = max(times) - stream.lateness
            if not isinstance(time, datetime) or time >= watermark:
                expected = f"a time before {watermark.isoformat()}, its watermark behind what is given"
                told = time.isoformat() if isinstance(time, datetime) else "no time"
                self._fail_at(one.place, f"{told} for a late tuple of {stream.name}", expected)

    def _fail_at(self, place: Place, found: str, expected: str) -> None:
        raise InputError(self.code, place, found, expected)


_EXPECTED = {
    ColumnType.BIGINT: "a whole number of 64 bits",
    ColumnType.INT: "a whole number of 32 bits",
    ColumnType.DOUBLE: "a number",
    ColumnType.STRING: "a text",
    ColumnType.BOOLEAN: "true or false",
    ColumnType.TIMESTAMP: "a time such as 2013-01-01T10:00:00Z",
    ColumnType.DATE: "a day such as 2013-01-01",
    ColumnType.BINARY: "base64",
    ColumnType.INTERVAL: "a duration such as 5 minutes",
    ColumnType.TIME: "a time such as 10:00:00",
    ColumnType.UUID: "a UUID such as a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11",
}
_TRUTH = {"true": True, "false": False}


def _expected(kind: ColumnType) -> str:
    return f"digits that a {kind} has" if kind.is_decimal else _EXPECTED[kind]


def _read(text: str, kind: ColumnType) -> Value:
    """A value from its text. Raises `ValueError`, `OverflowError` or `binascii.Error`."""
    match kind:
        case ColumnType.BIGINT | ColumnType.INT:
            number = int(text.replace("_", ""))
            if not -_INT[kind] <= number < _INT[kind]:
                raise OverflowError(text)
            return number
        case ColumnType.DOUBLE:
            return _double(text)
        case ColumnType.BOOLEAN:
            if text.lower() not in _TRUTH:
                raise ValueError(text)
            return _TRUTH[text.lower()]
        case ColumnType.TIMESTAMP:
            moment = datetime.fromisoformat(text)
            return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
        case ColumnType.DATE:
            return date.fromisoformat(text)
        case ColumnType.BINARY:
            return base64.b64decode(text, validate=True)
        case ColumnType.INTERVAL:
            return timedelta(microseconds=parse_duration_us(text))
        case ColumnType.UUID:
            return uuid_text(text)
        case ColumnType.TIME:
            return time.fromisoformat(time_text(text))
        case kind if kind.is_decimal:
            return to_decimal(text.replace("_", ""), kind)
        case _:
            return text


def _double(text: str) -> float:
    folded = text.lower().lstrip("+").replace("_", "")
    if folded in (".nan", ".inf", "-.inf"):
        return float(folded.replace(".", ""))
    number = float(folded)
    if not math.isfinite(number) and folded[-1:].isdigit():
        raise OverflowError(text)
    return number

"""streams.yaml: streams with their settings, and selectivities."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Literal, get_args

import yaml

from optimizer.algebra.errors import InputError, Place
from optimizer.algebra.identifiers import nearest
from optimizer.algebra.settings import BadSetting
from optimizer.algebra.types import COLUMN_TYPES, TYPE_NAMES, ColumnType, column_type
from optimizer.logical.catalog import Catalog
from optimizer.logical.source import (
    CONNECTORS,
    SourceSettings,
    check_columns,
    read_settings,
    settings_schema,
    source_of,
)
from optimizer.logical.stream import LatePolicy, Stream, StreamKind, check_table
from optimizer.sql import parse_predicate
from optimizer.statistics.workload import SelectivityEstimate
from optimizer.udf.registry import FunctionRegistry
from optimizer.workload.yaml_nodes import Entries, YamlDocument

_STREAM_KEYS = (
    *("event_time", "columns", "lateness", "late", "parallelism", "rate", *CONNECTORS, "top_share"),
    *("max_ahead", "kind", "key", "deleted", "description"),
)
_EXAMPLES = {
    "event_time": "a timestamp column",
    "columns": "{at: timestamp, ...}",
    "predicate": '"r.a = s.a"',
    "value": "a fraction from 0 to 1",
}


class StreamsDocument(YamlDocument):
    """A streams.yaml; its selectivities may call `functions`.

    Arguments: what errors call the text; the functions; how a file beside it is read, by its name, if not
    from the folder that the document lies in. It raises `OSError` for one that is not there.
    """

    def __init__(
        self, source: str, functions: FunctionRegistry, beside: Callable[[str], str] | None = None
    ) -> None:
        super().__init__(source)
        self._functions = functions
        self._read_beside = beside or self._from_folder
        self.places: dict[str, Place] = {}
        """Where each stream's name stands, once the text was read."""
        self.descriptions: dict[str, str] = {}
        """What is said of streams to people; streams without a description are missing."""

    def _from_folder(self, name: str) -> str:
        return (Path(self._source).parent / name).read_text(encoding="utf-8")

    def read(self, text: str) -> tuple[Catalog, tuple[SelectivityEstimate, ...]]:
        root = self._root(text)
        if root is None:
            expected = "streams: with at least one stream"
            raise InputError("bad-streams", Place(self._source), "nothing", expected)
        entries = self._mapping(root, "")
        self._known(entries, ("streams", "selectivities"), "")
        if "streams" not in entries:
            self._fail(root, "", "no streams", "streams: with at least one stream")
        streams_node = entries["streams"][1]
        streams = self._mapping(streams_node, "streams")
        if not streams:
            self._fail(streams_node, "streams", "no stream", "at least one stream")
        read: dict[str, Stream] = {}
        for name, (key, node) in streams.items():
            twin = next((other for other in read if other.casefold() == name.casefold()), None)
            if twin is not None:
                self._fail(key, f"streams.{name}", f"stream {name} beside {twin}", "names that differ")
            read[name] = self._stream(name, key, node)
        catalog = Catalog.of(read.values(), self._functions)
        if "selectivities" not in entries:
            return catalog, ()
        items = entries["selectivities"][1]
        return catalog, tuple(
            self._selectivity(item, f"selectivities.{index}", catalog)
            for index, item in enumerate(self._sequence(items, "selectivities"))
        )

    def _stream(self, name: str, key: yaml.Node, node: yaml.Node) -> Stream:
        path = f"streams.{name}"
        if not name.strip() or not name.isprintable() or "/" in name or name.startswith("."):
            self._fail(key, path, f"stream name {name!r}", "a printable name without / and leading dot")
        self.places[name] = self._place(key, path)
        entries = self._mapping(node, path)
        self._known(entries, _STREAM_KEYS, path)
        told = self._optional(entries, "description", path)
        if told is not None:
            self.descriptions[name] = self._text(told, f"{path}.description", "a text")
        for needed in ("event_time", "columns"):
            if needed not in entries:
                self._fail(node, path, f"no {needed}", f"{needed}: {_EXAMPLES[needed]}")
        columns = self._columns(entries["columns"][1], f"{path}.columns")
        event_node = entries["event_time"][1]
        event_time = self._text(event_node, f"{path}.event_time", "the name of a timestamp column")
        exact = next((c for c, _ in columns if c == event_time), None)
        declared = exact or next((c for c, _ in columns if c.casefold() == event_time.casefold()), None)
        if declared is None:
            self._fail(
                event_node,
                f"{path}.event_time",
                f"column {event_time}",
                "one of the stream's timestamp columns",
                nearest(event_time, [c for c, _ in columns]),
            )
        kind = dict(columns)[declared]
        if kind is not ColumnType.TIMESTAMP:
            self._fail(event_node, f"{path}.event_time", f"{kind} column {declared}", "a timestamp column")
        parallelism = self._optional(entries, "parallelism", path)
        rate = self._optional(entries, "rate", path)
        lateness_node = self._optional(entries, "lateness", path)
        lateness = (
            self._duration(lateness_node, f"{path}.lateness") if lateness_node is not None else timedelta(0)
        )
        late_node = self._optional(entries, "late", path)
        late = self._late(late_node, f"{path}.late") if late_node is not None else "drop"
        max_ahead = self._optional(entries, "max_ahead", path)
        return Stream(
            name,
            columns,
            declared,
            lateness,
            late,
            self._tasks(parallelism, f"{path}.parallelism") if parallelism is not None else None,
            self._number(rate, f"{path}.rate", "a rate in tuples per second, 0 or more")
            if rate is not None
            else None,
            self._source_of(entries, path, columns),
            self._top_shares(entries, path, columns),
            self._duration(max_ahead, f"{path}.max_ahead") if max_ahead is not None else None,
            *self._table(entries, path, node, columns, declared, lateness, late),
        )

    def _table(
        self,
        entries: Entries,
        path: str,
        node: yaml.Node,
        columns: Sequence[tuple[str, ColumnType]],
        event_time: str,
        lateness: timedelta,
        late: LatePolicy,
    ) -> tuple[StreamKind, tuple[str, ...], str | None]:
        """What makes a stream a table: kind, key and the column of deletions."""
        kinds: dict[str, StreamKind] = {kind: kind for kind in get_args(StreamKind)}
        kind, key, deleted = (self._optional(entries, name, path) for name in ("kind", "key", "deleted"))
        written = "stream" if kind is None else self._text(kind, f"{path}.kind", "stream or table").lower()
        if kind is not None and written not in kinds:
            self._fail(kind, f"{path}.kind", written, "stream or table", nearest(written, kinds))
        names = () if key is None else self._names(key, f"{path}.key")
        flag = None if deleted is None else self._text(deleted, f"{path}.deleted", "a boolean column")
        declared = {name.casefold(): name for name, _ in columns} | {name: name for name, _ in columns}
        names = tuple(declared.get(name, declared.get(name.casefold(), name)) for name in names)
        flag = None if flag is None else declared.get(flag, declared.get(flag.casefold(), flag))
        try:
            check_table(kinds[written], names, flag, columns, event_time, lateness, late)
        except BadSetting as error:
            at = entries[error.key][1] if error.key in entries else node
            self._fail(at, f"{path}.{error.key}", error.found, error.expected, error.hint)
        return kinds[written], names, flag

    def _names(self, node: yaml.Node, path: str) -> tuple[str, ...]:
        """One name, or a list of them."""
        if isinstance(node, yaml.ScalarNode):
            return (self._text(node, path, "a list of columns"),)
        items = enumerate(self._sequence(node, path))
        return tuple(self._text(item, f"{path}.{number}", "a column") for number, item in items)

    def _top_shares(
        self,
        entries: Entries,
        path: str,
        columns: Sequence[tuple[str, ColumnType]],
    ) -> tuple[tuple[str, float], ...]:
        node = self._optional(entries, "top_share", path)
        if node is None:
            return ()
        path = f"{path}.top_share"
        names = [name for name, _ in columns]
        shares = []
        for name, (key, value) in self._mapping(node, path).items():
            if name not in names:
                expected = "one of the stream's columns"
                self._fail(key, f"{path}.{name}", f"column {name}", expected, nearest(name, names))
            share = self._number(value, f"{path}.{name}", "a fraction from 0 to 1")
            if share > 1:
                self._fail(value, f"{path}.{name}", f"{share:g}", "a fraction from 0 to 1")
            shares.append((name, share))
        return tuple(sorted(shares))

    def _source_of(
        self,
        entries: Entries,
        path: str,
        columns: Sequence[tuple[str, ColumnType]],
    ) -> SourceSettings | None:
        named = {
            name: entries[name] for name in CONNECTORS if self._optional(entries, name, path) is not None
        }
        parts = {
            name: self._settings_of(name, node, f"{path}.{name}", columns)
            for name, (_, node) in named.items()
        }
        try:
            return source_of(parts)
        except BadSetting as error:
            key, node = named[error.key.partition(".")[0]]
            self._fail(
                key if error.key in named else node, f"{path}.{error.key}", error.found, error.expected
            )

    def _settings_of(
        self, connector: str, node: yaml.Node, path: str, columns: Sequence[tuple[str, ColumnType]]
    ) -> SourceSettings:
        given = self._mapping(node, path)
        fields = settings_schema(connector)["properties"]
        files = {f"{name}_file": name for name, field in fields.items() if "x-lines" in field}
        self._known(given, (*fields, *files), path)
        texts = {
            files.get(name, name): self._beside(value, f"{path}.{name}")
            if name in files
            else self._text(value, f"{path}.{name}", "text")
            for name, (_, value) in given.items()
        }
        try:
            source = read_settings(connector, texts)
            check_columns(source, columns)
            return source
        except BadSetting as error:
            wrong = next((name for name in given if error.key in (name, files.get(name))), "")
            at = given[wrong][1] if wrong else node
            place = f"{path}.{error.key}" if error.key else path
            self._fail(at, place, error.found, error.expected, error.hint)

    def _beside(self, node: yaml.Node, path: str) -> str:
        """The text of a file that a setting names, from the folder of streams.yaml."""
        name = self._text(node, path, "the name of a file")
        try:
            return self._read_beside(name)
        except (OSError, UnicodeDecodeError) as error:
            self._fail(node, path, str(error), "a readable file")

    def _columns(self, node: yaml.Node, path: str) -> tuple[tuple[str, ColumnType], ...]:
        columns: list[tuple[str, ColumnType]] = []
        for name, (key, value) in self._mapping(node, path).items():
            if not name.strip() or not name.isprintable():
                self._fail(key, path, f"column name {name!r}", "a printable name")
            twin = next((other for other, _ in columns if other.casefold() == name.casefold()), None)
            if twin is not None:
                self._fail(key, f"{path}.{name}", f"column {name} beside {twin}", "names that differ")
            written = self._text(value, f"{path}.{name}", "a column type").lower()
            try:
                columns.append((name, column_type(written)))
            except ValueError:
                near = nearest(written, COLUMN_TYPES)
                expected = f"one of {', '.join(TYPE_NAMES)}"
                self._fail(value, f"{path}.{name}", f"type {written}", expected, near)
        if not columns:
            self._fail(node, path, "no column", "at least one column")
        return tuple(columns)

    def _selectivity(self, node: yaml.Node, path: str, catalog: Catalog) -> SelectivityEstimate:
        entries = self._mapping(node, path)
        self._known(entries, ("predicate", "value"), path)
        for needed in ("predicate", "value"):
            if needed not in entries:
                self._fail(node, path, f"no {needed}", f"{needed}: {_EXAMPLES[needed]}")
        predicate_node = entries["predicate"][1]
        text = self._text(predicate_node, f"{path}.predicate", "a predicate over streams")
        try:
            predicate = parse_predicate(text, catalog, self._source)
        except InputError as error:
            place = self._place(predicate_node, f"{path}.predicate")
            raise InputError(error.code, place, error.found, error.expected, error.suggestion) from None
        value_node = entries["value"][1]
        value = self._number(value_node, f"{path}.value", "a fraction from 0 to 1")
        if value > 1:
            self._fail(value_node, f"{path}.value", f"{value:g}", "a fraction from 0 to 1")
        return SelectivityEstimate(predicate, value)

    def _late(self, node: yaml.Node, path: str) -> LatePolicy:
        text = self._text(node, path, "drop or join").lower()
        policies: dict[str, Literal["drop", "join"]] = {"drop": "drop", "join": "join"}
        if text not in policies:
            self._fail(node, path, text, "drop or join", nearest(text, policies))
        return policies[text]

    def _tasks(self, node: yaml.Node, path: str) -> int:
        number = self._number(node, path, "a whole number of tasks, 1 or more")
        if number < 1 or number != int(number):
            self._fail(node, path, str(node.value), "a whole number of tasks, 1 or more")
        return int(number)

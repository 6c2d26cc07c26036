"""Read workload directories: streams.yaml, queries/*.sql, functions.yaml.

The last one is optional (DESIGN section 5).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Literal, NoReturn

import yaml

from optimizer.algebra.errors import InputError, Place
from optimizer.algebra.identifiers import nearest
from optimizer.algebra.settings import BadSetting
from optimizer.algebra.types import COLUMN_TYPES, ColumnType
from optimizer.logical.catalog import Catalog
from optimizer.logical.durations import parse_duration_us
from optimizer.logical.query import Query
from optimizer.logical.source import (
    CONNECTORS,
    SourceSettings,
    check_columns,
    read_settings,
    settings_schema,
)
from optimizer.logical.stream import LatePolicy, Stream
from optimizer.sql import parse_predicate, parse_query, streams_read
from optimizer.statistics.workload import SelectivityEstimate
from optimizer.udf.reader import FILE_NAME, allowed_functions, read_functions
from optimizer.udf.registry import NO_FUNCTIONS, FunctionRegistry

_STREAM_KEYS = (
    *("event_time", "columns", "lateness", "late", "parallelism", "rate", *CONNECTORS, "top_share"),
    "max_ahead",
)
_NUMBER = ("tag:yaml.org,2002:int", "tag:yaml.org,2002:float")


@dataclass(frozen=True, slots=True)
class Workload:
    """What a workload directory says."""

    catalog: Catalog
    queries: tuple[Query, ...]
    """In the order of their names."""
    selectivities: tuple[SelectivityEstimate, ...]
    sql: tuple[tuple[str, str], ...]
    """(query name, SQL text), in the same order as `queries`."""


def load_workload(path: str | Path) -> Workload:
    """Read `streams.yaml`, `functions.yaml` and `queries/*.sql` of a directory.

    Without `functions.yaml`, queries may call what the installation allows (`optimizer.udf.reader`).
    A query may read another query of the directory by its name. Raises `InputError` with file and
    place for anything that is missing or unusable.

    >>> from tempfile import TemporaryDirectory
    >>> streams = "streams: {r: {event_time: at, columns: {at: timestamp, a: int}}}"
    >>> with TemporaryDirectory() as folder:
    ...     (Path(folder) / "queries").mkdir()
    ...     for name, text in (("streams.yaml", streams), ("queries/big.sql", "SELECT a FROM r WHERE a > 9")):
    ...         _ = (Path(folder) / name).write_text(text)
    ...     [query.name for query in load_workload(folder).queries]
    ['big']
    """
    directory = Path(path)
    if not directory.is_dir():
        raise InputError(
            "missing-file",
            Place(str(directory)),
            "no directory",
            "a directory with streams.yaml and queries/",
        )
    document = directory / "streams.yaml"
    own = functions_file(directory)
    functions = allowed_functions() if own is None else read_functions(own)
    catalog, selectivities = read_streams(read_text(document), str(document), functions)
    folder = directory / "queries"
    files = sorted(folder.glob("*.sql"), key=lambda f: f.stem)
    if not files:
        raise InputError("missing-file", Place(str(folder)), "no query", "at least one file NAME.sql")
    texts = {file.stem: read_text(file) for file in files}
    queries = parse_queries(texts, catalog, {file.stem: str(file) for file in files})
    return Workload(
        catalog,
        tuple(queries[name] for name in texts),
        selectivities,
        tuple(texts.items()),
    )


def functions_file(directory: Path) -> Path | None:
    """The workload's own functions file, or None if it has none."""
    path = directory / FILE_NAME
    return path if path.exists() else None


def read_text(path: Path) -> str:
    """A file's text. Raises `InputError` when it is missing, unreadable or not UTF-8."""
    try:
        return path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        found = f"byte 0x{error.object[error.start]:02x} at offset {error.start}"
        raise InputError("not-utf8", Place(str(path)), found, "UTF-8 text") from None
    except FileNotFoundError:
        raise InputError("missing-file", Place(str(path)), "no such file", f"a file {path.name}") from None
    except OSError as error:
        found = error.strerror or type(error).__name__
        raise InputError("unreadable-file", Place(str(path)), found, "a readable file") from None


def parse_queries(
    texts: Mapping[str, str],
    catalog: Catalog,
    sources: Mapping[str, str] | None = None,
) -> dict[str, Query]:
    """Parse queries that may read each other, in whatever order that needs.

    `texts` maps names to SQL, `sources` names to what errors call the text. A name that is
    a stream's and a query's means the stream. Raises `InputError`, also for queries that
    read each other in a circle.

    >>> streams = "streams: {r: {event_time: at, columns: {at: timestamp, a: int}}}"
    >>> catalog, _ = read_streams(streams, "streams.yaml")
    >>> texts = {"all": "SELECT a FROM few", "few": "SELECT r.a, r.at FROM r WHERE a > 3"}
    >>> queries = parse_queries(texts, catalog)
    >>> [(name, [item.stream for item in query.inputs]) for name, query in queries.items()]
    [('few', ['r']), ('all', ['r'])]
    """
    names = sources or {}
    folded: dict[str, str] = {}
    for name in texts:
        other = folded.setdefault(name.casefold(), name)
        if other != name:
            place = Place(names.get(name, name))
            raise InputError("duplicate-query", place, f"query {name} beside {other}", "names that differ")
    parsed: dict[str, Query] = {}

    def parse(name: str, path: tuple[str, ...]) -> None:
        if name in parsed:
            return
        place = Place(names.get(name, name))
        if name in path:
            circle = " reads ".join((*path[path.index(name) :], name))
            raise InputError("view-cycle", place, circle, "queries that do not read each other in a circle")
        if len(path) > 50:
            raise InputError("too-deep", place, "more than 50 queries that read one another", "fewer")
        for read in streams_read(texts[name]):
            needed = folded.get(read.casefold())
            if needed is not None and catalog.find(read) is None:
                parse(needed, (*path, name))
        parsed[name] = parse_query(texts[name], name, catalog, parsed, names.get(name))

    for name in texts:
        parse(name, ())
    return parsed


def read_streams(
    text: str, source: str, functions: FunctionRegistry = NO_FUNCTIONS
) -> tuple[Catalog, tuple[SelectivityEstimate, ...]]:
    """Read a streams.yaml's streams, and selectivities that may call `functions`.

    >>> text = "streams: {r: {event_time: at, rate: 20, columns: {at: timestamp, a: int}}}"
    >>> catalog, selectivities = read_streams(text, "streams.yaml")
    >>> catalog["r"].tuples_per_second, selectivities
    (20.0, ())

    Raises `InputError` with line and path.
    """
    return _Document(source, functions).read(text)


class _Document:
    """Reads YAML nodes rather than values, because nodes know their lines."""

    def __init__(self, source: str, functions: FunctionRegistry) -> None:
        self._source = source
        self._functions = functions

    def read(self, text: str) -> tuple[Catalog, tuple[SelectivityEstimate, ...]]:
        try:
            root = yaml.compose(text, Loader=yaml.SafeLoader)
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            place = Place(self._source, mark.line + 1, mark.column + 1) if mark else Place(self._source)
            raise InputError("bad-yaml", place, error.problem or "text that is no YAML", "YAML") from None
        except yaml.YAMLError as error:
            found = str(error).splitlines()[0]
            raise InputError("bad-yaml", Place(self._source), found, "YAML") from None
        except RecursionError:
            raise InputError("bad-yaml", Place(self._source), "YAML nested too deeply", "streams") from None
        if root is None:
            raise InputError(
                "bad-streams", Place(self._source), "nothing", "streams: with at least one stream"
            )
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
        entries = self._mapping(node, path)
        self._known(entries, _STREAM_KEYS, path)
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
        lateness = self._optional(entries, "lateness", path)
        late = self._optional(entries, "late", path)
        max_ahead = self._optional(entries, "max_ahead", path)
        return Stream(
            name,
            columns,
            declared,
            self._duration(lateness, f"{path}.lateness") if lateness is not None else timedelta(0),
            self._late(late, f"{path}.late") if late is not None else "drop",
            self._tasks(parallelism, f"{path}.parallelism") if parallelism is not None else None,
            self._number(rate, f"{path}.rate", "a rate in tuples per second, 0 or more")
            if rate is not None
            else None,
            self._source_of(entries, path, columns),
            self._top_shares(entries, path, columns),
            self._duration(max_ahead, f"{path}.max_ahead") if max_ahead is not None else None,
        )

    def _top_shares(
        self,
        entries: Mapping[str, tuple[yaml.Node, yaml.Node]],
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
        entries: Mapping[str, tuple[yaml.Node, yaml.Node]],
        path: str,
        columns: Sequence[tuple[str, ColumnType]],
    ) -> SourceSettings | None:
        named = [name for name in CONNECTORS if self._optional(entries, name, path) is not None]
        if not named:
            return None
        key, node = entries[named[-1]]
        if len(named) > 1:
            self._fail(key, f"{path}.{named[-1]}", f"{' and '.join(named)}", "one of them")
        path = f"{path}.{named[0]}"
        given = self._mapping(node, path)
        fields = settings_schema(named[0])["properties"]
        files = {f"{name}_file": name for name, field in fields.items() if "x-lines" in field}
        self._known(given, (*fields, *files), path)
        texts = {
            files.get(name, name): self._beside(value, f"{path}.{name}")
            if name in files
            else self._text(value, f"{path}.{name}", "text")
            for name, (_, value) in given.items()
        }
        try:
            source = read_settings(named[0], texts)
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
            return (Path(self._source).parent / name).read_text(encoding="utf-8")
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
            kind = next((t for t in COLUMN_TYPES if t.value == written), None)
            if kind is None:
                types = [t.value for t in COLUMN_TYPES]
                self._fail(
                    value,
                    f"{path}.{name}",
                    f"type {written}",
                    f"one of {', '.join(types)}",
                    nearest(written, types),
                )
            columns.append((name, kind))
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

    # Values

    def _optional(
        self, entries: Mapping[str, tuple[yaml.Node, yaml.Node]], key: str, path: str
    ) -> yaml.Node | None:
        node = entries[key][1] if key in entries else None
        if node is not None and node.tag == "tag:yaml.org,2002:null":
            return None
        return node

    def _duration(self, node: yaml.Node, path: str) -> timedelta:
        text = self._text(node, path, "a duration such as 5 minutes")
        try:
            us = 0 if text.strip() in ("0", "0.0") else parse_duration_us(text)
        except ValueError:
            self._fail(node, path, text, "a duration with its unit, such as 5 minutes or 30s")
        if us < 0:
            self._fail(node, path, text, "a duration that is not negative")
        if us >= 2**63:
            self._fail(node, path, text, "a duration below 292,000 years: 64 bits of microseconds")
        return timedelta(microseconds=us)

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

    def _number(self, node: yaml.Node, path: str, expected: str) -> float:
        if not isinstance(node, yaml.ScalarNode):
            self._fail(node, path, _kind(node), expected)
        try:
            # YAML 1.1 takes 1e-3 for text; people mean a number.
            value = float(node.value.replace("_", "")) if node.style is None else math.nan
        except ValueError:
            value = math.nan
        if not math.isfinite(value) or value < 0:
            self._fail(node, path, str(node.value) or "nothing", expected)
        return value

    def _text(self, node: yaml.Node, path: str, expected: str) -> str:
        if not isinstance(node, yaml.ScalarNode) or not node.value.strip():
            self._fail(node, path, _kind(node), expected)
        return str(node.value)

    def _mapping(self, node: yaml.Node, path: str) -> dict[str, tuple[yaml.Node, yaml.Node]]:
        if not isinstance(node, yaml.MappingNode):
            self._fail(node, path, _kind(node), "key: value entries")
        entries: dict[str, tuple[yaml.Node, yaml.Node]] = {}
        for key, value in node.value:
            if not isinstance(key, yaml.ScalarNode):
                self._fail(key, path, _kind(key), "a name")
            name = str(key.value)
            if name in entries:
                self._fail(key, f"{path}.{name}".lstrip("."), f"{name} twice", "each name once")
            entries[name] = (key, value)
        return entries

    def _sequence(self, node: yaml.Node, path: str) -> Sequence[yaml.Node]:
        if isinstance(node, yaml.ScalarNode) and node.tag == "tag:yaml.org,2002:null":
            return ()
        if not isinstance(node, yaml.SequenceNode):
            self._fail(node, path, _kind(node), "a list: - {predicate: ..., value: ...}")
        items: Sequence[yaml.Node] = node.value
        return items

    def _known(
        self, entries: Mapping[str, tuple[yaml.Node, yaml.Node]], known: Sequence[str], path: str
    ) -> None:
        for name, (key, _) in entries.items():
            if name not in known:
                where = f"{path}.{name}".lstrip(".")
                self._fail(key, where, f"key {name}", f"one of {', '.join(known)}", nearest(name, known))

    def _place(self, node: yaml.Node, path: str) -> Place:
        start, end = node.start_mark, node.end_mark
        end_column = end.column + 1 if end.line == start.line else None
        return Place(self._source, start.line + 1, start.column + 1, end_column, path or None)

    def _fail(
        self, node: yaml.Node, path: str, found: str, expected: str, suggestion: str | None = None
    ) -> NoReturn:
        raise InputError("bad-streams", self._place(node, path), found[:120], expected, suggestion)


_EXAMPLES = {
    "event_time": "a timestamp column",
    "columns": "{at: timestamp, ...}",
    "predicate": '"r.a = s.a"',
    "value": "a fraction from 0 to 1",
}


def _kind(node: yaml.Node) -> str:
    """What a YAML node is, in words."""
    if isinstance(node, yaml.MappingNode):
        return "key: value entries"
    if isinstance(node, yaml.SequenceNode):
        return "a list"
    return str(node.value) or "nothing"

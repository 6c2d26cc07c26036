"""Read a directory's files into streams and queries, from texts alone."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from backend.catalog.parsing import MAX_CHARACTERS, Texts, VersionText, parse_texts
from backend.workloads.job_files import DeclaredJob, read_jobs
from optimizer.algebra.errors import InputError, Place
from optimizer.logical.catalog import Catalog
from optimizer.logical.query import Query
from optimizer.logical.stream import Stream
from optimizer.sql import check, parse_query, streams_read
from optimizer.workload.query_settings import QuerySettings, QuerySettingsDocument
from optimizer.workload.streams import StreamsDocument

STREAMS = "streams.yaml"
MOST_QUERIES = 1000
"""Of one directory."""
_QUERY = re.compile(r"[a-z][a-z0-9_-]{0,62}")
_STREAM = re.compile(r"[a-z_][a-z0-9_]{0,62}")
_COLUMN = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,254}")
_QUERY_EXPECTED = "lower-case letters, digits, _ and -, starting with a letter, at most 63"
_DEEPEST = 50
"""Queries that read one another in a row."""


@dataclass(frozen=True, slots=True)
class DeclaredStream:
    stream: Stream
    description: str | None
    """None if the file says nothing about it."""


@dataclass(frozen=True, slots=True)
class DeclaredQuery:
    name: str
    sql: str
    settings: QuerySettings
    query: Query
    """Its meaning, every view flattened."""
    reads: tuple[str, ...]
    """The queries that it reads as views, sorted: of the directory, or else of the server."""


@dataclass(frozen=True, slots=True)
class Declared:
    """What a directory says."""

    streams: tuple[DeclaredStream, ...]
    """By name."""
    queries: tuple[DeclaredQuery, ...]
    """Those that others read come before these."""
    jobs: tuple[DeclaredJob, ...]
    """By topology."""
    catalog: Catalog
    """The server's streams, as the directory wants them, and its own."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What a directory says, or everything wrong with it."""

    declared: Declared | None
    errors: tuple[InputError, ...]


def read_directory(files: Mapping[str, str], registered: Catalog, views: Texts) -> Reading:
    """Give the files of a directory their meaning. Raises nothing for any text.

    Args:
        files: texts by path: streams.yaml and what it names, queries/NAME.sql, queries/NAME.yaml and
            topologies/NAME.yaml.
        registered: the server's streams and functions.
        views: the server's queries, by name and text; those that the directory has too are not looked at.
    """
    errors: list[InputError] = []
    streams: tuple[DeclaredStream, ...] = ()
    catalog = registered
    try:
        streams = tuple(_streams(files, registered))
        own = [one.stream for one in streams]
        names = {stream.name for stream in own}
        catalog = Catalog.of(
            [*(stream for stream in registered if stream.name not in names), *own], registered.functions
        )
    except InputError as error:
        return Reading(None, (error,))
    jobs = tuple(read_jobs(files, errors))
    settings = _settings(files, errors)
    texts = _texts(files, catalog, errors)
    parser = _Parser(texts, settings, catalog, views, errors)
    for name in texts:
        parser.parse(name, ())
    if errors:
        return Reading(None, tuple(errors))
    return Reading(Declared(streams, tuple(parser.found.values()), jobs, catalog), ())


def _streams(files: Mapping[str, str], registered: Catalog) -> Iterator[DeclaredStream]:
    text = files.get(STREAMS)
    if text is None:
        return

    def beside(name: str) -> str:
        path = str(PurePosixPath(name))
        if path not in files:
            raise OSError(f"{name} is not among the directory's files")
        return files[path]

    document = StreamsDocument(STREAMS, registered.functions, beside)
    catalog, _ = document.read(text)
    for stream in catalog:
        place = document.places[stream.name]
        if not _STREAM.fullmatch(stream.name):
            expected = "lower-case letters, digits and _, at most 63"
            raise InputError("bad-streams", place, f"stream {stream.name}", expected)
        for column, _ in stream.columns:
            if not _COLUMN.fullmatch(column):
                found = f"column {column} of {stream.name}"
                raise InputError("bad-streams", place, found, "letters, digits and _")
        yield DeclaredStream(stream, document.descriptions.get(stream.name))


def _settings(files: Mapping[str, str], errors: list[InputError]) -> dict[str, QuerySettings]:
    found = {}
    for path in sorted(files):
        name = _stem(path, ".yaml")
        if name is None or path.endswith(".test.yaml"):
            continue
        if f"queries/{name}.sql" not in files:
            expected = f"queries/{name}.sql beside it"
            errors.append(InputError("missing-file", Place(path), "settings of no query", expected))
            continue
        try:
            found[name] = QuerySettingsDocument(path).read(files[path])
        except InputError as error:
            errors.append(error)
    return found


def _texts(files: Mapping[str, str], catalog: Catalog, errors: list[InputError]) -> dict[str, str]:
    found = {}
    for path in sorted(files):
        name = _stem(path, ".sql")
        if name is None:
            continue
        place = Place(path)
        if not _QUERY.fullmatch(name):
            errors.append(InputError("bad-name", place, f"the name {name}", _QUERY_EXPECTED))
        elif catalog.find(name) is not None:
            errors.append(InputError("name-taken", place, "the name of a stream", "another name"))
        elif len(files[path]) > MAX_CHARACTERS:
            found_text = f"{len(files[path])} characters"
            errors.append(InputError("too-long", place, found_text, f"at most {MAX_CHARACTERS}"))
        else:
            found[name] = files[path]
    if not found and not errors:
        expected = "at least one file queries/NAME.sql"
        errors.append(InputError("missing-file", Place("queries"), "no query", expected))
    if len(found) > MOST_QUERIES:
        place = Place("queries")
        errors.append(InputError("too-many", place, f"{len(found)} queries", f"at most {MOST_QUERIES}"))
        return {}
    return found


def _stem(path: str, ending: str) -> str | None:
    parts = PurePosixPath(path).parts
    if len(parts) != 2 or parts[0] != "queries" or not path.endswith(ending):
        return None
    return parts[1].removesuffix(ending)


@dataclass(slots=True)
class _Parser:
    """Parses queries that may read each other, in whatever order that needs."""

    texts: Mapping[str, str]
    settings: Mapping[str, QuerySettings]
    catalog: Catalog
    views: Texts
    errors: list[InputError]
    found: dict[str, DeclaredQuery] = field(default_factory=dict)
    failed: set[str] = field(default_factory=set)

    def parse(self, name: str, path: tuple[str, ...]) -> None:
        if name in self.found or name in self.failed:
            return
        source = f"queries/{name}.sql"
        if name in path:
            circle = " reads ".join((*path[path.index(name) :], name))
            expected = "queries that do not read each other in a circle"
            self._fail(name, InputError("view-cycle", Place(source), circle, expected))
            return
        if len(path) > _DEEPEST:
            found = f"more than {_DEEPEST} queries that read one another"
            self._fail(name, InputError("too-deep", Place(source), found, "fewer"))
            return
        reads = self._reads(name)
        for read in reads:
            if read in self.texts:
                self.parse(read, (*path, name))
        if name in self.failed or any(read in self.failed for read in reads):
            # What is wrong with a view is told once, where it is.
            self.failed.add(name)
            return
        text = self.texts[name]
        try:
            views = {read: self._view(read) for read in reads}
            query = parse_query(text, name, self.catalog, views, source)
        except InputError as first:
            self.failed.add(name)
            several = check(text, self.catalog, {read: self._view(read) for read in reads})
            self.errors += [_at(error, source) for error in several] or [first]
            return
        self.found[name] = DeclaredQuery(
            name, text, self.settings.get(name, QuerySettings()), query, tuple(sorted(reads))
        )

    def _reads(self, name: str) -> list[str]:
        """The queries that a text reads; a name that is a stream's too means the stream."""
        names = dict.fromkeys(read.casefold() for read in streams_read(self.texts[name]))
        known = {**dict.fromkeys(self.views.current), **dict.fromkeys(self.texts)}
        return [read for read in names if read in known and self.catalog.find(read) is None]

    def _view(self, name: str) -> Query:
        if name in self.found:
            return self.found[name].query
        key = self.views.current[name]
        return parse_texts(_behind(self.views.versions, key), self.catalog)[key]

    def _fail(self, name: str, error: InputError) -> None:
        self.failed.add(name)
        self.errors.append(error)


def _behind(versions: Mapping[int, VersionText], key: int) -> dict[int, VersionText]:
    found: dict[int, VersionText] = {}
    pending = [key]
    while pending:
        one = pending.pop()
        if one not in found:
            found[one] = versions[one]
            pending += versions[one].reads
    return found


def _at(error: InputError, source: str) -> InputError:
    """The error with the file's name, which checks of texts do not know."""
    place = error.place
    named = Place(source, place.line, place.column, place.end_column, place.path)
    return InputError(error.code, named, error.found, error.expected, error.suggestion)

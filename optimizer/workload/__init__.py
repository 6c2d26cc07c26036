"""Read workload directories: streams.yaml, queries/*.sql, functions.yaml.

The last one is optional (DESIGN section 5).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from optimizer.algebra.errors import InputError, Place
from optimizer.logical.catalog import Catalog
from optimizer.logical.query import Query
from optimizer.sql import parse_query, streams_read
from optimizer.statistics.workload import SelectivityEstimate
from optimizer.udf.reader import FILE_NAME, allowed_functions, read_functions
from optimizer.udf.registry import NO_FUNCTIONS, FunctionRegistry
from optimizer.workload.streams import StreamsDocument


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
    return StreamsDocument(source, functions).read(text)

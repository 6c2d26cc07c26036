"""Convert SQL: `python -m optimizer convert`.

Shows the plans before and after, and writes the joins as a workload to replay.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from optimizer.algebra.errors import InputError, Place
from optimizer.conversion.document import document, to_json, to_text
from optimizer.conversion.multiway.plan import Conversion, convert
from optimizer.workload import read_streams, read_text


@dataclass(frozen=True, slots=True)
class Files:
    """What is converted: queries by name, and the file that declares their streams."""

    queries: Mapping[str, Path]
    views: Mapping[str, Path]
    """Queries that these may read by name."""
    streams: Path


def run_convert(path: Path, streams: Path | None, out: Path | None, as_json: bool) -> str:
    """What the command prints.

    Args:
        path: a file NAME.sql, or a directory with streams.yaml and queries/*.sql.
        streams: the streams.yaml; by default the one of the directory, or beside or above the file.
        out: a directory to write, with the multi-way joins that run on streams, as queries of a workload.

    Raises:
        InputError: a file is missing, cannot be written, or its text means nothing here.
    """
    files = _files(path, streams)
    declared = read_text(files.streams)
    catalog, _ = read_streams(declared, str(files.streams))
    views = {name: read_text(file) for name, file in files.views.items()}
    made = {
        name: convert(views[name], catalog, {v: t for v, t in views.items() if v != name}, str(file))
        for name, file in files.queries.items()
    }
    if out is not None:
        _write(out, declared, made, path)
    documents = tuple(document(name, conversion) for name, conversion in made.items())
    return to_json(documents) if as_json else "\n".join(map(to_text, documents)).rstrip("\n")


def _files(path: Path, streams: Path | None) -> Files:
    if path.is_dir():
        folder = path / "queries"
        queries = {file.stem: file for file in sorted(folder.glob("*.sql"), key=lambda f: f.stem)}
        if not queries:
            raise InputError("missing-file", Place(str(folder)), "no query", "at least one file NAME.sql")
        return Files(queries, queries, streams or path / "streams.yaml")
    if not path.is_file():
        expected = "a file NAME.sql, or a directory with streams.yaml and queries/"
        raise InputError("missing-file", Place(str(path)), "no such file or directory", expected)
    beside = {file.stem: file for file in sorted(path.parent.glob("*.sql"), key=lambda f: f.stem)}
    places = (path.parent / "streams.yaml", path.parent.parent / "streams.yaml")
    found = streams or next((place for place in places if place.is_file()), None)
    if found is None:
        place = Place("command line", path="--streams")
        raise InputError("missing-file", place, f"no streams.yaml beside {path.name}", "--streams FILE")
    return Files({path.stem: path}, {**beside, path.stem: path}, found)


def _write(out: Path, streams: str, made: Mapping[str, Conversion], path: Path) -> None:
    texts = {
        f"{name}_{converted.join.name}": converted.join.sql
        for name, conversion in made.items()
        for converted in conversion.joins
        if converted.runs_on_streams
    }
    if not texts:
        found = "no multi-way join whose inputs are all streams"
        raise InputError("nothing-to-write", Place(str(path)), found, "a query with one")
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise InputError("unwritable-file", Place(str(out)), "files", "a new directory, or an empty one")
    try:
        (out / "queries").mkdir(parents=True, exist_ok=True)
        (out / "streams.yaml").write_text(streams, encoding="utf-8")
        for name, text in texts.items():
            (out / "queries" / f"{name}.sql").write_text(text, encoding="utf-8")
    except OSError as error:
        found = error.strerror or type(error).__name__
        raise InputError("unwritable-file", Place(str(out)), found, "a writable directory") from error

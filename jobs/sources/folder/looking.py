"""A look into a folder, when a stream is registered with it, at what is wrong."""

from __future__ import annotations

from collections.abc import Sequence
from io import StringIO
from typing import Protocol

from jobs.sources.folder.allowed import directories
from jobs.sources.folder.lines import LongRow, read_header, taken_rows
from jobs.sources.folder.listing import Listed, list_files
from jobs.sources.folder.opening import opened_as, path_of
from optimizer.algebra.errors import InputError, Place
from optimizer.algebra.identifiers import nearest
from optimizer.algebra.settings import BadSetting
from optimizer.algebra.types import ColumnType

Columns = Sequence[tuple[str, ColumnType]]


class _Settings(Protocol):
    """What `FolderFiles` says of a folder."""

    @property
    def folder(self) -> str: ...
    @property
    def pattern(self) -> str: ...
    @property
    def format(self) -> str: ...


def look_into(settings: _Settings, columns: Columns) -> None:
    """Check the folder, and the first of its files if there is one.

    Raises `BadSetting` for a folder that is not there, a pattern that no file matches while there are others,
    a file of another format, and one without the columns.
    """
    files = _listed(settings)
    if not files:
        return
    first = files[0]
    try:
        _check(settings, first, columns)
    except (InputError, LongRow, OSError) as error:
        wrong = error.code in ("missing-column", "wrong-type") if isinstance(error, InputError) else False
        key = "folder" if wrong else "format"
        found = error.found if isinstance(error, InputError) else str(error)
        expected = error.expected if isinstance(error, InputError) else f"a {settings.format} file"
        raise BadSetting(key, f"{first.folder}/{first.name} with {found}", expected) from error


def _listed(settings: _Settings) -> tuple[Listed, ...]:
    name = settings.folder.partition("/")[0]
    allowed = list(directories())
    if name not in allowed:
        expected = f"one that begins with a directory that the operator allows: {', '.join(allowed)}"
        raise BadSetting("folder", repr(settings.folder), expected, nearest(name, allowed))
    try:
        files = list_files(settings.folder, settings.pattern)
        others = () if files else list_files(settings.folder, "*")
    except InputError as error:
        raise BadSetting("folder", error.found, error.expected) from error
    except OSError as error:
        told = f"{settings.folder!r} ({error.strerror or error})"
        raise BadSetting("folder", told, "a folder that is there and no symbolic link") from error
    if others:
        raise BadSetting(
            "pattern",
            repr(settings.pattern),
            f"one that files of the folder match: there is {others[0].name}, and {len(others)} in all",
        )
    return files


def _check(settings: _Settings, first: Listed, columns: Columns) -> None:
    place = f"{first.folder}/{first.name}"
    with opened_as(first) as file:
        if settings.format == "parquet":
            from jobs.sources.files.inputs import check_columns
            from jobs.sources.files.parquet import opened

            with opened(path_of(file), place) as parquet:
                check_columns(place, parquet.schema_arrow, tuple(columns))
        elif settings.format == "csv":
            from jobs.sources.files.csv import check_header, header_names

            header = read_header(file, first.size).decode("utf-8-sig", "replace")
            names = header_names(place, StringIO(header, newline=""))
            if not all(name.isprintable() for name in names):
                raise InputError("bad-file", Place(place, line=1), "bytes that are no text", "a header line")
            check_header(place, names, tuple(columns))
        elif first.size:
            from jobs.sources.formats.decode import FROM_JSON, json_records, type_records

            _, end = taken_rows(file, 0, first.size, 1, quotes=False)
            file.seek(0)
            # What else is wrong with a row makes it a dead letter.
            _, _, broken = type_records(json_records([file.read(end)]), (), FROM_JSON, "a JSON object")
            if broken:
                expected = "a JSON object in each line"
                raise InputError("bad-file", Place(place, line=1), broken[0][1], expected)

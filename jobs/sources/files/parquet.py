"""Read Parquet files from users; errors name the file and the place."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import BinaryIO, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq

from optimizer.algebra.errors import InputError, Place

T = TypeVar("T")

STAGED = b"millrace.staged"
"""In the metadata of a file that was staged: its columns have been typed, and a row that could not be has the
reason in `@reason` and its text in `@tuple`."""

_DAMAGE = (pa.ArrowException, OSError, UnicodeDecodeError, OverflowError)
"""What pyarrow raises of a file that is none, or was damaged; also a size that no memory has."""


@contextmanager
def opened(
    path: str | BinaryIO, named: str | None = None, *, mapped: bool = False
) -> Iterator[pq.ParquetFile]:
    """The file, open, and if asked mapped into memory. An open file needs a name.

    Raises `InputError` with the name if it is no Parquet file, or says of itself what cannot be.
    """
    name = str(path) if named is None else named
    # Moments of 96 bits are nanoseconds unless one asks: they would wrap before 1677 and behind 2262.
    file = _told(
        name, None, lambda: pq.ParquetFile(path, memory_map=mapped, coerce_int96_timestamp_unit="us")
    )
    try:
        _told(name, None, lambda: _check(name, file))
        yield file
    finally:
        file.close()


def _check(name: str, file: pq.ParquetFile) -> None:
    sizes = [file.metadata.row_group(group).num_rows for group in range(file.num_row_groups)]
    if min(sizes, default=0) < 0 or sum(sizes) != file.metadata.num_rows:
        found = f"{file.metadata.num_rows} rows in all and {sum(sizes)} in row groups"
        raise InputError("bad-file", Place(name), found, "a Parquet file whose footer agrees with itself")
    names = file.schema_arrow.names
    assert all(isinstance(column, str) for column in names)  # Here a name that is no UTF-8 raises.


def read_group(file: pq.ParquetFile, path: str, group: int, names: Sequence[str]) -> pa.Table:
    """The columns of a row group.

    Raises `InputError` naming file and row group for damage.
    """
    wanted = list(dict.fromkeys(names))

    def read() -> pa.Table:
        table = file.read_row_group(group, columns=wanted, use_threads=False).select(wanted)
        table.validate()
        return table

    table = _told(path, group, read)
    if table.num_rows != (size := file.metadata.row_group(group).num_rows):
        raise _damaged(path, group, f"{table.num_rows} rows instead of {size}")
    return table


def batches(file: pq.ParquetFile, path: str, group: int, column: str, rows: int) -> Iterator[pa.Array]:
    """One column of a row group, so many rows at a time. Raises like `read_group`."""
    reader = file.iter_batches(rows, row_groups=[group], columns=[column])
    seen = 0
    while True:
        batch = _told(path, group, lambda: next(reader, None))
        if batch is None:
            break
        seen += batch.num_rows
        yield batch.column(batch.schema.get_field_index(column))
    if seen != (size := file.metadata.row_group(group).num_rows):
        raise _damaged(path, group, f"{seen} rows instead of {size}")


def _told(path: str, group: int | None, work: Callable[[], T]) -> T:
    try:
        return work()
    except _DAMAGE as error:
        raise _damaged(path, group, str(error)) from error


def _damaged(path: str, group: int | None, found: str) -> InputError:
    place = Place(path, path=None if group is None else f"row group {group + 1}")
    expected = "a readable Parquet file" if group is None else "rows that can be read"
    return InputError("bad-file", place, " ".join(found.split())[:200], expected)

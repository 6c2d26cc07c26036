"""Sort input files into order of arrival, once, before a replay."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from jobs.sources.files.order import integers
from jobs.sources.files.parquet import STAGED, batches, opened, read_group
from jobs.sources.formats.columns import Typed, type_columns
from jobs.sources.formats.decode import REASON, TUPLE
from optimizer.algebra.types import ColumnType

if TYPE_CHECKING:
    from jobs.sources.files.stream_files import StreamFiles
    from optimizer.physical.graph import GraphStream

_GROUP_ROWS = 131_072
"""Of a sorted file's row groups."""


def stage_sorted(files: StreamFiles, stream: GraphStream, staging: Path) -> StreamFiles:
    """The same rows in ascending order of `files.order_by`.

    Equal ones keep the order of the files.

    Files that already ascend are used as they are. Others are typed by the stream's schema on the way,
    because their own may differ from file to file. NULLs come first.
    """
    from jobs.sources.files.stream_files import InputFile, StreamFiles

    if _ascends(files):
        return files
    target = staging / f"{files.stream}.parquet"
    if not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        unfinished = target.with_suffix(".unfinished")
        tables = [part for file in files.files for part in _typed(file.path, files.order_by, stream)]
        frame = pl.DataFrame(pl.from_arrow(pa.concat_tables(tables)))
        table = frame.sort(files.order_by, maintain_order=True).to_arrow()
        schema = tables[0].schema
        pq.write_table(
            table.cast(schema).replace_schema_metadata({STAGED: b"1"}), unfinished, row_group_size=_GROUP_ROWS
        )
        os.replace(unfinished, target)
    with opened(str(target)) as file:
        return StreamFiles(files.stream, files.order_by, (InputFile(str(target), file.metadata.num_rows),))


def _typed(path: str, order_by: str, stream: GraphStream) -> Iterator[pa.Table]:
    """A file's row groups as staged: the stream's columns, order, reason and text."""
    columns = (*stream.columns, (order_by, ColumnType.BIGINT))
    names = [name for name, _ in columns]
    place = f"{Path(path).parent.name}/{Path(path).name}"
    with opened(path) as file:
        staged = STAGED in (file.schema_arrow.metadata or {})
        first = 1
        for group in range(file.num_row_groups):
            stored = read_group(file, path, group, [*names, *((REASON, TUPLE) if staged else ())])
            typed = type_columns(stored, columns, partial(_place, place, first))
            first += stored.num_rows
            told = [stored.column(REASON), stored.column(TUPLE)] if staged else _told(typed)
            yield typed.table.append_column(REASON, told[0]).append_column(TUPLE, told[1])


def _place(file: str, first: int, row: int) -> str:
    return f"{file}, row {first + row}"


def _told(typed: Typed) -> list[pa.Array]:
    """Why rows are broken, and their text; NULL for those that are not."""
    if not typed.broken:
        return [pa.nulls(typed.table.num_rows, pa.large_string())] * 2
    broken = {one.row: one for one in typed.broken}
    rows = [broken.get(row) for row in range(typed.table.num_rows)]
    return [
        pa.array([None if one is None else one.reason for one in rows], pa.large_string()),
        pa.array([None if one is None else one.text for one in rows], pa.large_string()),
    ]


def _ascends(files: StreamFiles) -> bool:
    last: int | None = None
    for one in files.files:
        with opened(one.path) as file:
            for group in range(file.num_row_groups):
                for column in batches(file, one.path, group, files.order_by, 1 << 18):
                    if column.null_count:
                        return False
                    keys = integers(column)
                    if not len(keys):
                        continue
                    if (last is not None and keys[0] < last) or bool(np.any(keys[1:] < keys[:-1])):
                        return False
                    last = int(keys[-1])
    return True

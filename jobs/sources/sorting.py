"""Input whose files are not in order of arrival, brought into it once, before a replay."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import pyarrow.parquet as pq

if TYPE_CHECKING:
    from jobs.sources.files import StreamFiles


def stage_sorted(files: StreamFiles, staging: Path) -> StreamFiles:
    """The same rows ascending by `files.order_by`; equal ones keep the order of the files.

    Files that already ascend are used as they are. NULLs come first.
    """
    from jobs.sources.files import InputFile, StreamFiles

    if _ascends(files):
        return files
    target = staging / f"{files.stream}.parquet"
    if not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        unfinished = target.with_suffix(".unfinished")
        frame = pl.scan_parquet([file.path for file in files.files])
        frame.sort(files.order_by, maintain_order=True).sink_parquet(unfinished, row_group_size=131_072)
        os.replace(unfinished, target)
    rows = pq.read_metadata(target).num_rows
    return StreamFiles(files.stream, files.order_by, (InputFile(str(target), rows),))


def _ascends(files: StreamFiles) -> bool:
    last: int | None = None
    for file in files.files:
        with pq.ParquetFile(file.path) as parquet:
            for batch in parquet.iter_batches(batch_size=1 << 18, columns=[files.order_by]):
                column = batch.column(0)
                if column.null_count:
                    return False
                keys = column.cast("int64").to_numpy()
                if not len(keys):
                    continue
                if (last is not None and keys[0] < last) or bool(np.any(keys[1:] < keys[:-1])):
                    return False
                last = int(keys[-1])
    return True

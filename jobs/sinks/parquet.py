"""Results and dead letters as Parquet files that appear with their batch's commit.

A task writes under a hidden name that no other attempt at the task has; the driver renames what the
commit manifest lists. Final names follow from batch, stage and task alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from urllib.parse import quote

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from jobs.recovery.manifest import OutputFile
from jobs.storage.disk import disk
from jobs.storage.run import new_attempt
from optimizer.algebra.types import ColumnType
from optimizer.physical.graph import GraphQuery
from optimizer.physical.groups import DELETED
from optimizer.udf.arrow import ARROW_TYPES, as_uuids, uuid_texts

_TEXTS = (
    *(pa.string(), pa.large_string(), pa.string_view()),
    *(pa.binary(), pa.large_binary(), pa.binary_view()),
    pa.uuid(),
)
_HIDDEN = ".pending"
DEAD_LETTER_FOLDER = "dead_letters"
SCHEMA_FILE = "schema.parquet"
"""The empty file that gives a folder's columns before its first row."""


def write_hidden(output: str, folder: str, batch: int, stage: int, task: int, table: pa.Table) -> OutputFile:
    """Write one task's part of a batch into a folder of the output directory.

    The name sorts by batch: `results/q/00000007-2-001.parquet`.
    """
    path = Path(folder) / f"{batch:08d}-{stage}-{task:03d}.parquet"
    file = OutputFile(str(path), table.num_rows, new_attempt())
    hidden = hidden_path(Path(output), file)
    disk().make_folder(hidden.parent)
    layout = _layout(table.schema)
    with disk().create(hidden) as target:
        pq.write_table(
            table,
            target,
            compression="lz4",
            use_dictionary=layout.texts,
            column_encoding=layout.counted,
            write_statistics=layout.compared,
            store_schema=layout.arrow_only,
        )
    return file


def results_as_arrow(
    parts: Sequence[pl.DataFrame], outputs: Sequence[tuple[str, ColumnType]] = ()
) -> pa.Table:
    """Results ready to be written, of at least one part.

    Texts are not copied, but for those that are UUIDs by the query's `outputs`.

    Texts that a join found lie in its inputs, and stay there as views until they are written. Parquet has no
    durations: with them a file says in Arrow's terms what it has, and what it says of views not all read.
    """
    whole = pl.concat(parts)
    has_durations = any(isinstance(kind, pl.Duration) for kind in whole.dtypes)
    level = pl.CompatLevel.oldest() if has_durations else pl.CompatLevel.newest()
    return declared(whole.to_arrow(compat_level=level), outputs)


def declared(rows: pa.Table, outputs: Iterable[tuple[str, ColumnType]]) -> pa.Table:
    """Rows with the types that files of results have for a query's outputs.

    >>> rows = pa.table({"id": ["00010203-0405-0607-0809-0a0b0c0d0e0f"]})
    >>> declared(rows, [("id", ColumnType.UUID)]).schema.field("id").type
    UuidType(extension<arrow.uuid>)
    """
    for name, kind in outputs:
        if kind not in (ColumnType.TIME, ColumnType.UUID):
            continue
        place = rows.schema.get_field_index(name)
        column = rows.column(place)
        typed = as_uuids(column) if kind is ColumnType.UUID else column.cast(ARROW_TYPES[kind])
        rows = rows.set_column(place, name, typed)
    return rows


@dataclass(frozen=True, slots=True)
class _Layout:
    """How a file's columns are written.

    Spark, DuckDB, Polars and Arrow read all of it.
    """

    texts: list[str]
    """With a dictionary. One of numbers that hardly repeat takes six times as long to build as their
    differences take to write, and twice the space."""
    counted: dict[str, str]
    """The encoding of whole numbers and moments: as differences."""
    compared: list[str]
    """With their smallest and largest value, by which readers pass over files. Of texts they take a fifth of
    the time of writing, and results are hardly ever in the order of a text."""
    arrow_only: bool
    """True if there are columns whose type only Arrow's schema, written beside Parquet's, can tell."""


@cache
def _layout(schema: pa.Schema) -> _Layout:
    return _Layout(
        texts=[field.name for field in schema if field.type in _TEXTS],
        counted={field.name: "DELTA_BINARY_PACKED" for field in schema if _is_counted(field.type)},
        compared=[field.name for field in schema if field.type not in _TEXTS],
        arrow_only=any(pa.types.is_duration(field.type) for field in schema),
    )


def _is_counted(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_temporal(kind))


def hidden_path(output: Path, file: OutputFile) -> Path:
    """Where a file is until it is shown."""
    path = output / file.path
    return path.with_name(f".{path.name}{_HIDDEN}-{file.attempt}")


def show(output: Path, files: Iterable[OutputFile], *, taken: bool = False) -> None:
    """Give committed files their final names, if they do not have them already.

    If they may be `taken`, as a sink had them and they were deleted, those that are gone are passed over.
    """
    for file in files:
        hidden = hidden_path(output, file)
        try:
            disk().rename(hidden, output / file.path)
        except FileNotFoundError:
            if not taken and not (output / file.path).exists():
                raise


def remove_hidden(output: Path) -> None:
    """Delete what uncommitted batches left.

    To be called after `show` of the last commit.
    """
    for pattern in (f"results/*/.*{_HIDDEN}*", f"{DEAD_LETTER_FOLDER}/.*{_HIDDEN}*"):
        for path in sorted(output.glob(pattern)):
            disk().delete(path)


def result_folder(query: str) -> str:
    """Where a query's results lie, relative to the output directory.

    >>> result_folder("late_departures")
    'results/late_departures'
    """
    quoted = quote(query, safe=" ()[]+,;=@!$&")
    # Neither hidden nor another folder than one below.
    return f"results/{'%2E' + quoted[1:] if quoted.startswith('.') else quoted}"


def read_file(path: Path) -> pl.DataFrame:
    """The rows of a result file, UUIDs as the texts that they are in the runtime."""
    rows = pq.read_table(path, partitioning=None)
    for place, field in enumerate(rows.schema):
        if field.type == pa.uuid():
            rows = rows.set_column(place, field.name, uuid_texts(rows.column(place)))
    return pl.DataFrame(pl.from_arrow(rows))


def result_schema(query: GraphQuery) -> pa.Schema:
    """The columns of a query's result files."""
    kinds = {ColumnType.INTERVAL: pa.duration("us"), ColumnType.UUID: pa.uuid()}
    fields = [(name, kinds.get(kind) or ARROW_TYPES[kind]) for name, kind in query.outputs]
    marks = [("_late", pa.bool_())] if query.marks_late else []
    marks += [(DELETED, pa.bool_())] if query.key is not None else []
    return pa.schema([*fields, *marks])


def write_schemas(output: Path, queries: Iterable[GraphQuery], dead_letters: pa.Schema) -> None:
    """Write an empty file with the columns into every folder, so each can be read."""
    for query in queries:
        _write_schema(output / result_folder(query.name), result_schema(query))
    _write_schema(output / DEAD_LETTER_FOLDER, dead_letters)


def _write_schema(folder: Path, schema: pa.Schema) -> None:
    disk().make_folder(folder)
    target = folder / SCHEMA_FILE
    # One of an earlier release may have fewer columns. Types read back are not always those written.
    if not target.exists() or pq.read_schema(target).names != schema.names:
        unfinished = folder / f".{SCHEMA_FILE}{_HIDDEN}"
        with disk().create(unfinished) as file:
            pq.write_table(schema.empty_table(), file, store_schema=_layout(schema).arrow_only)
        # Half a file would be taken for one that is there.
        disk().flush([unfinished])
        disk().rename(unfinished, target)

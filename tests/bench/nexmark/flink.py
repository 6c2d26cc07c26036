"""Nexmark in Flink SQL: each query appends final rows, by windows where ours has them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import polars as pl

from tests.bench.flink.environment import FlinkJob
from tests.bench.nexmark.events import LATENESS_S
from tests.bench.nexmark.workload import FOLDER, connect, reference

LIMIT_S = 600.0
"""Of one job."""
_TYPES = {
    "BIGINT": "BIGINT",
    "VARCHAR": "STRING",
    "DOUBLE": "DOUBLE",
    "TIMESTAMP WITH TIME ZONE": "TIMESTAMP_LTZ(3)",
}
_COLUMNS: Mapping[pl.DataType, str] = {pl.Int64(): "BIGINT", pl.String(): "STRING"}
_OFFERED = (
    "CREATE VIEW offered AS SELECT a.*, b.auction, b.bidder, b.price, b.ms AS bid_ms, b.extra AS bid_extra "
    "FROM auction AS a, bid AS b WHERE a.id = b.auction AND b.ms <= a.expires_ms "
    "AND b.`dateTime` BETWEEN a.`dateTime` AND a.`dateTime` + INTERVAL '4' SECOND"
)
"""Bids for auctions that were open, as an interval join, which frees its state."""


class FlinkInput:
    """The events as CSV files, one for each parallel reader, in the order of their arrival."""

    def __init__(self, streams: Mapping[str, pl.DataFrame], folder: Path, readers: int, data: Path) -> None:
        """Writes FOLDER/STREAM/reader-N.csv, every N-th row in the same file.

        Args:
            streams: what `events.generate` made.
            folder: to be made.
            readers: Flink's parallelism.
            data: the same events for DuckDB, which says of which types the results are.
        """
        self._tuples = {name: rows.height for name, rows in streams.items()}
        self._tables = [_OFFERED]
        for name, rows in streams.items():
            plain = _plain(rows)
            (folder / name).mkdir(parents=True)
            for reader in range(readers):
                plain.gather_every(readers, reader).write_csv(
                    folder / name / f"reader-{reader}.csv", include_header=False
                )
            self._tables.insert(0, _table(name, plain, folder / name))
        self._data = data

    def job(self, queries: Sequence[str], results: Path | None) -> FlinkJob:
        """Queries as one job; results are thrown away or, if `results` is given, written to RESULTS/QUERY."""
        with connect(self._data) as connection:
            sinks = [
                _sink(name, map(str, connection.sql(reference(name)).types), results) for name in queries
            ]
        texts = {name: (FOLDER / "peers" / "flink" / f"{name}.sql").read_text() for name in queries}
        return FlinkJob(
            statements=(*self._tables, *sinks),
            inserts=tuple(f"INSERT INTO sink_{name} {text}" for name, text in texts.items()),
            tuples=sum(self._tuples.values()),
            results=results,
        )


def _plain(rows: pl.DataFrame) -> pl.DataFrame:
    """Moments as milliseconds since 1970, which is all that Flink's event times hold; `ms` is the event's."""
    moments = rows.select(pl.selectors.datetime()).columns
    names = {name: "ms" if name in ("dateTime", "at") else f"{name}_ms" for name in moments}
    return rows.drop("_arrival").with_columns(pl.col(moments).dt.epoch("ms")).rename(names)


def _table(name: str, plain: pl.DataFrame, folder: Path) -> str:
    columns = [f"`{column}` {_COLUMNS[kind]}" for column, kind in plain.schema.items()]
    columns += ["`dateTime` AS TO_TIMESTAMP_LTZ(ms, 3)"]
    if "expires_ms" in plain.columns:
        columns.append("expires AS TO_TIMESTAMP_LTZ(expires_ms, 3)")
    if name == "side_input":
        columns.append("PRIMARY KEY (`key`) NOT ENFORCED")
    late = "" if name == "side_input" else f" - INTERVAL '{LATENESS_S}' SECOND"
    return (
        f"CREATE TABLE {name} ({', '.join(columns)}, WATERMARK FOR `dateTime` AS `dateTime`{late}) "
        f"WITH ('connector' = 'filesystem', 'path' = '{folder}', 'format' = 'csv')"
    )


def _sink(name: str, types: Sequence[str], results: Path | None) -> str:
    columns = ", ".join(f"o{number} {_TYPES[kind]}" for number, kind in enumerate(types))
    where = (
        "'connector' = 'blackhole'"
        if results is None
        else f"'connector' = 'filesystem', 'path' = '{results / name}', 'format' = 'csv'"
    )
    return f"CREATE TABLE sink_{name} ({columns}) WITH ({where})"

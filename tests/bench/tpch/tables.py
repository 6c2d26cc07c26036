"""TPC-H's tables as streams: `tpchgen-cli` makes the rows, here they get an event time.

TPC-H has no event time, and the dissertation replays whole tables at once (section 7.3.1). Each
table's rows, in the generator's order, are spread evenly over the same hour, so that all streams
advance together and end together. The same scale factor always gives the same files.
"""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import polars as pl

SPAN = timedelta(hours=1)
"""Event time of each stream; also the planner's horizon for unbounded windows, so that it takes a
stream's whole table for stored."""
START = datetime(2024, 1, 1, tzinfo=UTC)
PREFIXES = {
    "region": "r",
    "nation": "n",
    "supplier": "s",
    "customer": "c",
    "part": "p",
    "partsupp": "ps",
    "orders": "o",
    "lineitem": "l",
}
"""What the names of a table's columns start with."""
FILES = 4
"""Per stream of more than a thousand rows."""
_SAMPLE_ROWS = 2000
_TYPES: dict[pl.DataType, str] = {
    pl.Int64(): "bigint",
    pl.Int32(): "int",
    pl.Float64(): "double",
    pl.String(): "string",
    pl.Date(): "date",
    pl.Datetime("us", "UTC"): "timestamp",
}


@dataclass(frozen=True, slots=True)
class Table:
    """One table, with its event time in column PREFIX_at."""

    name: str
    rows: pl.DataFrame

    @property
    def event_time(self) -> str:
        return f"{PREFIXES[self.name]}_at"

    @property
    def columns(self) -> tuple[tuple[str, str], ...]:
        """Name and type, as in streams.yaml."""
        return tuple((name, _TYPES[kind]) for name, kind in self.rows.schema.items())

    @property
    def tuples_per_second(self) -> float:
        """Of event time."""
        return self.rows.height / SPAN.total_seconds()

    def sample(self) -> pl.DataFrame:
        """At most 2000 rows drawn with a fixed seed: the generator's order follows the keys."""
        return self.rows.sample(min(_SAMPLE_ROWS, self.rows.height), seed=7)

    def write(self, data: Path) -> None:
        """Writes DATA/NAME/*.parquet."""
        folder = data / self.name
        folder.mkdir(parents=True)
        size = max(1000, -(-self.rows.height // FILES))
        for number, part in enumerate(self.rows.iter_slices(size)):
            part.write_parquet(folder / f"part-{number:03d}.parquet")


def generate(scratch: Path, scale_factor: float) -> tuple[Table, ...]:
    """All eight tables, in the order of their names' dependence.

    Args:
        scratch: where the generator may write its files.
        scale_factor: TPC-H's; 0.01 makes 86,805 rows altogether.
    Raises:
        RuntimeError: the generator failed, with what it said.
    """
    folder = scratch / f"tpch-{scale_factor:g}"
    command = [str(Path(sys.executable).with_name("tpchgen-cli")), "parquet", "--quiet"]
    options = ["--scale-factor", f"{scale_factor:g}", "--output-dir", str(folder)]
    done = subprocess.run([*command, *options], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"tpchgen-cli: exit code {done.returncode}: {done.stderr[-2000:]}")
    return tuple(Table(name, _timed(folder / f"{name}.parquet", PREFIXES[name])) for name in PREFIXES)


def _timed(file: Path, prefix: str) -> pl.DataFrame:
    rows = pl.read_parquet(file).with_columns(pl.selectors.decimal().cast(pl.Float64))
    spread = SPAN // timedelta(microseconds=1) * pl.int_range(pl.len(), dtype=pl.Int64) // rows.height
    time = (pl.lit(START).cast(pl.Datetime("us", "UTC")) + spread.cast(pl.Duration("us"))).alias(
        f"{prefix}_at"
    )
    return rows.select(time, pl.all())

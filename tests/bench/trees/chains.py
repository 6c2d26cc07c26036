"""Custom chain queries of dissertation section 5.5.1: relations of one size, joined by theta predicates.

A query is named by the selectivity of each of its joins, as custom-MMM. Its joins are bands, which no
partitioning can route, so that every probe goes to all tasks of a store, as in the dissertation's chapter 5.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from optimizer.workload import Workload, load_workload

START_US = int(datetime(2024, 1, 1, tzinfo=UTC).timestamp()) * 1_000_000
_FILES = 6


@dataclass(frozen=True, slots=True)
class Chain:
    """A query over streams s0, s1... that all have `rate` tuples per second and one window.

    >>> chain = Chain("LLLL", 10_000, 100, 1e-8)
    >>> chain.streams, chain.size
    (('s0', 's1', 's2', 's3', 's4'), 1000000)
    >>> round(chain.selectivity * 1e8, 3)
    1.0
    """

    name: str
    rate: int
    """Tuples per second of each stream."""
    window_s: int
    asked: float
    """The selectivity of each join, at least 1e-12."""

    @property
    def streams(self) -> tuple[str, ...]:
        return tuple(f"s{number}" for number in range(len(self.name) + 1))

    @property
    def size(self) -> int:
        """Tuples of a stream within the window: the size of a relation."""
        return self.rate * self.window_s

    @property
    def reach(self) -> int:
        """Values are joined if they are at most so far apart."""
        return 4

    @property
    def values(self) -> int:
        """Attributes are uniform over so many whole numbers."""
        return max(2 * self.reach + 1, round((2 * self.reach + 1) / self.asked))

    @property
    def selectivity(self) -> float:
        """The exact share of pairs that a join's band holds: less than `asked` by what its ends cut off."""
        reach, values = self.reach, self.values
        return (values * (2 * reach + 1) - reach * (reach + 1)) / values**2

    @property
    def joins(self) -> tuple[str, ...]:
        """The predicates, in order."""
        return tuple(
            f"abs({left}.b - {right}.a) <= {self.reach}"
            for left, right in zip(self.streams, self.streams[1:], strict=False)
        )

    def write_workload(self, folder: Path) -> Workload:
        """Writes FOLDER/streams.yaml, with the true statistics, and FOLDER/queries/chain.sql."""
        (folder / "queries").mkdir(parents=True)
        lines = ["streams:"]
        for stream in self.streams:
            lines += [f"  {stream}:", "    event_time: ts", f"    rate: {self.rate}"]
            lines += ["    columns: {ts: timestamp, id: bigint, a: bigint, b: bigint}"]
        lines.append("selectivities:")
        lines += [f'  - {{predicate: "{join}", value: {self.selectivity!r}}}' for join in self.joins]
        (folder / "streams.yaml").write_text("\n".join([*lines, ""]))
        sources = ", ".join(f"{stream} [RANGE {self.window_s} SECONDS]" for stream in self.streams)
        outputs = ", ".join(f"{stream}.id AS {stream}_id" for stream in self.streams)
        sql = f"SELECT {outputs}\nFROM {sources}\nWHERE {' AND '.join(self.joins)}\n"
        (folder / "queries" / "chain.sql").write_text(sql)
        return load_workload(folder)

    def write_data(self, folder: Path, seconds: int) -> None:
        """Writes FOLDER/STREAM/*.parquet: so many seconds of every stream at an even pace."""
        rows = self.rate * seconds
        for number, stream in enumerate(self.streams):
            chance = np.random.default_rng(number)
            ids = np.arange(rows, dtype=np.int64)
            table = pa.table(
                {
                    "ts": pa.array(START_US + ids * 1_000_000 // self.rate).cast(pa.timestamp("us", "UTC")),
                    "id": ids,
                    "a": chance.integers(0, self.values, rows, dtype=np.int64),
                    "b": chance.integers(0, self.values, rows, dtype=np.int64),
                }
            )
            (folder / stream).mkdir(parents=True)
            size = -(-rows // _FILES)
            for part in range(_FILES):
                pq.write_table(table.slice(part * size, size), folder / stream / f"part-{part:02d}.parquet")

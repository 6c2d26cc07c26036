"""Small workloads that differ in one thing each.

So every coefficient can be told from the others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from jobs.sources.files.stream_files import FileRange
from optimizer.physical.graph import PhysicalGraph
from optimizer.planner.plan import plan
from optimizer.planner.settings import Method
from optimizer.search.problem import Options
from optimizer.sql import parse_query
from optimizer.statistics import StatisticsProvider, statistics_of_workload
from optimizer.workload import read_streams

BATCH_S = 1.0
MEASURED = 10
"""Batches that are measured, once the windows are full."""
KEYS = 8
_START_US = int(datetime(2024, 1, 1, tzinfo=UTC).timestamp()) * 1_000_000


@dataclass(frozen=True, slots=True)
class Design:
    """A chain of streams, joined by `queries` queries on keys of their own."""

    name: str
    rows: int
    """Of the first stream in each batch."""
    others: float = 1.0
    """The other streams' rows for one of the first."""
    window_s: int = 3
    meets: float = 0.2
    """Tuples of another stream's window that a tuple has an equal key with."""
    queries: int = 1
    streams: int = 2
    text_bytes: int = 0
    """Of a text that the queries return; 0 for none."""
    method: Method = "flat"
    checked: bool = False
    """Whether the pairs have to fulfil a condition that few do."""
    tasks: int = 1
    single_copy: bool = False
    """Whether stores have one partitioning, so that most steps ask all tasks."""

    @property
    def domain(self) -> int:
        """Values of a key."""
        return max(2, round(self.rows / BATCH_S * self.window_s / self.meets))

    def plan(self) -> tuple[PhysicalGraph, StatisticsProvider]:
        """The plan that is measured, and what is so of the data."""
        catalog, selectivities = read_streams(self._streams(), self.name)
        known = statistics_of_workload(catalog, selectivities)
        queries = [parse_query(sql, f"q{number}", catalog) for number, sql in enumerate(self._texts())]
        options = Options(cost="messages", storage_weight=1e-3, single_copy=self.single_copy)
        return plan(queries, catalog, known, self.method, options, tasks=self.tasks).graph, known

    def _streams(self) -> str:
        keys = ", ".join(f"k{number}: bigint" for number in range(KEYS))
        text = ", text: string" if self.text_bytes else ""
        columns = f"{{at: timestamp, id: bigint, v: double, {keys}{text}}}"
        shares = dict.fromkeys(self._equalities(), 1 / self.domain)
        if self.streams == 1:
            shares = {f"s0.v < {(query + 1) / 1000}": (query + 1) / 1000 for query in range(self.queries)}
        shares |= dict.fromkeys(self._checks(), 0.005) if self.checked else {}
        lines = ["streams:"]
        for number in range(self.streams):
            lines.append(
                f"  s{number}: {{event_time: at, rate: {self._rows(number) / BATCH_S}, columns: {columns}}}"
            )
        lines.append("selectivities:")
        lines += [f'  - {{predicate: "{text}", value: {share!r}}}' for text, share in shares.items()]
        return "\n".join(lines)

    def _rows(self, number: int) -> int:
        return self.rows if number == 0 else max(1, round(self.rows * self.others))

    def _equalities(self) -> Iterator[str]:
        for query in range(self.queries):
            for number in range(1, self.streams):
                yield f"s{number - 1}.k{query} = s{number}.k{query}"

    def _checks(self) -> Iterator[str]:
        return (f"s{number - 1}.v + 0.9 < s{number}.v" for number in range(1, self.streams))

    def _texts(self) -> Iterator[str]:
        read = ", ".join(f"s{number} [RANGE {self.window_s} SECONDS]" for number in range(self.streams))
        each = self.streams - 1
        conditions = list(self._equalities())
        for query in range(self.queries):
            own = conditions[query * each : (query + 1) * each] + (
                list(self._checks()) if self.checked else []
            )
            outputs = [f"s{number}.id AS i{number}" for number in range(self.streams)]
            outputs += [f"s{number}.text AS t{number}" for number in range(self.streams) if self.text_bytes]
            if self.streams == 1:
                own = [f"s0.v < {(query + 1) / 1000}"]
            yield f"SELECT {', '.join(outputs)} FROM {read} WHERE {' AND '.join(own)}"

    @property
    def warm(self) -> int:
        """Batches until the windows are full."""
        return round(self.window_s / BATCH_S) + 1

    def write(self, folder: Path) -> list[list[FileRange]]:
        """Write the batches' files."""
        numbers = np.random.default_rng(1)
        batches = []
        for batch in range(self.warm + MEASURED):
            ranges = []
            for number in range(self.streams):
                path = folder / f"s{number}-{batch}.parquet"
                rows = self._rows(number)
                pq.write_table(self._table(numbers, batch, rows), path)
                ranges.append(FileRange(f"s{number}", str(path), 0, rows))
            batches.append(ranges)
        return batches

    def _table(self, numbers: np.random.Generator, batch: int, rows: int) -> pa.Table:
        span_us = int(BATCH_S * 1_000_000)
        times = _START_US + batch * span_us + np.sort(numbers.integers(0, span_us, rows))
        columns = {
            "at": pa.array(times).cast(pa.timestamp("us", "UTC")),
            "id": pa.array(batch * rows + np.arange(rows)),
            "v": pa.array(numbers.random(rows)),
        }
        for key in range(KEYS):
            columns[f"k{key}"] = pa.array(numbers.integers(0, self.domain, rows))
        if self.text_bytes:
            texts = [f"{one:x}".rjust(self.text_bytes, "x") for one in numbers.integers(0, 1 << 40, rows)]
            columns["text"] = pa.array(texts)
        return pa.table(columns)


_SMALL = Design("small", 200)
_LARGE = Design("large", 20_000)

DESIGNS: Sequence[Design] = (
    _SMALL,
    replace(_SMALL, name="reading", streams=1),
    replace(_SMALL, name="filters", streams=1, queries=8),
    replace(_SMALL, name="steps", queries=8),
    replace(_SMALL, name="steps that check", queries=8, checked=True),
    replace(_SMALL, name="steps of few that check", rows=100, queries=8, checked=True, meets=5.0),
    replace(_SMALL, name="stores", queries=8, method="individual"),
    replace(_SMALL, name="tasks", queries=4, tasks=4),
    replace(_SMALL, name="chain", streams=4),
    replace(_SMALL, name="results kept", streams=4, method="left-deep"),
    replace(_SMALL, name="more tasks", streams=3, tasks=8),
    replace(_SMALL, name="more results kept", streams=3, queries=4, method="left-deep"),
    replace(_SMALL, name="small, long windows", rows=400, window_s=20, queries=4),
    Design("middle", 3_000, queries=4),
    Design("middle, results", 3_000, queries=4, meets=3.0),
    Design("middle, chain", 3_000, streams=4),
    Design("middle, results kept", 3_000, streams=4, method="left-deep"),
    Design("middle, many results kept", 3_000, streams=3, meets=2.0, method="left-deep"),
    Design("middle, chain of many", 3_000, streams=3, meets=2.0),
    Design("middle, texts", 3_000, streams=3, meets=2.0, text_bytes=100),
    Design("middle, texts kept", 3_000, streams=3, meets=2.0, text_bytes=100, method="left-deep"),
    Design("middle, long windows", 3_000, window_s=20),
    Design("middle, long windows, steps", 3_000, window_s=20, queries=4),
    replace(_LARGE, name="large, reading", streams=1),
    replace(_LARGE, name="large, reading texts", streams=1, text_bytes=100),
    _LARGE,
    replace(_LARGE, name="large, steps", queries=4),
    Design("large meets small", 40_000, others=0.01, queries=4),
    Design("large meets small, texts", 40_000, others=0.01, queries=4, text_bytes=100),
    replace(_LARGE, name="large, tasks", tasks=4, queries=2),
    replace(_LARGE, name="large, to all tasks", tasks=4, queries=4, single_copy=True),
    replace(_LARGE, name="large, texts to all tasks", tasks=4, queries=4, single_copy=True, text_bytes=100),
    replace(_LARGE, name="large, stores", queries=3, method="individual"),
    replace(_LARGE, name="large, texts", text_bytes=100),
    replace(_LARGE, name="large, results", meets=4.0),
    replace(_LARGE, name="large, pairs", meets=10.0, checked=True),
    replace(_LARGE, name="large, results with texts", meets=2.0, text_bytes=100),
    replace(_LARGE, name="large, results kept", streams=3, meets=0.5, method="left-deep"),
    replace(_LARGE, name="large, chain", streams=3, meets=0.5),
    replace(_LARGE, name="large, short windows", window_s=1),
    replace(_LARGE, name="large, long windows", window_s=12, meets=0.2),
)

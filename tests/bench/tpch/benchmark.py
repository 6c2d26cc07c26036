"""tpch5, tpch10: TPC-H queries answered by one topology, against one topology for each of them."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.bench.measurement import Measured, Report
from tests.bench.tpch.queries import JoinQuery, Projection, connect, draw
from tests.bench.tpch.tables import SPAN, Table, generate
from tests.bench.tpch.workload import write_workload

_ROOT = Path(__file__).resolve().parents[3]
SEED = 16
"""Of the seeds from 1 on the first whose queries overlap about as much as the dissertation's: see `_NOTE`."""
SCALE_FACTOR = 0.05
"""TPC-H's, at the benchmark's scale 1: 433,000 rows."""
BATCHES = 8
"""Into how many batches the rows of all tables are cut."""
PROJECTION: Projection = "all"
_JUDGES = (0.001, 0.002)
"""Scale factors at which drawn queries are judged, whatever the benchmark's scale."""
_NOTE = (
    "Random trees of joins over 3 to 5 tables, drawn as in the dissertation's section 7.3.1, no filters, "
    "every window unbounded, SELECT * as its joined tuples have. What can be shared at all depends on what "
    "is drawn: over seeds 1 to 20 the tables read together are 1.2 to 4.3 (five queries) and 2.4 to 7.0 "
    f"(ten) times smaller in bytes than those read query by query. Seed {SEED} is the first with at least "
    "3.1 and 5.3, the dissertation's own figures."
)


class WrongAnswer(AssertionError):
    """A query has another number of results than in DuckDB: the figures mean nothing."""


@dataclass(frozen=True, slots=True)
class _Place:
    """Where the data are and how each run reads them."""

    data: Path
    batch_rows: int


def run(name: str, count: int, scratch: Path, scale: float, repeat: int, command: str) -> Report:
    """Measures `count` queries together, by two methods and unshared in one topology, and alone.

    Args:
        name: of the benchmark.
        scratch: an empty folder for data, state and results.
        scale: of the number of tuples.
        repeat: runs of each subject.
        command: what the person typed, for the report.
    Raises:
        WrongAnswer: a number of results differs from DuckDB's.
    """
    tables = generate(scratch, SCALE_FACTOR * scale)
    small, twice = (generate(scratch, factor) for factor in _JUDGES)
    queries = draw(count, SEED, small, twice)
    with connect(tables) as connection:
        expected = {query.name: query.count(connection) for query in queries}
    for table in tables:
        table.write(scratch / "data")
    rows = sum(table.rows.height for table in tables)
    place = _Place(scratch / "data", max(1, -(-rows // BATCHES)))
    write_workload(scratch / "all", tables, queries, PROJECTION)
    for query in queries:
        write_workload(scratch / query.name, tables, [query], PROJECTION)
    together = {
        "one topology, ilp": ([scratch / "all"], "ilp"),
        "one topology, greedy": ([scratch / "all"], "greedy"),
        "one topology, nothing shared": ([scratch / "all"], "individual"),
        f"{count} topologies, one query each": ([scratch / query.name for query in queries], "ilp"),
    }
    measured = []
    for subject, (workloads, method) in together.items():
        runs = []
        for attempt in range(repeat):
            out = scratch / f"out-{len(measured)}-{attempt}"
            runs.append(_replays(workloads, place, out, method, expected, _tuples(tables, queries)))
            state, seconds = runs[-1]["peak_state_bytes"] / 1e6, runs[-1]["seconds"]
            sys.stderr.write(f"{name}: {subject}, run {attempt + 1}: {state:,.1f} MB, {seconds:,.1f} s\n")
        typed = f"python -m jobs replay WORKLOAD --data DATA --out OUT --batch-rows {place.batch_rows}"
        measured.append(Measured(subject, f"{typed} --method {method}", tuple(runs)))
    return Report(name, scale, command, tuple(measured), _notes(measured, rows, expected))


def _replays(
    workloads: Sequence[Path],
    place: _Place,
    out: Path,
    method: str,
    expected: dict[str, int],
    tuples: int,
) -> dict[str, float]:
    """One replay after the other; each has the whole machine. State bytes and seconds are added up."""
    results: dict[str, int] = {}
    state, seconds = 0, 0.0
    for workload in workloads:
        options = ["--data", str(place.data), "--out", str(out / workload.name), "--method", method]
        words = ["-m", "jobs", "replay", str(workload), *options, "--batch-rows", str(place.batch_rows)]
        done = subprocess.run(
            [sys.executable, *words], cwd=_ROOT, capture_output=True, text=True, check=False
        )
        if done.returncode != 0:
            raise RuntimeError(f"{workload.name}: exit code {done.returncode}\n{done.stderr[-3000:]}")
        metrics = json.loads((out / workload.name / "metrics.json").read_text())
        results |= metrics["results"]
        state += metrics["peak_state_bytes"]
        seconds += metrics["seconds"]
    if results != expected:
        raise WrongAnswer(f"{method}: {results}, DuckDB has {expected}")
    return {
        "seconds": seconds,
        "tuples_per_second": tuples / seconds,
        "results": sum(results.values()),
        "peak_state_bytes": state,
    }


def _tuples(tables: Sequence[Table], queries: Sequence[JoinQuery]) -> int:
    """Tuples that the queries have to see; a stream that several read counts once, however it is run."""
    return sum(table.rows.height for table in tables if any(table.name in q.tables for q in queries))


def _notes(measured: Sequence[Measured], rows: int, expected: dict[str, int]) -> tuple[str, ...]:
    alone = measured[-1]
    ratios = []
    for subject in measured[:-1]:
        memory, seconds = (
            (alone.median(figure) or 0.0) / (subject.median(figure) or 1.0)
            for figure in ("peak_state_bytes", "seconds")
        )
        ratios.append(f"{subject.subject}: state 1/{memory:.2f}, throughput {seconds:.2f}x")
    counts = ", ".join(f"{name} {count:,}" for name, count in expected.items())
    return (
        f"{_NOTE} All {rows:,} rows, spread over {SPAN.total_seconds():,.0f} s of event time in {BATCHES} "
        f"batches. Results, equal to DuckDB's: {counts}.",
        f"Against {alone.subject}, one after the other: {'; '.join(ratios)}. Tuples/s: tuples of all "
        "streams read by any query, each once, by the seconds of all runs.",
    )

"""tpch-peers: five TPC-H queries as one topology, as five Spark jobs and as five Flink jobs."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from jobs.session import processors
from tests.bench.flink.environment import flink_version, run_job
from tests.bench.joins.replays import command as replay_command
from tests.bench.joins.replays import replay
from tests.bench.measurement import Measured, Report, describe_machine
from tests.bench.subjects import Subject, WrongAnswer, measure_in_turns, python
from tests.bench.tpch.benchmark import BATCHES, PROJECTION, SCALE_FACTOR, SEED
from tests.bench.tpch.queries import JoinQuery, connect, draw
from tests.bench.tpch.tables import Table, generate
from tests.bench.tpch.workload import write_workload
from tests.bench.tpch_peers import flink
from tests.bench.tpch_peers.chain import chain

QUERIES = 5
LIMIT_S = 400.0
"""Of one job."""
_JUDGES = (0.001, 0.002)
"""Scale factors at which drawn queries are judged: the same queries as in tpch5."""


def run(scratch: Path, scale: float, repeat: int, command: str) -> Report:
    """Each engine answers the same queries over the same rows; jobs of one engine run one after the other.

    Args:
        scratch: an empty folder for data, state and results.
        scale: of the number of tuples.
        repeat: runs of each engine.
        command: what the person typed, for the report.
    """
    tables = generate(scratch, SCALE_FACTOR * scale)
    small, twice = (generate(scratch, factor) for factor in _JUDGES)
    queries = draw(QUERIES, SEED, small, twice)
    with connect(tables) as connection:
        expected = {query.name: query.count(connection) for query in queries}
    for table in tables:
        table.write(scratch / "data")
    flink.write_csv(tables, scratch / "csv", processors())
    write_workload(scratch / "workload", tables, queries, PROJECTION)
    used = [table for table in tables if any(table.name in query.tables for query in queries)]
    tuples = sum(table.rows.height for table in used)
    batch_rows = -(-sum(table.rows.height for table in tables) // BATCHES)

    def millrace(out: Path) -> Mapping[str, float]:
        return replay(scratch / "workload", scratch / "data", out, batch_rows)

    def spark(query: JoinQuery, out: Path) -> Mapping[str, float]:
        first, steps = chain(query)
        job = {
            "name": query.name,
            "data": str(scratch / "data"),
            "first": first,
            "steps": [asdict(step) for step in steps],
        }
        out.mkdir(parents=True)
        (out / "job.json").write_text(json.dumps(job))
        return python(["-m", "tests.bench.tpch_peers.native", str(out / "job.json"), str(out)], LIMIT_S)

    total = sum(expected.values())
    each = _Each(queries, expected, tuples)
    flinks = _Flink(tables, scratch / "csv")
    subjects = [
        Subject("Millrace, one topology", replay_command(batch_rows), millrace, total),
        Subject(
            f"Spark's chained joins, {QUERIES} jobs",
            "python -m tests.bench.tpch_peers.native JOB.json OUT",
            lambda out: each.run(spark, out),
            total,
        ),
        Subject(
            f"Flink SQL, {QUERIES} jobs",
            "python -m tests.bench --only tpch-peers",
            lambda out: each.run(flinks, out),
            total,
        ),
    ]
    measured = measure_in_turns("tpch-peers", subjects, scratch, repeat)
    machine = describe_machine() | {"flink": flink_version()}
    return Report("tpch-peers", scale, command, measured, _notes(tuples, expected, measured), machine)


class _Each:
    """One job per query, one after the other."""

    def __init__(self, queries: Sequence[JoinQuery], expected: Mapping[str, int], tuples: int) -> None:
        self._queries, self._expected, self._tuples = queries, expected, tuples

    def run(self, job: Callable[[JoinQuery, Path], Mapping[str, float]], out: Path) -> dict[str, float]:
        """Seconds and results of all jobs together."""
        seconds, results = 0.0, 0
        for query in self._queries:
            said = job(query, out / query.name)
            if said["results"] != self._expected[query.name]:
                raise WrongAnswer(
                    f"{query.name}: {said['results']} results, DuckDB has {self._expected[query.name]}"
                )
            seconds += said["seconds"]
            results += int(said["results"])
        return {"seconds": seconds, "tuples_per_second": self._tuples / seconds, "results": results}


class _Flink:
    """Timed runs throw results away; a query's first run is one more, which counts."""

    def __init__(self, tables: Sequence[Table], data: Path) -> None:
        self._tables, self._data = tables, data
        self._results: dict[str, int] = {}

    def __call__(self, query: JoinQuery, out: Path) -> Mapping[str, float]:
        if query.name not in self._results:
            counting = flink.job(query, self._tables, self._data, out)
            self._results[query.name] = run_job(counting, processors(), LIMIT_S)["results"]
        timed = flink.job(query, self._tables, self._data, None)
        seconds = run_job(timed, processors(), LIMIT_S)["seconds"]
        return {"seconds": seconds, "results": self._results[query.name]}


def _notes(tuples: int, expected: Mapping[str, int], measured: Sequence[Measured]) -> tuple[str, ...]:
    counts = ", ".join(f"{name} {count:,}" for name, count in expected.items())
    ours, *peers = [(m.subject, m.median("seconds")) for m in measured]
    ratios = [f"1/{seconds / ours[1]:.1f} of {name}" for name, seconds in peers if seconds and ours[1]]
    return (
        f"The queries of tpch5 over {tuples:,} rows. Results, equal to DuckDB's: {counts}. Jobs of a peer "
        "run one after the other, each with the whole machine; their seconds are added up, without the "
        "start of their processes. Flink throws its results away; a further run that is not timed counts.",
        *([f"Millrace's seconds: {', '.join(ratios)}."] if ratios else []),
    )

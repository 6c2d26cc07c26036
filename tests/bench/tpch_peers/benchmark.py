"""tpch-peers: five TPC-H queries as one topology, as five Spark jobs and as five Flink jobs."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from math import ceil
from pathlib import Path

from jobs.spark.session import processors
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
SPARK_SHARE = 0.25
FLINK_SHARE = 0.5
"""The beginning of all streams that a peer is given, enough for jobs that take tens of seconds together."""
LIMIT_S = 400.0
"""Of one job."""
_JUDGES = (0.001, 0.002)
"""Scale factors at which drawn queries are judged: the same queries as in tpch5."""


def run(scratch: Path, scale: float, repeat: int, command: str) -> Report:
    """Each engine answers the same queries over the same streams, peers over the beginning of them; jobs of
    one engine run one after the other.

    Args:
        scratch: an empty folder for data, state and results.
        scale: of the number of tuples.
        repeat: runs of each engine.
        command: what the person typed, for the report.
    """
    tables = generate(scratch, SCALE_FACTOR * scale)
    small, twice = (generate(scratch, factor) for factor in _JUDGES)
    queries = draw(QUERIES, SEED, small, twice)
    whole, some, more = (_Part(tables, queries, share) for share in (1.0, SPARK_SHARE, FLINK_SHARE))
    write_workload(scratch / "workload", tables, queries, PROJECTION)
    for part, folder in ((whole, "data"), (some, "spark")):
        for table in part.tables:
            table.write(scratch / folder)
    flink.write_csv(more.tables, scratch / "csv", processors())
    batch_rows = -(-sum(table.rows.height for table in tables) // BATCHES)
    flinks = _FlinkJobs(more, scratch / "csv")
    subjects = [
        Subject(
            "Millrace, one topology",
            replay_command(batch_rows),
            lambda out: _millrace(whole, replay(scratch / "workload", scratch / "data", out, batch_rows)),
            sum(whole.expected.values()),
        ),
        Subject(
            f"Spark's chained joins, {QUERIES} jobs",
            "python -m tests.bench.tpch_peers.native JOB.json OUT",
            lambda out: _one_by_one(some, lambda query: _spark(query, scratch / "spark", out / query.name)),
            sum(some.expected.values()),
        ),
        Subject(f"Flink SQL, {QUERIES} jobs", command, flinks, sum(more.expected.values())),
    ]
    measured = measure_in_turns("tpch-peers", subjects, scratch, repeat)
    machine = describe_machine() | {"flink": flink_version()}
    notes = _notes((whole, some, more), flinks, measured)
    return Report("tpch-peers", scale, command, measured, notes, machine)


class _Part:
    """The streams up to some moment, and what the queries answer by then."""

    def __init__(self, tables: Sequence[Table], queries: Sequence[JoinQuery], share: float) -> None:
        # A table's rows are spread evenly over event time, in their order.
        self.tables = [replace(t, rows=t.rows.head(ceil(t.rows.height * share))) for t in tables]
        self.queries = queries
        with connect(self.tables) as connection:
            self.expected = {query.name: query.count(connection) for query in queries}
        read = {name for query in queries for name in query.tables}
        self.tuples = sum(table.rows.height for table in self.tables if table.name in read)


def _millrace(part: _Part, said: Mapping[str, float]) -> dict[str, float]:
    figures = ("seconds", "results", "peak_state_bytes")
    return {name: said[name] for name in figures} | {"tuples_per_second": part.tuples / said["seconds"]}


def _one_by_one(part: _Part, job: Callable[[JoinQuery], Mapping[str, float]]) -> dict[str, float]:
    """Seconds and results of one job for each query, together."""
    seconds, results = 0.0, 0
    for query in part.queries:
        said = job(query)
        seconds += said["seconds"]
        _check(part, query, int(said["results"]))
        results += int(said["results"])
    return {"seconds": seconds, "tuples_per_second": part.tuples / seconds, "results": results}


def _check(part: _Part, query: JoinQuery, found: int) -> None:
    if found != part.expected[query.name]:
        raise WrongAnswer(f"{query.name}: {found} results, DuckDB has {part.expected[query.name]}")


def _spark(query: JoinQuery, data: Path, out: Path) -> Mapping[str, float]:
    first, steps = chain(query)
    job = {
        "name": query.name,
        "data": str(data),
        "first": first,
        "steps": [asdict(step) for step in steps],
    }
    out.mkdir(parents=True)
    (out / "job.json").write_text(json.dumps(job))
    return python(["-m", "tests.bench.tpch_peers.native", str(out / "job.json"), str(out)], LIMIT_S)


class _FlinkJobs:
    """Timed jobs throw results away. Before the first of them the better setting is found, by the query with
    most results, and with it one more job, of all queries, writes results to be counted."""

    def __init__(self, part: _Part, data: Path) -> None:
        self._part, self._data = part, data
        self.settings: dict[str, float] = {}
        """Seconds of one job by what it was run with, the better one first; empty before the first run."""

    def __call__(self, out: Path) -> dict[str, float]:
        if not self.settings:
            hardest = max(self._part.queries, key=lambda query: self._part.expected[query.name])
            seconds = {setting: self._seconds(hardest, setting) for setting in flink.SETTINGS}
            self.settings = dict(sorted(seconds.items(), key=lambda item: item[1]))
            self._count(out / "results")
        better = next(iter(self.settings))
        return _one_by_one(
            self._part,
            lambda query: {
                "seconds": self._seconds(query, better),
                "results": self._part.expected[query.name],
            },
        )

    def _seconds(self, query: JoinQuery, setting: str) -> float:
        timed = flink.job([query], self._part.tables, self._data, setting, None)
        return float(run_job(timed, processors(), LIMIT_S)["seconds"])

    def _count(self, results: Path) -> None:
        better = next(iter(self.settings))
        counting = flink.job(self._part.queries, self._part.tables, self._data, better, results)
        run_job(counting, processors(), LIMIT_S)
        for query in self._part.queries:
            _check(self._part, query, flink.count(results, query))


def _notes(
    parts: tuple[_Part, _Part, _Part], flinks: _FlinkJobs, measured: Sequence[Measured]
) -> tuple[str, ...]:
    whole, spark, flinked = parts
    counts = ", ".join(f"{name} {count:,}" for name, count in whole.expected.items())
    ours, *peers = [(m.subject, m.speed) for m in measured]
    ratios = [f"{ours[1] / speed:.1f} times {name}" for name, speed in peers if speed and ours[1]]
    tried = ", ".join(f"{name} {seconds:.1f} s" for name, seconds in flinks.settings.items())
    return (
        f"The queries of tpch5, seed {SEED}, over {whole.tuples:,} rows. Results, equal to DuckDB's: "
        f"{counts}. Jobs of a peer run one after the other, each with the whole machine; their seconds "
        "are added up, without the start of their processes. Tuples/s: tuples of all streams read by any "
        "query, each once.",
        "Peers are given the beginning of the streams, and have as many results as DuckDB over it: Spark "
        f"{spark.tuples:,} rows with {sum(spark.expected.values()):,} results, Flink {flinked.tuples:,} with "
        f"{sum(flinked.expected.values()):,}. Their state is smaller, and a tuple has fewer results, which "
        "is to their advantage.",
        "Millrace and Spark write all results as Parquet; Flink throws them away, a further job that is not "
        "timed counts. Its tables declare TPC-H's primary keys, and chains begin with the smallest table, as "
        f"its documentation advises; the better of two settings, by the query with most results: {tried}.",
        *([f"Millrace's tuples/s: {'; '.join(ratios)}."] if ratios else []),
    )

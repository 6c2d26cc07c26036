"""nexmark: all queries as one topology and each alone, and through Flink SQL and Spark."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from jobs.spark.session import processors
from tests.bench.flink.environment import flink_version, run_job
from tests.bench.joins.replays import command as replay_command
from tests.bench.joins.replays import replay
from tests.bench.measurement import Measured, Report, describe_machine
from tests.bench.nexmark import flink, spark
from tests.bench.nexmark.events import generate, write
from tests.bench.nexmark.workload import FOLDER, QUERIES, check, counts
from tests.bench.subjects import Subject, measure_in_turns, python

EVENTS = 1_000_000
BATCHES = 10
"""Of a replay, and of each of Spark's queries."""
SEED = 1
PARQUET = "read_parquet('{}/*.parquet')"
CSV = "read_csv('{}/*', header = false, all_varchar = true)"


class Benchmark:
    """The events, their workload directories, and what DuckDB says; every engine has all processors."""

    def __init__(self, scratch: Path, events: int) -> None:
        streams = generate(events, SEED)
        self.data, self.scratch = scratch / "data", scratch
        self.tuples = sum(rows.height for rows in streams.values())
        self.batch_rows = -(-self.tuples // BATCHES)
        write(self.data, streams)
        spark.write_batches(streams, scratch / "spark", BATCHES)
        self.flink = flink.FlinkInput(streams, scratch / "csv", processors(), self.data)
        self.expected = counts(self.data)
        for name in QUERIES:
            folder = scratch / "alone" / name
            (folder / "queries").mkdir(parents=True)
            shutil.copy(FOLDER / "streams.yaml", folder)
            shutil.copy(FOLDER / "queries" / f"{name}.sql", folder / "queries")
        self._flink_found: int | None = None

    def together(self, out: Path) -> dict[str, float]:
        """Ours, all queries as one topology."""
        said = replay(FOLDER, self.data, out, self.batch_rows)
        kept = {name: said[name] for name in ("seconds", "peak_state_bytes")}
        return kept | self._figures(said["seconds"], self._check(out / "results", PARQUET))

    def alone(self, out: Path) -> dict[str, float]:
        """Ours, one replay after the other."""
        seconds = {}
        (out / "results").mkdir(parents=True)
        for name in QUERIES:
            said = replay(self.scratch / "alone" / name, self.data, out / name, self.batch_rows)
            seconds[name] = said["seconds"]
            (out / name / "results" / name).rename(out / "results" / name)
        return self._sum(seconds, self._check(out / "results", PARQUET))

    def flink_together(self, out: Path) -> dict[str, float]:
        """Flink, all queries as one job."""
        results = self._flink_results(out)
        seconds = float(run_job(self.flink.job(QUERIES, None), processors(), flink.LIMIT_S)["seconds"])
        return self._figures(seconds, results)

    def flink_alone(self, out: Path) -> dict[str, float]:
        """Flink, one job after the other."""
        results = self._flink_results(out)
        jobs = {name: self.flink.job([name], None) for name in QUERIES}
        said = {name: run_job(job, processors(), flink.LIMIT_S) for name, job in jobs.items()}
        return self._sum({name: float(one["seconds"]) for name, one in said.items()}, results)

    def spark_alone(self, out: Path) -> dict[str, float]:
        """Spark, one query after the other in one process."""
        words = ["-m", "tests.bench.nexmark.spark", str(self.scratch / "spark"), str(out), *QUERIES]
        seconds = python(words, flink.LIMIT_S * len(QUERIES))
        return self._sum(seconds, self._check(out, PARQUET))

    def _figures(self, seconds: float, results: int) -> dict[str, float]:
        return {"seconds": seconds, "tuples_per_second": self.tuples / seconds, "results": results}

    def _sum(self, seconds: Mapping[str, float], results: int) -> dict[str, float]:
        own = {f"{name}_seconds": one for name, one in seconds.items()}
        return self._figures(sum(seconds.values()), results) | own

    def _flink_results(self, out: Path) -> int:
        """Timed jobs throw results away; before the first of them one job of all queries writes them."""
        if self._flink_found is None:
            run_job(self.flink.job(QUERIES, out / "results"), processors(), flink.LIMIT_S)
            self._flink_found = self._check(out / "results", CSV)
        return self._flink_found

    def _check(self, results: Path, read: str) -> int:
        """The number of results of all queries, each row compared with DuckDB's."""
        return sum(check(name, self.data, read.format(results / name)) for name in QUERIES)


def run(scratch: Path, scale: float, repeat: int, command: str) -> Report:
    """Runs every subject `repeat` times.

    Args:
        scratch: an empty folder for data, state and results.
        scale: of the number of events.
        repeat: runs of each; the medians count.
        command: what the person typed, for the report.
    """
    made = Benchmark(scratch, round(EVENTS * scale))
    expected = sum(made.expected.values())
    subject = partial(Subject, expected=expected)
    runs: Sequence[tuple[str, str, Callable[[Path], Mapping[str, float]]]] = (
        ("Millrace, one topology", replay_command(made.batch_rows), made.together),
        ("Millrace, each query alone", replay_command(made.batch_rows), made.alone),
        ("Flink SQL, one job", command, made.flink_together),
        ("Flink SQL, each query alone", command, made.flink_alone),
        (
            "Spark, each query alone",
            "python -m tests.bench.nexmark.spark DATA OUT QUERY...",
            made.spark_alone,
        ),
    )
    measured = measure_in_turns("nexmark", [subject(*one) for one in runs], scratch, repeat)
    machine = describe_machine() | {"flink": flink_version()}
    return Report("nexmark", scale, command, measured, _notes(made, measured), machine)


def _notes(made: Benchmark, measured: Sequence[Measured]) -> tuple[str, ...]:
    alone = [m for m in measured if m.median(f"{QUERIES[0]}_seconds") is not None]
    header = ["", "results", *(m.subject for m in alone)]
    rows = [
        [name, f"{made.expected[name]:,}", *(f"{m.median(f'{name}_seconds') or 0:.1f}" for m in alone)]
        for name in QUERIES
    ]
    table = [header, ["---", *("---:" for _ in header[1:])], *rows]
    return (
        f"{len(QUERIES)} queries of Nexmark over {made.tuples:,} tuples, out of order within four seconds "
        "(docs/guide/nexmark.md says what was adapted). Every row of every engine's results was compared "
        "with DuckDB's. Seconds of queries alone are added up, without the start of processes. Tuples/s: "
        "tuples of all streams by the seconds.",
        "Millrace and Spark write results as Parquet; Flink throws them away, a further job that is not "
        f"timed writes what is compared. Spark reads the events in {BATCHES} batches, as Millrace does, and "
        "has one more tuple at the end of each stream, without which its last windows would never end; its "
        "distinct counts are sizes of sets, since it refuses COUNT(DISTINCT) of a stream. Flink has windows "
        "that give each result once, and a temporal join for q13.",
        "Seconds of each query alone:",
        "\n".join("| " + " | ".join(row) + " |" for row in table),
    )

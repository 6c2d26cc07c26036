"""tpch5, tpch10: TPC-H queries answered by one topology, against one topology for each of them."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from tests.bench.measurement import Measured, Report
from tests.bench.tpch.queries import JoinQuery, Projection, connect, draw
from tests.bench.tpch.tables import SPAN, Table, generate
from tests.bench.tpch.workload import write_workload

_ROOT = Path(__file__).resolve().parents[3]
SEED = 1
"""The first one: nothing was chosen. How other seeds would do is part of the report, see `Overlap`."""
LIKE_THE_DISSERTATION = 16
"""Of the seeds from 1 on the first whose queries overlap at least as much as the dissertation's seem to:
sharing saves it 3.1 (five queries) and 5.3 times (ten) the memory."""
SEEDS = range(1, 21)
SCALE_FACTOR = 0.05
"""TPC-H's, at the benchmark's scale 1: 433,000 rows."""
BATCHES = 8
"""Into how many batches the rows of all tables are cut."""
MOST_COMPARED = 5
"""Queries of which plans by other methods are measured too: a run of more takes minutes."""
PROJECTION: Projection = "all"
_JUDGES = (0.001, 0.002)
"""Scale factors at which drawn queries are judged, whatever the benchmark's scale."""


class WrongAnswer(AssertionError):
    """A query has another number of results than in DuckDB: the figures mean nothing."""


@dataclass(frozen=True, slots=True)
class _Place:
    """Where the data are and how each run reads them."""

    data: Path
    batch_rows: int


@dataclass(frozen=True, slots=True)
class Overlap:
    """How much queries that are drawn have in common, by seed.

    It is the bytes of the tables that each query reads, added up, over the bytes of the tables that
    any reads. A topology that stores every tuple once, and nothing else, saves just that: no
    topology that answers these queries can save more.
    """

    by_seed: dict[int, float]

    @staticmethod
    def of(count: int, tables: Sequence[Table], small: Sequence[Table], twice: Sequence[Table]) -> Overlap:
        """Of `count` queries drawn with each of `SEEDS`."""
        size = {table.name: table.rows.to_arrow().nbytes for table in tables}
        found = {}
        for seed in SEEDS:
            queries = draw(count, seed, small, twice)
            apart = sum(size[name] for query in queries for name in query.tables)
            together = sum(size[name] for name in {name for query in queries for name in query.tables})
            found[seed] = apart / together
        return Overlap(found)

    def __str__(self) -> str:
        ratios = sorted(self.by_seed.values())
        return (
            f"over seeds {min(self.by_seed)} to {max(self.by_seed)} it is {ratios[0]:.1f} to "
            f"{ratios[-1]:.1f}, median {median(ratios):.1f}; seed {SEED} has {self.by_seed[SEED]:.2f}, "
            f"seed {LIKE_THE_DISSERTATION} {self.by_seed[LIKE_THE_DISSERTATION]:.2f}"
        )


def run(name: str, count: int, scratch: Path, scale: float, repeat: int, command: str) -> Report:
    """Measures `count` queries together and alone, and those of another seed, which have more in common; of
    up to five queries the first also together by another method, and unshared in one topology.

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
    for table in tables:
        table.write(scratch / "data")
    rows = sum(table.rows.height for table in tables)
    place = _Place(scratch / "data", max(1, -(-rows // BATCHES)))
    measured: list[Measured] = []
    answers = []
    others = ("greedy", "individual") if count <= MOST_COMPARED else ()
    for seed, methods in ((SEED, ("ilp", *others)), (LIKE_THE_DISSERTATION, ("ilp",))):
        queries = draw(count, seed, small, twice)
        with connect(tables) as connection:
            expected = {query.name: query.count(connection) for query in queries}
        folder = scratch / f"seed-{seed}"
        write_workload(folder / "all", tables, queries, PROJECTION)
        for query in queries:
            write_workload(folder / query.name, tables, [query], PROJECTION)
        together = {f"seed {seed}: one topology, {_CALLED[m]}": ([folder / "all"], m) for m in methods}
        alone = f"seed {seed}: {count} topologies, one query each"
        together[alone] = ([folder / query.name for query in queries], "ilp")
        for subject, (workloads, method) in together.items():
            runs = []
            for attempt in range(repeat):
                out = scratch / f"out-{len(measured)}-{attempt}"
                runs.append(_replays(workloads, place, out, method, expected, _tuples(tables, queries)))
                state, seconds = runs[-1]["peak_state_bytes"] / 1e6, runs[-1]["seconds"]
                sys.stderr.write(f"{name}: {subject}, run {attempt + 1}: {state:,.1f} MB, {seconds:,.1f} s\n")
                shutil.rmtree(out)
            typed = f"python -m jobs replay WORKLOAD --data DATA --out OUT --batch-rows {place.batch_rows}"
            measured.append(Measured(subject, f"{typed} --method {method}", tuple(runs)))
        answers.append((seed, expected, measured[-len(together) :]))
    overlap = Overlap.of(count, tables, small, twice)
    return Report(name, scale, command, tuple(measured), _notes(answers, rows, overlap))


_CALLED = {"ilp": "ilp", "greedy": "greedy", "individual": "nothing shared"}


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
    state, on_disk, seconds = 0, 0, 0.0
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
        held = (out / workload.name / "checkpoint" / "state").rglob("*.arrow")
        on_disk += sum(file.stat().st_size for file in held)
        seconds += metrics["seconds"]
    if results != expected:
        raise WrongAnswer(f"{method}: {results}, DuckDB has {expected}")
    return {
        "seconds": seconds,
        "tuples_per_second": tuples / seconds,
        "results": sum(results.values()),
        "peak_state_bytes": state,
        # Nothing is evicted, so the end is the peak; what the files take must be what the stores say.
        "disk_state_bytes": on_disk,
    }


def _tuples(tables: Sequence[Table], queries: Sequence[JoinQuery]) -> int:
    """Tuples that the queries have to see; a stream that several read counts once, however it is run."""
    return sum(table.rows.height for table in tables if any(table.name in q.tables for q in queries))


def _notes(
    answers: Sequence[tuple[int, dict[str, int], Sequence[Measured]]], rows: int, overlap: Overlap
) -> tuple[str, ...]:
    notes = [
        "Random trees of joins over 3 to 5 tables, drawn as in the dissertation's section 7.3.1, no filters, "
        "every window unbounded, SELECT * as its joined tuples have. What can be saved is what the queries "
        "drawn have in common: the bytes of the tables that each reads, added up, over those of the tables "
        f"that any reads; {overlap}. A plan that stores every tuple once saves that, and none can save more.",
        f"All {rows:,} rows, spread over {SPAN.total_seconds():,.0f} s of event time in {BATCHES} batches. "
        "Tuples/s: tuples of all streams read by any query, each once, by the seconds of all runs.",
    ]
    for seed, expected, measured in answers:
        *shared, alone = measured
        ratios = []
        for subject in shared:
            memory, disk, seconds = (
                (alone.median(figure) or 0.0) / (subject.median(figure) or 1.0)
                for figure in ("peak_state_bytes", "disk_state_bytes", "seconds")
            )
            ratios.append(
                f"{subject.subject.partition(', ')[2]}: state 1/{memory:.2f} (files 1/{disk:.2f}), "
                f"throughput {seconds:.2f}x"
            )
        counts = ", ".join(f"{name} {count:,}" for name, count in expected.items())
        notes.append(
            f"Seed {seed}, one topology against one for each query, one after the other: "
            f"{'; '.join(ratios)}. Results, equal to DuckDB's: {counts}."
        )
    return tuple(notes)

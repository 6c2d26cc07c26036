"""latency: a running topology under a steady load, then without any.

A real Redis, a producer that offers tuples at the pace of their event times, a 3-way linear join, results
written as Parquet. Latency is from the arrival at Redis of the tuple that completes a result to the
commit that makes the result visible.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds

from jobs.driver.batch_totals import weighted_quantiles
from jobs.protocol import BatchCompleted
from optimizer.planner.plan import plan
from optimizer.workload import load_workload
from tests.bench.joins import data
from tests.bench.joins.reference import count_with_duckdb
from tests.bench.joins.shapes import SHAPES, resized
from tests.bench.latency.topology import TRIGGER_MS, RunningTopology
from tests.bench.measurement import Report
from tests.bench.subjects import Subject, measure_in_turns

TUPLES_PER_SECOND = 20_000
"""Offered, over all streams."""
WINDOW_S = 30
SECONDS = 60
IDLE_S = 20.0
_SETTLE_S = 3.0
"""Between the last batch and the idle measurement."""
_PACE_S = 0.05
"""Between two entries of the producer."""


def run(scratch: Path, scale: float, repeat: int, command: str) -> Report:
    """Measures latency, idle processor time and memory.

    Args:
        scratch: an empty folder for data, state and results.
        scale: of the tuples per second.
        repeat: runs; the medians count.
        command: what the person typed, for the report.
    """
    rate = max(1, round(TUPLES_PER_SECOND * scale / 3))
    made = resized(SHAPES["linear3"], rate, WINDOW_S, SECONDS)
    data.write(scratch / "data", made, 1.0)
    data.write_workload(scratch / "workload", made)
    workload = load_workload(scratch / "workload")
    document = plan(list(workload.queries), workload.catalog, tasks=2).graph.to_json()
    (scratch / "plan.json").write_text(document)
    streams = {
        stream.name: ds.dataset(sorted((scratch / "data" / stream.name).iterdir())).to_table()
        for stream in made.streams
    }

    tuples = sum(table.num_rows for table in streams.values())

    def measure(out: Path) -> Mapping[str, float]:
        out.mkdir()
        with RunningTopology(out, scratch / "plan.json") as topology:
            topology.wait_until(topology.has_started, "the start")
            began = time.time()
            _produce(topology, streams, made.rate)
            topology.wait_until(lambda: topology.accepted() == tuples, f"{tuples} tuples accepted")
            memory = topology.pss_bytes()
            batches = topology.batches()
            time.sleep(_SETTLE_S)
            before = topology.cpu_s()
            time.sleep(IDLE_S)
            idle = (topology.cpu_s() - before) / IDLE_S
        steady = [batch for batch in batches if batch.at.timestamp() >= began + WINDOW_S]
        return _figures(batches, steady, made.name) | {"pss_bytes": memory, "idle_cores": idle}

    subject = Subject(
        f"Millrace, {made.rate * len(made.streams):,} tuples/s offered",
        f"python -m tests.bench --only latency --scale {scale:g}",
        measure,
        count_with_duckdb(made, scratch / "data"),
    )
    measured = measure_in_turns("latency", [subject], scratch, repeat)
    return Report("latency", scale, command, measured, _NOTES)


def _produce(topology: RunningTopology, streams: Mapping[str, pa.Table], rate: int) -> None:
    """Offers all tuples at `rate` tuples per second and stream."""
    began, sent, rows = time.monotonic(), 0, max(table.num_rows for table in streams.values())
    while sent < rows:
        due = min(rows, int((time.monotonic() - began) * rate))
        if due > sent:
            for name, table in streams.items():
                topology.send(name, table.slice(sent, due - sent))
            sent = due
        time.sleep(_PACE_S)


def _figures(
    batches: Sequence[BatchCompleted], steady: Sequence[BatchCompleted], query: str
) -> dict[str, float]:
    """Latencies of the steady batches, weighted by results; state and results of all."""
    answered = [batch.queries[query] for batch in steady if batch.queries[query].results]
    weights = np.array([float(metrics.results) for metrics in answered])
    p50, p99 = (
        weighted_quantiles(np.array(values, dtype=float), weights, (at,))[0]
        for at, values in (
            (0.5, [metrics.latency_ms_p50 for metrics in answered]),
            (0.99, [metrics.latency_ms_p99 for metrics in answered]),
        )
    )
    seconds = (steady[-1].at - steady[0].at).total_seconds()
    return {
        "latency_ms_p50": p50,
        "latency_ms_p99": p99,
        "steady_tuples_per_second": sum(batch.tuples_in for batch in steady[1:]) / seconds,
        "batches": len(steady),
        "results": sum(batch.queries[query].results for batch in batches),
        "state_bytes": sum(store.bytes for store in batches[-1].stores.values()),
    }


_NOTES = (
    f"`python -m jobs run` with a trigger of {TRIGGER_MS} ms under a real Redis; the tuples of linear3 "
    f"arrive at the pace of their event times for {SECONDS} s, windows of {WINDOW_S} s. As many results "
    "as DuckDB. Latencies are those of the batches after one window.",
    "*p50* is the median over results of their batch's median latency, from the arrival of the completing "
    "tuple at Redis to the commit; *p99*: 99 % of the results are of batches whose own 99th percentile is "
    "at most this. *Idle* is the processor time of all processes of the topology (driver, Java, Python "
    f"workers) in {IDLE_S:.0f} s without tuples. *Memory* is their proportional set size when the last tuple "
    "was accepted, *state* the bytes of the live runs then.",
)

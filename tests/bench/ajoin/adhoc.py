"""Queries that come, and go, while tuples arrive: how long a request takes, what it does to results, and how
many tuples the topology takes in meanwhile and afterwards."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from jobs.metrics import weighted_quantiles
from jobs.protocol import BatchCompleted, PlanSwitched
from optimizer.plan import Plan, plan
from optimizer.statistics import statistics_of_workload
from optimizer.workload import Workload
from tests.bench.ajoin import workload
from tests.bench.ajoin.workload import Template
from tests.bench.latency.topology import RunningTopology
from tests.bench.subjects import Subject

RATE = 200
"""Tuples per second and stream."""
TRIGGER_MS = 500
LIFE_S = 5.0
"""Of a query in the second scenario."""
CHANGING_S = 20.0
"""In the second scenario, how long queries come."""
BURST_S = 40
"""Event time of the tuples that are offered at once after the last change."""
_PACE_S = 0.05
_TASKS = 2


@dataclass(frozen=True, slots=True)
class Case:
    """Requests at a steady pace.

    In the first scenario (SC1) queries come until `parallel` of them run, and stay; in the second (SC2)
    each one goes after `LIFE_S`, and they come for `CHANGING_S`.
    """

    template: Template
    per_second: int
    parallel: int
    leaving: bool = False
    afresh: bool = False
    """True plans every set of queries from nothing, as if no plan were in use."""
    coming_s: float = CHANGING_S
    """In the second scenario, how long queries come."""

    @property
    def name(self) -> str:
        scenario = "SC2" if self.leaving else "SC1"
        pace = f"{self.per_second}/s, {self.parallel} parallel"
        return f"{scenario}, {self.template.ways}-way, {pace}{', from nothing' if self.afresh else ''}"

    @property
    def queries(self) -> int:
        return max(2, round(self.per_second * self.coming_s)) if self.leaving else self.parallel

    def scaled(self, scale: float) -> Case:
        """The case with so many times as many queries, at the same pace.

        >>> Case(Template(3, 0.5), per_second=5, parallel=100).scaled(0.1).queries
        10
        """
        parallel = self.parallel if self.leaving else max(2, round(self.parallel * scale))
        return replace(self, parallel=parallel, coming_s=self.coming_s * scale)

    def wanted(self, elapsed_s: float) -> tuple[range, bool]:
        """The queries that should run so long after the first request, and whether that will change.

        >>> Case(Template(2, 0.5), per_second=5, parallel=100).wanted(1.0)
        (range(0, 6), True)
        """
        come = min(self.queries, int(elapsed_s * self.per_second) + 1)
        gone = 0
        if self.leaving:
            # The last one stays, so that results go on while the end is measured.
            gone = min(self.queries - 1, max(0, int((elapsed_s - LIFE_S) * self.per_second) + 1))
        return range(gone, come), come < self.queries or (self.leaving and gone < self.queries - 1)


@dataclass(frozen=True, slots=True)
class _Request:
    """A query that is to come or to go, by the number of the first plan that heeds it."""

    plan: int
    asked_at: float
    """Unix seconds."""


def subject(case: Case) -> Subject:
    """A topology that starts with one query of the case and is asked for the others."""

    def measure(out: Path) -> Mapping[str, float]:
        out.mkdir()
        streams, drawn = case.template.streams, case.template.draw(case.queries)
        known = workload.write_workload(out / "workload", streams, drawn, RATE)
        planner = _Planner(known, case.afresh)
        (out / "plan.json").write_text(planner.plan(range(1)).graph.to_json())
        with RunningTopology(out, out / "plan.json", TRIGGER_MS) as topology:
            topology.wait_until(topology.has_started, "the start")
            with _produced(topology, streams) as offered:
                topology.wait_until(lambda: topology.accepted() > 0, "the first tuples")
                requests, plans = _ask(case, planner, topology)
                topology.wait_until(lambda: _switched(topology, plans), f"a switch to plan {plans}")
            topology.wait_until(lambda: topology.has_read(offered.last), "an end of the tuples that waited")
            read = len(topology.events())
            for stream in streams:
                offered.send(topology, stream, RATE * BURST_S)
            topology.wait_until(lambda: topology.has_read(offered.last), "an end of the burst")
            before, after = topology.events()[:read], topology.events()[read:]
        switches = [event for event in before if isinstance(event, PlanSwitched)]
        began, ended = requests[0].asked_at, switches[-1].at.timestamp()
        batches = [event for event in before if isinstance(event, BatchCompleted)]
        changing = [batch for batch in batches if began <= batch.at.timestamp() <= ended]
        burst = [event for event in after if isinstance(event, BatchCompleted)]
        p50, p95 = np.quantile(_deployed_after_s(requests, switches), (0.5, 0.95))
        return {
            "tuples_per_second": sum(b.tuples_in for b in burst) / sum(b.seconds for b in burst),
            "deployed_s_p50": float(p50),
            "deployed_s_p95": float(p95),
            **_latencies(changing),
            "changing_tuples_per_second": sum(b.tuples_in for b in changing) / (ended - began),
            "busy": sum(b.seconds for b in changing) / (ended - began),
            "switches": len(switches),
            "planning_s": planner.seconds,
        }

    return Subject(case.name, "python -m tests.bench --only ajoin-adhoc", measure)


class _Planner:
    """Plans one set after the other, each from the one before, as the product's workers do."""

    def __init__(self, known: Workload, afresh: bool) -> None:
        self._afresh = afresh
        self._known = known
        self._queries = sorted(known.queries, key=lambda query: query.name)
        self._statistics = statistics_of_workload(known.catalog, known.selectivities)
        self._last: Plan | None = None
        self.seconds = 0.0

    def plan(self, numbers: Iterable[int]) -> Plan:
        began = time.monotonic()
        self._last = plan(
            [self._queries[number] for number in numbers],
            self._known.catalog,
            self._statistics,
            method="greedy",
            retain="everything",
            tasks=_TASKS,
            running=None if self._last is None or self._afresh else self._last.running,
        )
        self.seconds += time.monotonic() - began
        return self._last


def _ask(case: Case, planner: _Planner, topology: RunningTopology) -> tuple[list[_Request], int]:
    """Requests every query at its time; the newest set is planned whenever the planner is free."""
    began, have = time.time(), range(1)
    requests: list[_Request] = []
    plans, changing = 0, True
    while changing:
        wanted, changing = case.wanted(time.time() - began)
        if wanted == have:
            time.sleep(_PACE_S)
            continue
        plans += 1
        come = [began + number / case.per_second for number in wanted if number >= have.stop]
        gone = [began + LIFE_S + number / case.per_second for number in range(have.start, wanted.start)]
        requests += [_Request(plans, at) for at in (*come, *gone)]
        have = wanted
        topology.deploy(str(plans), planner.plan(wanted).graph)
    return requests, plans


def _switched(topology: RunningTopology, number: int) -> bool:
    events = topology.events()
    return any(isinstance(event, PlanSwitched) and event.plan_id == str(number) for event in events)


def _deployed_after_s(requests: Sequence[_Request], switches: Sequence[PlanSwitched]) -> list[float]:
    """For each request, until a plan that heeds it was in force; plans that were overtaken never are."""
    at = {int(switch.plan_id): switch.at.timestamp() for switch in switches}
    return [at[min(plan for plan in at if plan >= r.plan)] - r.asked_at for r in requests]


def _latencies(batches: Sequence[BatchCompleted]) -> dict[str, float]:
    """Over all results of the batches, each with its batch's own p50 or p99; nothing without results."""
    answered = [metrics for batch in batches for metrics in batch.queries.values() if metrics.results]
    if not answered:
        return {}
    weights = np.array([float(metrics.results) for metrics in answered])
    p50, p99 = (
        float(weighted_quantiles(np.array(each, dtype=float), weights, (share,))[0])
        for share, each in (
            (0.5, [metrics.latency_ms_p50 for metrics in answered]),
            (0.99, [metrics.latency_ms_p99 for metrics in answered]),
        )
    )
    return {"latency_ms_p50": p50, "latency_ms_p99": p99}


class _Offered:
    """What was sent of each stream."""

    def __init__(self, streams: Sequence[str]) -> None:
        self.rows = dict.fromkeys(streams, 0)
        self.last: dict[str, str] = {}
        """The last entry's id."""

    def send(self, topology: RunningTopology, stream: str, rows: int) -> None:
        """So many further tuples, in one entry."""
        if rows:
            table = workload.table(stream, self.rows[stream], rows, RATE)
            self.last[stream] = topology.send(stream, table)
            self.rows[stream] += rows


@contextmanager
def _produced(topology: RunningTopology, streams: Sequence[str]) -> Iterator[_Offered]:
    """Offers `RATE` tuples per second of each stream inside the block; yields what there was."""
    offered = _Offered(streams)
    ending = threading.Event()

    def produce() -> None:
        began = time.monotonic()
        while not ending.wait(_PACE_S):
            due = int((time.monotonic() - began) * RATE)
            for stream in streams:
                offered.send(topology, stream, due - offered.rows[stream])

    producer = threading.Thread(target=produce, name="producer")
    producer.start()
    try:
        yield offered
    finally:
        ending.set()
        producer.join()

"""Queries that come, and go, while tuples arrive: how long a request takes, what it does to results, and how
many tuples the topology takes in meanwhile and afterwards."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

from jobs.driver.batch_totals import weighted_quantiles
from jobs.protocol import BatchCompleted, PlanSwitched
from optimizer.planner.plan import Plan, plan
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
"""In the second scenario, how long queries come before the pressing begins; then they come on."""
PRESSED_S = 8.0
"""How long there is more to do than can be done."""
BLOCK_S = 20
"""Event time of the tuples that are offered at once while the topology is pressed."""
_PACE_S = 0.05
_TASKS = 2


@dataclass(frozen=True, slots=True)
class Case:
    """Requests at a steady pace.

    In the first scenario (SC1) queries come until `parallel` of them run, and stay; in the second (SC2)
    each one goes after `LIFE_S`, and they come until the measurement ends.
    """

    template: Template
    per_second: int
    parallel: int
    leaving: bool = False
    afresh: bool = False
    """True plans every set of queries from nothing, as if no plan were in use."""
    coming_s: float = CHANGING_S
    """In the second scenario, how long queries come before the pressing begins."""

    @property
    def name(self) -> str:
        scenario = "SC2" if self.leaving else "SC1"
        pace = f"{self.per_second}/s, {self.parallel} parallel"
        return f"{scenario}, {self.template.ways}-way, {pace}{', from nothing' if self.afresh else ''}"

    @property
    def queries(self) -> int:
        """Enough for twice as long as the pressing is meant to last."""
        coming_s = self.coming_s + 2 * PRESSED_S
        return max(2, round(self.per_second * coming_s)) if self.leaving else self.parallel

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
            gone = min(come - 1, max(0, int((elapsed_s - LIFE_S) * self.per_second) + 1))
        return range(gone, come), come < self.queries


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
        ending = threading.Event()
        with (
            RunningTopology(out, out / "plan.json", TRIGGER_MS) as topology,
            ThreadPoolExecutor(1) as pool,
            ExitStack() as stack,
        ):
            # Whatever happens, nobody asks on.
            stack.callback(ending.set)
            topology.wait_until(topology.has_started, "the start")
            with _produced(topology, streams) as offered:
                topology.wait_until(lambda: topology.accepted() > 0, "the first tuples")
                began = time.time()
                asking = pool.submit(_ask, case, planner, topology, began, ending)
                wait([asking], case.coming_s if case.leaving else None)
                if not case.leaving:
                    _wait_for_last(topology, asking.result())
                ended = time.time()
            pressed = _pressed(topology, streams, offered)
            ending.set()
            requests = asking.result()
            _wait_for_last(topology, requests)
            events = topology.events()
        switches = [event for event in events if isinstance(event, PlanSwitched)]
        batches = [event for event in events if isinstance(event, BatchCompleted)]
        changing = [batch for batch in batches if began <= batch.at.timestamp() <= ended]
        deployed = _deployed_after_s([r for r in requests if r.asked_at <= ended], switches)
        p50, p95 = np.quantile(deployed, (0.5, 0.95))
        return {
            "tuples_per_second": sum(b.tuples_in for b in pressed) / sum(b.seconds for b in pressed),
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


def _ask(
    case: Case, planner: _Planner, topology: RunningTopology, began: float, ending: threading.Event
) -> list[_Request]:
    """Requests every query at its time, until there is no other or it shall end; the newest set is planned
    whenever the planner is free."""
    have = range(1)
    requests: list[_Request] = []
    changing = True
    while changing and not ending.is_set():
        wanted, changing = case.wanted(time.time() - began)
        if wanted == have:
            time.sleep(_PACE_S)
            continue
        plan = requests[-1].plan + 1 if requests else 1
        come = [began + number / case.per_second for number in wanted if number >= have.stop]
        gone = [began + LIFE_S + number / case.per_second for number in range(have.start, wanted.start)]
        requests += [_Request(plan, at) for at in (*come, *gone)]
        have = wanted
        topology.deploy(str(plan), planner.plan(wanted).graph)
    return requests


def _pressed(topology: RunningTopology, streams: Sequence[str], offered: _Offered) -> list[BatchCompleted]:
    """The batches, one at least, that began while there was more to do than could be done: with every
    batch that ends, the next block of tuples is offered at once."""
    began = time.time()
    found: list[BatchCompleted] = []
    while not found or time.time() - began < PRESSED_S:
        ended = len(topology.batches())
        for stream in streams:
            offered.send(topology, stream, RATE * BLOCK_S)
        topology.wait_until(partial(_has_ended, topology, ended), "another batch")
        found = [batch for batch in topology.batches() if batch.at.timestamp() - batch.seconds >= began]
    return found


def _has_ended(topology: RunningTopology, batches: int) -> bool:
    """True once more than so many batches have ended."""
    return len(topology.batches()) > batches


def _wait_for_last(topology: RunningTopology, requests: Sequence[_Request]) -> None:
    """Until the plan that heeds all requests is in force."""
    last = str(requests[-1].plan)

    def switched() -> bool:
        return any(isinstance(e, PlanSwitched) and e.plan_id == last for e in topology.events())

    topology.wait_until(switched, f"a switch to plan {last}")


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

"""What sharing is worth: twenty queries in one topology, by similarity, groups and ways, part by part."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from optimizer.estimate import estimate
from optimizer.formulate.model import Retain, conditions_of
from optimizer.lower.to_graph import to_graph
from optimizer.physical.graph import PhysicalGraph
from optimizer.physical.rules import ProbeRule
from optimizer.physical.validate import validate
from optimizer.planner.context import PlanningContext
from optimizer.planner.plan import plan
from optimizer.search.problem import Options
from optimizer.statistics import statistics_of_workload
from optimizer.workload import Workload
from tests.bench.ajoin import workload
from tests.bench.ajoin.workload import Template
from tests.bench.joins.replays import command, replay
from tests.bench.subjects import Subject

QUERIES = 20
RATE = 500
"""Tuples per second of event time and stream: one match per tuple, neighbour and second before selections."""
SECONDS = 30
BATCHES = 10
TASKS = 2
USUAL = Template(ways=3, similarity=0.5)
SIMILARITIES = (0.0, 0.5, 1.0)
GROUPS = (1, 2, 4)
WAYS = (2, 3, 4, 5)
_HORIZON_S = 3600.0


@dataclass(frozen=True, slots=True)
class Way:
    """How queries are planned, and planned again."""

    name: str
    method: str = "ilp"
    options: Options = field(default_factory=Options)
    grouped: bool = True
    """False keeps queries apart whose filters or windows differ."""
    retain: Retain = "needed"
    informed: bool = True
    """False leaves every selectivity to be guessed."""
    adaptive: bool = False
    """True lets the replay plan by itself, and again from what it learns."""


ALL = Way("everything")
WITHOUT = (
    Way("no sharing between queries", method="individual"),
    Way("no grouping: filters and windows apart", grouped=False),
    Way("no joint order: each query's best", method="flat"),
    Way("no materialized results", options=Options(mirs=False)),
    Way("no narrow stores: whole tuples", retain="everything"),
    Way("guessed selectivities, learnt", retain="everything", informed=False, adaptive=True),
    Way("guessed selectivities, not learnt", retain="everything", informed=False),
)


def subject(scratch: Path, template: Template, way: Way, scale: float) -> Subject:
    """A replay of `QUERIES` queries of a template under a plan made in some way."""
    name = template_name(template) if way == ALL else way.name
    place = scratch / "".join(c if c.isalnum() else "-" for c in name)
    rows = max(workload.FILES, round(RATE * SECONDS * scale))
    streams, drawn = template.streams, template.draw(QUERIES)
    known = workload.write_workload(place / "workload", streams, drawn, RATE, told=way.informed)
    statistics = statistics_of_workload(known.catalog, known.selectivities)
    read = sorted({source.stream for query in known.queries for source in query.inputs})
    workload.write_data(place / "data", read, rows, RATE)
    batch = -(-rows * len(read) // BATCHES)
    planning: dict[str, float] = {}
    if way.adaptive:
        shown = ["--parallelism", str(TASKS), "--adaptive", "--epoch-batches", "2"]
        options = shown
    else:
        began = time.monotonic()
        (place / "plan.json").write_text(planned(known, way).to_json())
        planning["planning_s"] = time.monotonic() - began
        shown, options = ["--plan", "PLAN"], ["--plan", str(place / "plan.json")]

    def measure(out: Path) -> Mapping[str, float]:
        figures = replay(place / "workload", place / "data", out, batch, options)
        speed = figures.get("steady_tuples_per_second") or figures["tuples_per_second"]
        graph = PhysicalGraph.from_json((out / "plan.json").read_bytes(), "plan.json")
        probes = sum(isinstance(rule, ProbeRule) for rule in graph.rules)
        sent = {"estimated_sent": estimate(graph, statistics).probe} if way.informed else {}
        # Per tuple, more similar queries would look dearer: they read fewer streams.
        work = {"ms_per_event_s": 1e3 * RATE * len(read) / speed, "probe_steps": probes}
        return figures | planning | sent | work

    expected = workload.count_results(place / "data", read, known)
    return Subject(name, command(batch, shown), measure, expected)


def template_name(template: Template) -> str:
    """What the subject with everything is called.

    >>> template_name(Template(3, 0.5))
    '3-way, 50 % similar, 1 group'
    """
    groups = "1 group" if template.groups == 1 else f"{template.groups} groups"
    return f"{template.ways}-way, {100 * template.similarity:.0f} % similar, {groups}"


def planned(known: Workload, way: Way) -> PhysicalGraph:
    """The workload's queries planned in some way, from what its streams.yaml says."""
    statistics = statistics_of_workload(known.catalog, known.selectivities)
    if way.grouped:
        made = plan(
            known.queries, known.catalog, statistics, way.method, way.options, way.retain, tasks=TASKS
        )
        return made.graph
    context = PlanningContext(
        known.catalog, statistics, way.method, way.options, way.retain, TASKS, _HORIZON_S
    )
    forest, _ = context.solve(known.queries)
    graph = to_graph(forest, method=way.method)
    validate(graph, {terms.query.name: conditions_of(terms) for terms in forest.translation.queries})
    return graph

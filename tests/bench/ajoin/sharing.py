"""What sharing is worth: twenty queries in one topology, by similarity, groups and ways, part by part."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from optimizer.plan import plan
from optimizer.problem import Options
from optimizer.statistics import statistics_of_workload
from tests.bench.ajoin import workload
from tests.bench.ajoin.workload import Template
from tests.bench.joins.replays import command, replay
from tests.bench.subjects import Subject

QUERIES = 20
RATE = 500
"""Tuples per second of event time and stream: one match per tuple, neighbour and second before selections."""
SECONDS = 60
BATCHES = 10
TASKS = 2
USUAL = Template(ways=3, similarity=0.5)
SIMILARITIES = (0.0, 0.25, 0.5, 0.75, 1.0)
GROUPS = (1, 2, 4)
WAYS = (2, 3, 4, 5)


@dataclass(frozen=True, slots=True)
class Way:
    """How queries are planned."""

    name: str
    method: str = "ilp"
    options: Options = field(default_factory=Options)


ALL = Way("everything")
WITHOUT = (
    Way("no sharing between queries", method="individual"),
    Way("no joint order: each query's best", method="flat"),
    Way("no materialized results", options=Options(mirs=False)),
    Way("one partitioning per store", options=Options(single_copy=True)),
)


def subject(scratch: Path, template: Template, way: Way, scale: float) -> Subject:
    """A replay of `QUERIES` queries of a template under a plan made in some way."""
    name = f"{template.ways}-way, {template.similarity:.0%} similar, {template.groups} group(s), {way.name}"
    place = scratch / f"{template.ways}-{template.similarity:g}-{template.groups}-{way.method}-{way.name[:6]}"
    rows = max(workload.FILES, round(RATE * SECONDS * scale))
    streams = template.streams
    known = workload.write_workload(place / "workload", streams, template.draw(QUERIES), RATE)
    read = sorted({source.stream for query in known.queries for source in query.inputs})
    workload.write_data(place / "data", read, rows, RATE)
    statistics = statistics_of_workload(known.catalog, known.selectivities)
    found = plan(known.queries, known.catalog, statistics, way.method, way.options, tasks=TASKS)
    (place / "plan.json").write_text(found.graph.to_json())
    batch = -(-rows * len(read) // BATCHES)
    options = ["--plan", str(place / "plan.json")]

    def measure(out: Path) -> Mapping[str, float]:
        figures = replay(place / "workload", place / "data", out, batch, options)
        speed = figures.get("steady_tuples_per_second") or figures["tuples_per_second"]
        probes = sum(rule.kind == "probe" for rule in found.graph.rules)
        return figures | {"probe_steps": probes, "us_per_tuple": 1e6 / speed}

    expected = workload.count_results(place / "data", read, known)
    return Subject(name, command(batch, ["--plan", "PLAN"]), measure, expected)

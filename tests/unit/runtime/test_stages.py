"""Levels that need no meeting of the tasks between them are one stage."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import polars as pl
import pytest

from jobs.plan.index import index_of
from jobs.plan.stage_fusion import stages_of
from jobs.protocol.metrics import EdgeMetrics
from jobs.worker.task import BatchContext
from optimizer.algebra.types import ColumnType
from optimizer.logical.catalog import Catalog
from optimizer.logical.stream import Stream
from optimizer.physical.graph import PhysicalGraph
from optimizer.physical.rules import ProbeRule, StoreRule
from optimizer.planner.plan import plan
from optimizer.sql import parse_query
from tests.unit.runtime.in_process import Topology

COLUMNS = (("at", ColumnType.TIMESTAMP), ("k", ColumnType.BIGINT), ("j", ColumnType.BIGINT))
CLIQUE = "r.k = s.k AND s.k = t.k AND r.k = t.k"
CHAIN = "r.k = s.k AND s.j = t.j"
STAR_AND_ONE = "r.k = s.k AND r.k = t.k AND t.j = u.j"
CHANGING = "r.k = s.k AND s.j = t.j AND t.j = u.j"
LESS = "r.k = s.k AND s.j < t.j"


def graph(condition: str, method: str = "flat", tasks: int = 3) -> PhysicalGraph:
    catalog = Catalog(tuple(Stream(name, COLUMNS, "at", lateness=timedelta(0)) for name in "rstu"))
    names = [name for name in "rstu" if f"{name}." in condition]
    outputs = ", ".join(f"{name}.at AS {name}_at" for name in names)
    inputs = ", ".join(f"{name} [RANGE 9 SECONDS]" for name in names)
    query = parse_query(f"SELECT {outputs} FROM {inputs} WHERE {condition}", "q", catalog)
    return plan([query], catalog, method=method, tasks=tasks).graph


@pytest.mark.parametrize(
    ("condition", "tasks", "levels", "why"),
    [
        (CLIQUE, 3, ((1, 2),), "every hop is on one key"),
        (CHAIN, 3, ((1,), (2,)), "every second hop is by another key"),
        (CHAIN, 1, ((1, 2),), "there is nobody to meet"),
        (STAR_AND_ONE, 3, ((1, 2), (2, 3)), "u is met by another key, first or last"),
        (LESS, 3, ((1,), (2,)), "all tasks are asked"),
        (LESS, 1, ((1, 2),), "one task is all"),
    ],
)
def test_tasks_meet_where_tuples_leave_them(
    condition: str, tasks: int, levels: tuple[tuple[int, ...], ...], why: str
) -> None:
    made = graph(condition, tasks=tasks)
    assert index_of(made).stages.levels == levels, why


@pytest.mark.parametrize("method", ["flat", "left-deep", "tree", "ilp"])
@pytest.mark.parametrize("condition", [CLIQUE, CHAIN, STAR_AND_ONE, CHANGING, LESS])
def test_what_a_probe_looks_for_is_there(condition: str, method: str) -> None:
    made = graph(condition, method)
    index = index_of(made)
    into = {rule.id: index.edges[rule.edge] for rule in made.rules if isinstance(rule, ProbeRule)}
    for stages, staying in ((index.stages, index.staying), (stages_of(made, frozenset()), frozenset[str]())):
        at = stages.of_edge
        assert at.keys() == index.edges.keys()
        assert max(at.values()) == stages.count <= made.depth
        for edge in made.edges:
            assert edge.level in stages.levels[at[edge.id] - 1]
            assert at[edge.id] <= edge.level
            if edge.origin in into:
                apart = at[edge.id] - at[into[edge.origin].id]
                assert apart >= (0 if edge.id in staying else 1), edge
        for rule in made.rules:
            if isinstance(rule, ProbeRule):
                filled = [r.edge for r in made.rules if isinstance(r, StoreRule) and r.store == rule.store]
                assert filled
                assert max(at[edge] for edge in filled) <= at[rule.edge]
                assert max(index.edges[edge].level for edge in filled) <= index.edges[rule.edge].level


def tuples(batch: int, seed: int) -> pl.DataFrame:
    numbers = pl.Series(range(60)).hash(seed * 100 + batch)
    return pl.DataFrame(
        {
            "at": (numbers % 4 + 3 * batch).cast(pl.Int64) * 1_000_000,
            "k": (numbers // 8 % 30).cast(pl.Int64),
            "j": (numbers // 1024 % 20).cast(pl.Int64),
        }
    ).with_columns(pl.col("at").cast(pl.Datetime("us", "UTC")))


@pytest.mark.parametrize("method", ["flat", "left-deep"])
@pytest.mark.parametrize("condition", [CLIQUE, STAR_AND_ONE])
def test_stages_of_several_levels_find_and_count_the_same(
    condition: str, method: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = graph(condition, method)
    assert index_of(made).stages.count < stages_of(made, frozenset()).count
    once, often = (Topology(made, tmp_path / name) for name in ("once", "often"))
    for batch in range(4):
        tables = {name: tuples(batch, seed).to_arrow() for seed, name in enumerate("rstu")}
        tables = {stream.name: tables[stream.name] for stream in made.streams}
        counted = []
        for topology in (once, often):
            with monkeypatch.context() as patched:
                if topology is often:
                    patched.setattr(BatchContext, "stages", lambda _, graph: stages_of(graph, frozenset()))
                topology.feed(tables)
            done = topology.executor.reports
            counted.append(
                (
                    sorted((rule, n) for report in done for rule, n in report.rules.items()),
                    *(
                        sorted(
                            one for report in done for one in report.counts.of(EdgeMetrics, metric).items()
                        )
                        for metric in ("tuples", "bytes")
                    ),
                )
            )
        assert counted[0] == counted[1]
    answers = [topology.answers("q") for topology in (once, often)]
    assert answers[0].height > 100
    assert answers[0].sort(pl.all()).equals(answers[1].sort(pl.all()))

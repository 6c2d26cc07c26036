"""Stores that no equality can route are cut into time slices where that costs less than broadcasts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from optimizer.algebra.types import ColumnType
from optimizer.estimate import estimate
from optimizer.logical.catalog import Catalog
from optimizer.logical.stream import Stream
from optimizer.logical.window import UNBOUNDED
from optimizer.partitioning.slicing import busiest_share, slice_all, with_slices
from optimizer.physical.elements import InvalidGraph
from optimizer.physical.fanout import reach_us
from optimizer.physical.graph import GraphStore, PhysicalGraph, Slices
from optimizer.physical.rules import ProbeRule
from optimizer.physical.validate import validate
from optimizer.planner.plan import plan
from optimizer.search.problem import Options
from optimizer.sql import parse_query
from optimizer.statistics import DefaultStatistics, FixedStatistics, LayeredStatistics
from optimizer.udf.registry import FunctionRegistry, UserFunction
from tests.unit.udf.counting import NEAR

COLUMNS = (("at", ColumnType.TIMESTAMP), ("k", ColumnType.BIGINT), ("b", ColumnType.BIGINT))
WINDOWED = "r [RANGE 10 SECONDS], s [RANGE 10 SECONDS]"
BAND = f"SELECT r.b, s.b AS sb FROM {WINDOWED} WHERE r.b < s.b"
COSTLY = f"SELECT r.b, s.b AS sb FROM {WINDOWED} WHERE near(r.b, s.b)"
HASHED = f"SELECT r.b, s.b AS sb FROM {WINDOWED} WHERE r.k = s.k AND r.b < s.b"
FOR_EVER = "SELECT r.b, s.b AS sb FROM r, s WHERE r.b < s.b"
WIDE = "SELECT r.b, t.b AS tb FROM r [RANGE 1000 SECONDS], t [RANGE 1000 SECONDS] WHERE r.k = t.k"


def catalog(*functions: UserFunction) -> Catalog:
    return Catalog.of([Stream(name, COLUMNS, "at") for name in "rst"], FunctionRegistry(functions))


def known(rate: float) -> LayeredStatistics:
    return LayeredStatistics((FixedStatistics(dict.fromkeys("rst", rate)), DefaultStatistics()))


def planned(
    *texts: str,
    rate: float = 1.0,
    tasks: int = 16,
    batch_s: float = 0.0,
    functions: tuple[UserFunction, ...] = (),
) -> PhysicalGraph:
    streams = catalog(*functions)
    queries = [parse_query(text, f"q{n}", streams) for n, text in enumerate(texts)]
    return plan(queries, streams, known(rate), "flat", tasks=tasks, batch_s=batch_s).graph


def store_of(graph: PhysicalGraph, stream: str) -> GraphStore:
    return next(store for store in graph.stores if store.is_base and store.inputs[0].stream == stream)


def slices_of(graph: PhysicalGraph, stream: str = "s") -> int | None:
    """How many, or None."""
    partitioning = store_of(graph, stream).partitioning
    return partitioning.count if isinstance(partitioning, Slices) else None


def test_few_pairs_are_not_worth_a_broadcast() -> None:
    graph = planned(BAND)
    count = slices_of(graph)
    assert count is not None
    assert store_of(graph, "s").label == f"s[time/{count}]"
    assert {edge.kind for edge in graph.edges} == {"slices"}
    everything = planned(BAND, tasks=1)
    assert slices_of(everything) is None, "one task needs no slices"


def test_many_pairs_are_shared_out_by_a_broadcast() -> None:
    """While a batch is short, only the slices of the newest windows work."""
    assert slices_of(planned(BAND, rate=10_000.0)) is None
    assert slices_of(planned(COSTLY, rate=10.0, functions=(NEAR,))) is None


def test_a_long_batch_keeps_all_tasks_busy_with_wide_slices() -> None:
    cheap = replace(NEAR, cost_us=0.1)
    counts = [
        slices_of(planned(COSTLY, rate=10.0, batch_s=batch_s, functions=(cheap,)))
        for batch_s in (0.0, 10.0, 20.0, 50.0, 80.0, 150.0)
    ]
    # With a batch of one window half of the pairs are with a third of the slices at work.
    assert counts == [None, None, 4, 3, 2, 1]


def test_dearer_pairs_are_shared_by_more_tasks() -> None:
    """The dearest by all of them, evenly: that is what a broadcast gives."""
    counts = [
        slices_of(planned(COSTLY, rate=10.0, batch_s=35.0, functions=(replace(NEAR, cost_us=cost_us),)))
        for cost_us in (0.01, 0.1, 10.0)
    ]
    assert counts == [1, 3, None]


@pytest.mark.parametrize(
    ("width", "window", "batch", "tasks"),
    [
        (8.0, 8.0, 2.0, 4),
        (2.0, 8.0, 2.0, 4),
        (3.0, 8.0, 2.0, 4),
        (2.5, 10.0, 10.0, 16),
        (4.0, 8.0, 16.0, 4),
        (1.5, 8.0, 0.1, 3),
        (5.0, 0.1, 20.0, 3),
    ],
)
def test_the_busiest_tasks_share_is_that_of_counted_pairs(
    width: float, window: float, batch: float, tasks: int
) -> None:
    step = 0.05
    new = np.arange(0.0, batch, step)
    stored = np.arange(-window, batch, step)
    older = new[:, None] - stored
    pairs = ((older > -step / 2) & (older < window - step / 2)).sum(axis=0)
    shares = []
    for begin in np.linspace(0.0, width, 50, endpoint=False):
        task = np.floor((stored + step / 2 - begin) / width).astype(int) % tasks
        shares.append(np.bincount(task, pairs).max() / pairs.sum())
    assert busiest_share(width, window, batch, tasks) == pytest.approx(np.mean(shares), abs=0.02)


def test_the_busiest_task_of_one_has_everything_and_of_many_slices_an_even_share() -> None:
    assert busiest_share(3.0, 8.0, 2.0, 1) == pytest.approx(1.0)
    assert busiest_share(1.0, 0.0, 0.0, 4) == 1.0
    assert busiest_share(0.001, 8.0, 0.0, 4) == 0.25
    assert busiest_share(8.0 / 127, 8.0, 0.0, 4) == pytest.approx(0.25, rel=1 / 31)


@pytest.mark.parametrize(("text", "why"), [(HASHED, "an equality routes"), (FOR_EVER, "time has no end")])
def test_other_stores_stay_as_they_are(text: str, why: str) -> None:
    assert slices_of(planned(text)) is None, why


def test_a_store_that_some_probes_reach_by_key_is_not_sliced() -> None:
    """r is kept for 1000 s and partitioned for its join with t; its other probes are broadcast."""
    assert slices_of(planned(BAND, WIDE), "r") is None


def test_a_store_in_which_what_waited_looks_for_ever_is_not_sliced() -> None:
    """It keeps everything for that, so nothing says how wide a slice would be."""
    looked = "SELECT r.b FROM r [RANGE 10 SECONDS] WHERE r.k IN (SELECT s.k FROM s)"
    assert slices_of(planned(BAND)) is not None
    graph = planned(BAND, looked)
    assert slices_of(graph) is None
    assert UNBOUNDED in store_of(graph, "s").retention


def test_a_capacity_of_tasks_leaves_no_room_for_slices() -> None:
    """At any moment one task takes all new tuples of a store that is cut into slices."""
    query = parse_query(BAND, "q", catalog())
    made = plan([query], catalog(), known(1.0), "flat", Options(task_capacity=1e6), tasks=16)
    assert slices_of(made.graph) is None


@pytest.mark.parametrize("batch_s", [0.0, 1_000.0])
def test_what_a_sliced_graph_expects_is_what_it_is_estimated_at(batch_s: float) -> None:
    graph = planned(BAND, batch_s=batch_s)
    assert slices_of(graph) is not None
    expected = {one.id: one for one in graph.estimates}
    probes = [rule for rule in graph.rules if isinstance(rule, ProbeRule)]
    assert estimate(graph, known(1.0)).probe == pytest.approx(sum(expected[p.edge].cost or 0 for p in probes))
    assert expected.keys() >= {store.id for store in graph.stores}
    assert [rule.id for rule in probes] == [r.id for r in planned(BAND, tasks=16).rules if r.kind == "probe"]
    assert reach_us(probes[0]) == 20_000_000


def test_slices_survive_json_and_other_plans_keep_their_bytes() -> None:
    graph = planned(BAND)
    assert PhysicalGraph.from_json(graph.to_json()) == graph
    hashed = planned(HASHED)
    assert "slices" not in hashed.to_json()


def test_the_number_of_slices_is_no_part_of_a_stores_identity() -> None:
    graph = planned(BAND, rate=10_000.0)
    few, many = (slice_all(graph, Slices(count)) for count in (2, 9))
    assert [s.id for s in few.stores] == [s.id for s in many.stores]
    assert not {s.id for s in few.stores} & {s.id for s in graph.stores}


# What the validator refuses


def _kept_for_ever(graph: PhysicalGraph) -> PhysicalGraph:
    return replace(graph, stores=tuple(replace(s, retention=(UNBOUNDED,)) for s in graph.stores))


def _asked_at_random(graph: PhysicalGraph) -> PhysicalGraph:
    return replace(graph, stores=tuple(replace(s, partitioning=None) for s in graph.stores))


def _stored_anywhere(graph: PhysicalGraph) -> PhysicalGraph:
    kept = {rule.edge for rule in graph.rules if rule.kind == "store"}
    return replace(graph, edges=tuple(replace(e, kind="shuffle") if e.id in kept else e for e in graph.edges))


def _asked_by_key(graph: PhysicalGraph) -> PhysicalGraph:
    asked = {rule.edge for rule in graph.rules if rule.kind == "probe"}
    return replace(
        graph,
        edges=tuple(
            replace(e, kind="group_by", key=e.columns[0]) if e.id in asked else e for e in graph.edges
        ),
    )


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (_kept_for_ever, "for ever"),
        (_asked_at_random, "has none|does not place"),
        (_stored_anywhere, "does not place"),
        (_asked_by_key, "groups by a key"),
    ],
)
def test_a_damaged_graph_is_refused(damage: Callable[[PhysicalGraph], PhysicalGraph], message: str) -> None:
    graph = planned(BAND)
    validate(graph)
    with pytest.raises(InvalidGraph, match=message):
        validate(damage(graph))


def test_results_of_several_event_times_have_no_slices() -> None:
    text = (
        f"SELECT r.b, s.b AS sb, t.b AS tb FROM {WINDOWED}, t [RANGE 10 SECONDS] "
        "WHERE r.b = s.b AND s.k = t.k"
    )
    query = parse_query(text, "q", catalog())
    graph = plan([query], catalog(), known(100.0), "ilp", Options(storage_weight=0.0), tasks=3).graph
    results = {store.id for store in graph.stores if not store.is_base}
    assert results, "an intermediate result is worth its storage"
    with pytest.raises(InvalidGraph, match="several event times"):
        validate(with_slices(graph, dict.fromkeys(results, Slices(3))))

"""A query that goes on under another plan loses nothing, though stores want older tuples than there are."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from jobs.plan.event_time import oldest_inside
from jobs.reconfigure.continuation import Continuation, stores_of
from optimizer.physical.graph import PhysicalGraph
from optimizer.planner.plan import plan
from optimizer.sql import parse_query
from tests.unit.runtime.in_process import Topology
from tests.unit.runtime.test_running import _SCHEMA, CATALOG, JOINED, _bag, _rows, _some, reference, table

PAIRS = "SELECT a.at, a.k, b.x FROM a [RANGE 9 SECONDS], b [RANGE 7 SECONDS] WHERE a.k = b.k"
ALONE = (
    "SELECT a.at, a.k, b.x FROM a LEFT JOIN b ON a.k = b.k "
    "AND b.at BETWEEN a.at - INTERVAL 4 SECONDS AND a.at + INTERVAL 3 SECONDS"
)
BOTH = ALONE.replace("LEFT", "FULL")
TWICE = (
    "SELECT a.at, a.k, b.x, c.x AS y FROM a LEFT JOIN b ON a.k = b.k "
    "AND b.at BETWEEN a.at - INTERVAL 4 SECONDS AND a.at + INTERVAL 3 SECONDS "
    "LEFT JOIN a AS c ON a.x = c.x AND c.at BETWEEN a.at - INTERVAL 6 SECONDS AND a.at + INTERVAL 1 SECOND"
)
BUCKETS = (
    "SELECT TUMBLE(RESULT_TIME(), INTERVAL 4 SECONDS) AS bucket, COUNT(*) AS n "
    "FROM a [RANGE 9 SECONDS], b [RANGE 7 SECONDS] WHERE a.k = b.k GROUP BY bucket"
)
WIDER = "SELECT a.at, b.x FROM a [RANGE 2 MINUTES], b [RANGE 3 MINUTES] WHERE a.k = b.k"
THREE = (
    "SELECT a.at, b.x, c.x AS y FROM a [RANGE 2 MINUTES], b [RANGE 3 MINUTES], a [RANGE 1 MINUTE] AS c "
    "WHERE a.k = b.k AND b.k = c.k"
)
SECOND = 1_000_000


def graph(queries: Mapping[str, str], method: str = "flat") -> PhysicalGraph:
    asked = [parse_query(text, name, CATALOG) for name, text in queries.items()]
    return plan(asked, CATALOG, method=method, retain="everything", tasks=2).graph


@pytest.mark.parametrize(
    "text", [PAIRS, JOINED, ALONE, BOTH, BUCKETS], ids=["pairs", "joined", "alone", "both", "buckets"]
)
@pytest.mark.parametrize("other", [WIDER, THREE], ids=["wider", "three"])
def test_what_was_complete_stays_complete(tmp_path: Path, text: str, other: str) -> None:
    chance, seen = random.Random(11), {name: _SCHEMA.empty_table() for name in "ab"}
    topology = Topology(graph({"q": text}), tmp_path)
    for batch in range(16):
        if batch in (8, 12):
            topology.change(graph({"q": text, "other": other} if batch == 8 else {"q": text}))
        fed = {name: _rows(chance, 9 * batch) for name in "ab"}
        topology.feed(fed)
        seen = {name: pa.concat_tables([seen[name], fed[name]]) for name in "ab"}
        assert topology.last is not None
        told = {name: one.complete_since_us for name, one in topology.last.queries.items()}
        assert told["q"] is None
        assert "other" not in told or told["other"] is not None
    topology.feed({}, ended=["a", "b"])
    topology.feed({})
    found = table(topology, "q") if text == JOINED else _bag(topology.answers("q"))
    assert found == reference(text, seen)
    assert found.total() > 3


def test_what_another_query_finds_is_not_this_ones(tmp_path: Path) -> None:
    """The same name, and another text."""
    topology = Topology(graph({"q": PAIRS}), tmp_path)
    chance = random.Random(2)
    for batch in range(8):
        topology.feed({name: _rows(chance, 9 * batch) for name in "ab"})
    topology.change(graph({"q": WIDER}))
    topology.feed({name: _rows(chance, 72) for name in "ab"})
    assert topology.last is not None
    assert topology.last.queries["q"].complete_since_us is not None


@pytest.mark.parametrize(
    ("text", "a_back", "b_back"),
    [(PAIRS, 9, 7), (BUCKETS, 9, 7), (JOINED, 9, 9), (ALONE, 3, 7), (BOTH, 7, 7), (TWICE, 10, 8)],
    ids=["pairs", "buckets", "joined", "alone", "both", "twice"],
)
def test_a_store_has_to_reach_back_as_far_as_the_query(
    tmp_path: Path, text: str, a_back: int, b_back: int
) -> None:
    """What waits looks back from its newest tuple, not from another one's; groups look at nothing."""
    of_a = graph({"q": text})
    topology = Topology(of_a, tmp_path)
    topology.feed({name: _some((60, 1)) for name in "ab"})
    topology.feed({})
    assert topology.last is not None
    watermark = topology.last.watermark_us
    assert watermark is not None
    read = stores_of(of_a)["q"]
    assert {store.inputs[0].stream for store in of_a.stores if store.id in read} == {"a", "b"}

    def misses_nothing(a_us: int, b_us: int) -> bool:
        assert topology.last is not None
        states = {
            store.id: replace(
                topology.last.stores[store.id],
                complete_from_us=watermark - (a_us if store.inputs[0].stream == "a" else b_us),
            )
            for store in of_a.stores
        }
        return Continuation(of_a, of_a, topology.last, states, ()).misses_nothing("q")

    assert misses_nothing(a_back * SECOND, b_back * SECOND)
    assert not misses_nothing(a_back * SECOND - 1, b_back * SECOND)
    assert not misses_nothing(a_back * SECOND, b_back * SECOND - 1)


@pytest.mark.parametrize(
    "text",
    [PAIRS, BUCKETS, JOINED, ALONE, BOTH, TWICE],
    ids=["pairs", "buckets", "joined", "alone", "both", "twice"],
)
def test_no_more_is_needed_than_stores_keep(tmp_path: Path, text: str) -> None:
    """Else a query would be less complete each time its stores are made anew."""
    own = graph({"q": text})
    topology = Topology(own, tmp_path)
    topology.feed({name: _some((60, 1)) for name in "ab"})
    topology.feed({})
    assert topology.last is not None
    states = {
        name: replace(state, complete_from_us=oldest_inside(store.retention[0], topology.last.watermark_us))
        for store in own.stores
        for name, state in [(store.id, topology.last.stores[store.id])]
    }
    assert Continuation(own, own, topology.last, states, ()).misses_nothing("q")

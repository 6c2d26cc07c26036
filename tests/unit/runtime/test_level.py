"""Ingestion and levels, one rule at a time."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import polars as pl
import pyarrow as pa

from jobs.plan.tuples import ARRIVAL, EVERY_TASK, Message, ordinal
from jobs.protocol.metrics import StreamProgress
from jobs.storage.partition import PartitionState
from jobs.worker.ingest import ingest
from jobs.worker.level import work
from optimizer.algebra.types import ColumnType
from optimizer.logical.catalog import Catalog
from optimizer.logical.stream import LatePolicy, Stream
from optimizer.physical.graph import PhysicalGraph
from optimizer.planner.plan import plan
from optimizer.sql import parse_query
from tests.unit.runtime.in_process import Topology

COLUMNS = (("at", ColumnType.TIMESTAMP), ("k", ColumnType.BIGINT), ("raw", ColumnType.BINARY))
SECOND = 1_000_000


def graph(*queries: str, late: LatePolicy = "drop", tasks: int = 2, lateness_s: int = 0) -> PhysicalGraph:
    catalog = Catalog(
        tuple(
            Stream(name, COLUMNS, "at", lateness=timedelta(seconds=lateness_s), late=late)
            for name in ("r", "s", "t")
        )
    )
    parsed = [parse_query(text, f"q{i}", catalog) for i, text in enumerate(queries)]
    return plan(parsed, catalog, method="flat", tasks=tasks).graph


def rows(*seconds_and_keys: tuple[float | None, int | None]) -> pa.Table:
    return pl.DataFrame(
        {
            "at": [None if s is None else int(s * SECOND) for s, _ in seconds_and_keys],
            "k": [k for _, k in seconds_and_keys],
            "raw": [b"\xff"] * len(seconds_and_keys),
        },
        schema={"at": pl.Int64, "k": pl.Int64, "raw": pl.Binary},
    ).with_columns(pl.col("at").cast(pl.Datetime("us", "UTC"))).to_arrow()  # fmt: skip


JOIN = "SELECT r.at AS x, s.at AS y FROM r [RANGE 10 SECONDS], s [RANGE 10 SECONDS] WHERE r.k = s.k"


def found(topology: Topology, query: str = "q0") -> list[Sequence[object]]:
    frame = topology.answers(query)
    return (
        sorted(frame.with_columns(pl.col(pl.Datetime).to_physical() // SECOND).rows()) if frame.width else []
    )


def test_ordinals_come_from_canonical_names() -> None:
    assert [ordinal(name) for name in ("r", "r#2", "r#10", "#3")] == [1, 2, 10, 1]


def test_a_window_is_inclusive_on_both_sides(tmp_path: Path) -> None:
    topology = Topology(graph(JOIN, lateness_s=60), str(tmp_path))
    topology.feed({"r": rows((20, 1)), "s": rows((9.999999, 1), (10, 1), (30, 1), (30.000001, 1))})
    assert found(topology) == [(20, 10), (20, 30)]


def test_a_tuple_meets_itself_once(tmp_path: Path) -> None:
    text = "SELECT a.at AS x, b.at AS y FROM r [RANGE 1 SECOND] AS a, r [RANGE 1 SECOND] AS b WHERE a.k = b.k"
    topology = Topology(graph(text), str(tmp_path))
    topology.feed({"r": rows((1, 7), (2, 7), (9, 8), (9, None))})
    assert found(topology) == [(1, 1), (1, 2), (2, 1), (2, 2), (9, 9)]


def test_late_tuples_are_dead_letters_with_their_reason() -> None:
    plan_graph = graph(JOIN)
    table = rows((5, 1), (4.999999, 2), (None, 3))
    broken = pa.table({"reason": ["not JSON"], "tuple": ["{"]})
    done = ingest(plan_graph, "r", table, broken, arrival_base=100, watermark_us=5 * SECOND)
    expected = StreamProgress(accepted=1, late=1, undecodable=2, max_event_time_us=5 * SECOND)
    assert done.counts == expected
    assert done.dead is not None
    letters = {row["reason"]: row for row in done.dead.to_pylist()}
    assert letters["late"]["arrival"] == 101
    assert letters["late"]["event_time"] == datetime(1970, 1, 1, 0, 0, 4, 999999, tzinfo=UTC)
    assert json.loads(letters["late"]["tuple"])["raw"] == "ff"
    assert letters["null event time"]["arrival"] == 102
    assert letters["not JSON"]["tuple"] == "{"


def test_late_tuples_join_what_is_still_stored_and_mark_the_result(tmp_path: Path) -> None:
    topology = Topology(graph(JOIN, late="join"), str(tmp_path))
    topology.feed({"r": rows((100, 1)), "s": rows((95, 1))})
    topology.feed({"r": rows((93, 1)), "s": rows((99, 1))})
    assert [dead.num_rows for dead in topology.dead] == []
    answers = topology.answers("q0")
    marks = {(x.timestamp(), y.timestamp()): late for x, y, late in answers.select("x", "y", "_late").rows()}
    assert marks == {(100, 95): False, (93, 95): True, (100, 99): False, (93, 99): True}


def test_null_keys_are_stored_but_do_not_travel_to_probe() -> None:
    plan_graph = graph(JOIN)
    done = ingest(plan_graph, "r", rows((1, None)), None, 0, None)
    targets = {edge.id: edge.target for edge in plan_graph.edges}
    stores = {store.id: store.label.split("[")[0] for store in plan_graph.stores}
    assert {stores[targets[message.edge]] for message in done.messages} == {"r"}


def test_messages_for_later_levels_are_passed_along_untouched(tmp_path: Path) -> None:
    text = (
        "SELECT r.at AS x FROM r [RANGE 9 SECONDS], s [RANGE 9 SECONDS], t [RANGE 9 SECONDS] "
        "WHERE r.k = s.k AND s.k = t.k"
    )
    plan_graph = graph(text)
    state = PartitionState(str(tmp_path), 0, 0, {})
    deep = next(edge for edge in plan_graph.edges if edge.level == 2)
    body = pl.DataFrame({f"{c.input}.{c.name}": [1] for c in deep.columns} | {ARRIVAL: [1]})
    message = Message(deep.id, 0, body)
    done = work(plan_graph, 1, state, [message], None)
    assert [m is message for m in done.messages] == [True]
    assert not done.added


def test_a_body_for_all_tasks_is_sent_once() -> None:
    theta = "SELECT r.at AS x FROM r [RANGE 9 SECONDS], s [RANGE 9 SECONDS] WHERE r.k < s.k"
    plan_graph = graph(theta, tasks=3)
    done = ingest(plan_graph, "r", rows(*((i, i) for i in range(30))), None, 0, None)
    kinds = {edge.id: edge.kind for edge in plan_graph.edges}
    assert sorted((kinds[m.edge], m.partition, m.body.height) for m in done.messages) == [
        ("all", EVERY_TASK, 30),
        ("shuffle", 0, 10),
        ("shuffle", 1, 10),
        ("shuffle", 2, 10),
    ]


def test_constant_outputs_have_a_row_per_result(tmp_path: Path) -> None:
    topology = Topology(graph("SELECT 1 AS one FROM r [RANGE 1 SECOND] WHERE r.k > 1"), str(tmp_path))
    topology.feed({"r": rows((1, 1), (1, 2), (2, 3), (3, None))})
    assert topology.answers("q0").rows() == [(1,), (1,)]


def test_metrics_count_what_happened(tmp_path: Path) -> None:
    topology = Topology(graph(JOIN, tasks=1), str(tmp_path))
    topology.feed({"r": rows((1, 1), (2, 2)), "s": rows((1, 1))})
    done = topology.feed({"r": rows((30, 1)), "s": rows((30, 1), (30, 3))}).gathered
    labels = {store.id: store.label.split("[")[0] for store in topology.graph.stores}
    figures = {
        labels[store]: (work.inserted, work.evicted, work.probes, work.matches)
        for store, work in done.stores.items()
    }
    # Tuples of s arrive behind those of r here, so they find the pair.
    assert figures == {"r": (1, 0, 2, 1), "s": (2, 0, 1, 0)}
    last = topology.feed({"r": rows((60, 1)), "s": rows((60, 9))}).gathered
    assert {labels[store]: work.evicted for store, work in last.stores.items()} == {"r": 2, "s": 1}


def test_many_equal_keys_in_short_windows_stay_bounded(tmp_path: Path) -> None:
    # 6,000 x 6,000 pairs share the key; the window leaves a few per tuple.
    text = "SELECT r.at AS x FROM r [RANGE 1 SECOND], s [RANGE 1 SECOND] WHERE r.k = s.k"
    topology = Topology(graph(text, tasks=1, lateness_s=10_000), str(tmp_path))
    times = [(i, 1) for i in range(6_000)]
    topology.feed({"r": rows(*times), "s": rows(*times)})
    assert topology.answers("q0").height == 6_000 + 2 * 5_999


def test_nan_equals_nan_and_zero_equals_negative_zero(tmp_path: Path) -> None:
    text = "SELECT r.at AS x, s.at AS y FROM r [RANGE 9 SECONDS], s [RANGE 9 SECONDS] WHERE r.d = s.d"
    columns = (("at", ColumnType.TIMESTAMP), ("d", ColumnType.DOUBLE))
    catalog = Catalog(tuple(Stream(name, columns, "at") for name in ("r", "s")))
    topology = Topology(plan([parse_query(text, "q0", catalog)], catalog, method="flat").graph, str(tmp_path))
    for second, left, right in ((1, math.nan, math.nan), (20, 0.0, -0.0), (40, None, None), (60, 1.0, 2.0)):
        at = pl.Series([second * SECOND]).cast(pl.Datetime("us", "UTC"))
        tables = {
            name: pl.DataFrame({"at": at, "d": pl.Series([value], dtype=pl.Float64)}).to_arrow()
            for name, value in (("r", left), ("s", right))
        }
        topology.feed(tables)
    assert found(topology) == [(1, 1), (20, 20)]

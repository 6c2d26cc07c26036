"""The benchmark of many queries, and TPC-H's queries as other engines want them."""

from __future__ import annotations

from pathlib import Path

import pytest

from optimizer.planner.plan import plan
from optimizer.workload import load_workload
from tests.bench.queries import workload
from tests.bench.tpch.queries import JoinQuery, table_of
from tests.bench.tpch_peers.chain import chain


def test_fewer_queries_are_the_first_of_more() -> None:
    assert workload.draw(30)[:10] == workload.draw(10)
    assert len(set(workload.draw(360))) == 360
    with pytest.raises(ValueError, match="361 queries"):
        workload.draw(361)


def test_the_queries_can_be_planned_together_and_have_results(tmp_path: Path) -> None:
    queries = workload.draw(10)
    workload.write_workload(tmp_path / "workload", queries, 0.05)
    tuples = workload.write_data(tmp_path / "data", 0.05)
    assert tuples == workload.rows(0.05) * workload.STREAMS
    assert workload.count_results(tmp_path / "data", queries) > 0
    loaded = load_workload(tmp_path / "workload")
    made = plan(list(loaded.queries), loaded.catalog, method="greedy")
    assert len(made.graph.queries) == 10


def test_a_chain_has_every_condition_once_and_only_tables_that_are_there() -> None:
    query = JoinQuery(
        "q",
        ("lineitem", "orders", "part", "partsupp"),
        (
            ("l_orderkey", "o_orderkey"),
            ("l_partkey", "ps_partkey"),
            ("l_suppkey", "ps_suppkey"),
            ("ps_partkey", "p_partkey"),
        ),
    )
    first, steps = chain(query)
    joined = {first}
    for step in steps:
        joined.add(step.table)
        columns = [column for text in step.conditions for column in text.split(" = ")]
        assert {table_of(column) for column in columns} <= joined
    assert joined == set(query.tables)
    assert sorted(text for step in steps for text in step.conditions) == sorted(
        f"{one} = {other}" for one, other in query.conditions
    )

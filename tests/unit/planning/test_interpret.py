"""Every method's graph, executed in memory, answers like DuckDB."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from optimizer.methods import METHODS
from optimizer.partitioning.slicing import slice_all
from optimizer.physical.graph import Slices
from optimizer.physical.validate import validate
from optimizer.planner.plan import plan
from optimizer.search.problem import Options
from tests.reference.interpret import interpret
from tests.unit.planning.workloads import CATALOG, Case, cases, twins


@pytest.mark.parametrize("method", METHODS)
@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(
    case=cases(),
    tasks=st.sampled_from((1, 3)),
    weight=st.sampled_from((0.0, 1.0)),
    whole=st.booleans(),
    slices=st.sampled_from((0, 1, 4)),
)
def test_a_graph_answers_like_duckdb(
    method: str, case: Case, tasks: int, weight: float, whole: bool, slices: int
) -> None:
    made = plan(
        case.queries,
        CATALOG,
        method=method,
        options=Options(storage_weight=weight, time_limit_s=2.0),
        retain="everything" if whole else "needed",
        tasks=tasks,
    )

    graph = slice_all(made.graph, Slices(slices)) if slices else made.graph
    validate(graph)
    results = interpret(graph, case.batches)

    for query in case.queries:
        assert Counter(map(repr, results[query.name])) == Counter(map(repr, case.expected(query)))


@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(case=twins(), method=st.sampled_from(("flat", "greedy", "ilp")), tasks=st.sampled_from((1, 3)))
def test_queries_that_differ_in_filter_or_window_answer_like_duckdb(
    case: Case, method: str, tasks: int
) -> None:
    options = Options(storage_weight=0.01, time_limit_s=2.0)
    made = plan(case.queries, CATALOG, method=method, options=options, tasks=tasks)

    results = interpret(made.graph, case.batches)

    for query in case.queries:
        assert Counter(map(repr, results[query.name])) == Counter(map(repr, case.expected(query)))

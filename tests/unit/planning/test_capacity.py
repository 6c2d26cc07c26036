"""A task capacity holds for the stores of the topology, which relations of one stream share."""

from __future__ import annotations

import pytest

from optimizer.algebra.errors import Infeasible
from optimizer.algebra.types import ColumnType
from optimizer.logical.catalog import Catalog
from optimizer.logical.query import Query
from optimizer.logical.stream import Stream
from optimizer.methods import METHODS
from optimizer.planner.plan import Plan, plan
from optimizer.search.problem import Options
from optimizer.sql import parse_query
from optimizer.statistics.fixed import FixedStatistics
from tests.unit.planning.workloads import busiest

COLUMNS = (("at", ColumnType.TIMESTAMP), *((name, ColumnType.BIGINT) for name in "abc"))
CATALOG = Catalog(tuple(Stream(name, COLUMNS, "at") for name in "rstu"))
RATES = FixedStatistics({"r": 40.0, "s": 100.0, "t": 70.0, "u": 20.0})


def _query(name: str, window: int, where: str, streams: str = "rst") -> Query:
    sources = ", ".join(f"{stream} [RANGE {window} SECONDS]" for stream in streams)
    return parse_query(f"SELECT {streams[0]}.a FROM {sources} WHERE {where}", name, CATALOG)


# Every stream is read by several relations: with other windows, filters and columns.
QUERIES = (
    _query("near", 1, "r.a = s.a AND s.b = t.b"),
    _query("far", 2, "r.a = s.a AND s.c = t.c"),
    _query("filtered", 1, "r.b = s.b AND s.c = t.c AND s.a > 1"),
    _query("other", 3, "s.a = t.a AND t.b = u.b AND u.a > 3", "stu"),
    _query("theta", 1, "s.a < u.a AND u.b = t.b", "stu"),
)


def _plan(method: str, capacity: float | None, *, tasks: int = 2, retain_all: bool = False) -> Plan:
    # A limited plan is never laid out as grids, so neither is the one that it is compared with.
    options = Options(task_capacity=capacity, storage_weight=0.1, time_limit_s=20.0, grids="off")
    retain = "everything" if retain_all else "needed"
    return plan(QUERIES, CATALOG, RATES, method, options, retain, tasks=tasks)


def _keeps(method: str, capacity: float, *, tasks: int, retain_all: bool) -> bool:
    """Whether the method finds a plan within a capacity; whichever it says must be true."""
    try:
        made = _plan(method, capacity, tasks=tasks, retain_all=retain_all)
    except Infeasible as error:
        return error.constraint != "task_capacity" or error.needed is None or error.needed <= capacity
    if busiest(made.graph) > capacity * (1 + 1e-6):
        raise AssertionError(f"{method} breaks {capacity}")
    return True


@pytest.mark.parametrize(("tasks", "retain_all"), [(1, False), (3, True)])
@pytest.mark.parametrize("method", sorted(METHODS))
def test_no_task_of_a_shared_store_gets_more_than_its_capacity(
    method: str, tasks: int, retain_all: bool
) -> None:
    heedless = busiest(_plan(method, None, tasks=tasks, retain_all=retain_all).graph)
    kept = [
        share
        for share in (1.001, 0.95, 0.6)
        if _keeps(method, share * heedless, tasks=tasks, retain_all=retain_all)
    ]
    assert kept[0] == 1.001


def test_the_smallest_capacity_that_works_is_that_of_the_shared_stores() -> None:
    with pytest.raises(Infeasible, match="no plan fits task_capacity = 1;") as refused:
        _plan("ilp", 1.0)
    least = refused.value.needed
    assert least is not None

    assert busiest(_plan("ilp", least).graph) == pytest.approx(least)
    with pytest.raises(Infeasible, match="no plan fits"):
        _plan("ilp", 0.99 * least)


def test_what_only_one_method_cannot_keep_is_no_proof() -> None:
    least = busiest(_plan("ilp", None).graph)
    with pytest.raises(Infeasible, match="flat found no plan that fits task_capacity = 1; the best it found"):
        _plan("flat", 1.0)
    assert busiest(_plan("greedy", 0.9 * least).graph) <= 0.9 * least

"""The two queries of the dissertation's section 7.1, as SQL, with OPTIMIZER's numbers."""

from __future__ import annotations

from optimizer.algebra.types import ColumnType
from optimizer.logical.catalog import Catalog
from optimizer.logical.query import Query
from optimizer.logical.stream import Stream
from optimizer.sql import parse_predicate, parse_query
from optimizer.statistics import FixedStatistics


def _stream(name: str, columns: str) -> Stream:
    typed = tuple((column, ColumnType.BIGINT) for column in columns)
    return Stream(name, (("at", ColumnType.TIMESTAMP), *typed), "at", tuples_per_second=100.0)


CATALOG = Catalog((_stream("r", "b"), _stream("s", "bc"), _stream("t", "cd"), _stream("u", "d")))
STATISTICS = FixedStatistics(
    selectivities={
        parse_predicate(text, CATALOG): value
        for text, value in (("r.b = s.b", 0.005), ("s.c = t.c", 0.0075), ("t.d = u.d", 0.005))
    }
)
Q1 = (
    "SELECT r.b, t.d FROM r [RANGE 1 SECOND], s [RANGE 1 SECOND], t [RANGE 1 SECOND] "
    "WHERE r.b = s.b AND s.c = t.c"
)
Q2 = (
    "SELECT s.b, u.d FROM s [RANGE 1 SECOND], t [RANGE 1 SECOND], u [RANGE 1 SECOND] "
    "WHERE s.c = t.c AND t.d = u.d"
)


def queries() -> tuple[Query, Query]:
    return parse_query(Q1, "q1", CATALOG), parse_query(Q2, "q2", CATALOG)

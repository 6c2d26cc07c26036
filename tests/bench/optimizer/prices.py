"""How long the price of one more query takes on a plan of a hundred."""

from __future__ import annotations

import gc
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from statistics import median
from time import process_time

from optimizer.algebra.types import ColumnType
from optimizer.explain import marginal_cost
from optimizer.logical.catalog import Catalog
from optimizer.logical.query import Query
from optimizer.logical.stream import Stream
from optimizer.planner.plan import Plan, plan
from optimizer.sql import parse_query

RUNNING = 100
ROUNDS = 5
COLUMNS = (("at", ColumnType.TIMESTAMP), *((name, ColumnType.BIGINT) for name in "abc"))
STREAMS = tuple(f"s{number}" for number in range(12))
CATALOG = Catalog(tuple(Stream(name, COLUMNS, "at", tuples_per_second=10.0) for name in STREAMS))


@dataclass(frozen=True, slots=True)
class Price:
    """CPU milliseconds of `marginal_cost` for queries of one shape."""

    shape: str
    inputs: int
    median_ms: float
    worst_ms: float
    exact: bool
    """False if the price of one of them was a bound from above."""


def price_table() -> list[Price]:
    """Random queries of two to six inputs, and stars, which have most sub-queries, of up to twelve."""
    chance = Random(7)
    base = plan(
        [_grown(f"q{number}", chance, 4) for number in range(RUNNING)], CATALOG, method="greedy", tasks=4
    )
    rows = []
    for size in range(2, 7):
        asked = [_grown(f"more{number}", chance, size) for number in range(10)]
        rows.append(_price(base, "random", size, asked))
    for size in (6, 8, 10, 12):
        rows.append(_price(base, "star", size, [_star(STREAMS[:size])] * ROUNDS))
    rows.append(_price(base, "star over one stream", 6, [_star(["s1"] * 6)] * ROUNDS))
    return rows


def _price(base: Plan, shape: str, size: int, asked: Sequence[Query]) -> Price:
    # What was on the heap before is not this function's to collect.
    gc.collect()
    gc.freeze()
    spent, exact = [], True
    for query in asked:
        began = process_time()
        priced = marginal_cost(base, query)
        spent.append(1000 * (process_time() - began))
        exact = exact and priced.exact
    gc.unfreeze()
    return Price(shape, size, median(spent), max(spent), exact)


def _grown(name: str, chance: Random, size: int) -> Query:
    """A query over different streams, each joined with one before it."""
    chosen = chance.sample(STREAMS, size)
    joins = [
        f"{chosen[n]}.{chance.choice('abc')} = {chosen[chance.randrange(n)]}.{chance.choice('abc')}"
        for n in range(1, size)
    ]
    window = chance.choice((10, 60))
    sources = ", ".join(f"{stream} [RANGE {window} SECONDS]" for stream in chosen)
    return parse_query(f"SELECT {chosen[0]}.a FROM {sources} WHERE {' AND '.join(joins)}", name, CATALOG)


def _star(streams: Sequence[str]) -> Query:
    """Everything joins the first input: as many sub-queries as there can be."""
    sources = ", ".join(f"{stream} [RANGE 10 SECONDS] AS a{n}" for n, stream in enumerate(streams))
    joins = " AND ".join(f"a0.a = a{n}.b" for n in range(1, len(streams)))
    return parse_query(f"SELECT a0.a FROM {sources} WHERE {joins}", "star", CATALOG)

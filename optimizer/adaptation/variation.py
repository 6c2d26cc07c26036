"""Other valid plans on purpose: for tests that switch all the time."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace

from optimizer.adaptation.learnt import LearntStatistics, learn
from optimizer.adaptation.weighing import same_plan
from optimizer.logical.catalog import Catalog
from optimizer.logical.query import Query
from optimizer.partitioning.slicing import slice_all
from optimizer.physical.graph import PhysicalGraph, Slices
from optimizer.planner.plan import plan
from optimizer.search.problem import GridUse, Options
from optimizer.statistics import FixedStatistics

_METHODS = ("greedy", "tree", "flat", "left-deep", "ilp", "individual")
_TRIES = 5


def variation(
    queries: Sequence[Query],
    catalog: Catalog,
    running: PhysicalGraph,
    seed: int,
    tasks: int,
    texts: Mapping[str, str] | None = None,
    grids: GridUse = "cost",
) -> PhysicalGraph | None:
    """A valid plan that differs from the running one in whatever chance decides.

    Methods take turns, and each plans for made-up statistics with a made-up number of tasks and
    cheap storage, so that probe orders, partitionings, parallelism and materialized results
    all change; stores are cut into time slices now and then, or laid out as grids.

    >>> from optimizer.algebra.types import ColumnType
    >>> from optimizer.logical.catalog import Catalog
    >>> from optimizer.logical.stream import Stream
    >>> from optimizer.planner.plan import plan
    >>> from optimizer.sql import parse_query
    >>> columns = (("at", ColumnType.TIMESTAMP), ("a", ColumnType.INT))
    >>> catalog = Catalog.of(Stream(name, columns, "at", tuples_per_second=10.0) for name in ("r", "s"))
    >>> text = "SELECT r.a FROM r [RANGE 1 SECOND], s [RANGE 1 SECOND] WHERE r.a = s.a"
    >>> query = parse_query(text, "q", catalog)
    >>> running = plan([query], catalog).graph
    >>> other = variation([query], catalog, running, seed=1, tasks=4)
    >>> other == running, other == variation([query], catalog, running, seed=1, tasks=4)
    (False, True)

    Args:
        seed: decides; the same seed gives the same plan.
        tasks: at most so many tasks for streams that set none themselves.
        grids: `always` has all stores in every plan laid out as grids, `cost` in some plans, `off` in none.

    Returns:
        None if a few tries found no other plan, as for a query over one stream.
    """
    base = learn(queries, FixedStatistics())
    for attempt in range(_TRIES):
        chance = random.Random(f"{seed} {attempt}")
        at_times = grids == "cost" and random.Random(f"grids {seed} {attempt}").random() < 0.4
        gridded = grids == "always" or at_times
        method = _METHODS[(seed + attempt) % len(_METHODS)]
        made = plan(
            queries,
            catalog,
            _made_up(base, chance),
            method,
            Options(
                storage_weight=chance.choice((0.0, 0.001, 1.0)),
                time_limit_s=2.0,
                mirs=chance.random() < 0.8,
                grids="always" if gridded else "off",
                seed=seed + attempt,
            ),
            "everything",
            tasks=chance.randint(1, tasks),
            texts=texts,
        )
        graph = _sliced(made.graph, random.Random(f"slices {seed} {attempt}"))
        if not same_plan(graph, running):
            return graph
    return None


def _sliced(graph: PhysicalGraph, chance: random.Random) -> PhysicalGraph:
    """At times with slices of event time for all stores that can have them."""
    slices = Slices(chance.choice((1, 2, 3, 5, 8)), smoothed=chance.random() < 0.7)
    return slice_all(graph, slices) if chance.random() < 0.4 else graph


def _made_up(known: LearntStatistics, chance: random.Random) -> LearntStatistics:
    statistics = []
    for one in known.statistics:
        value = (
            10 ** chance.uniform(0, 4) if one.stream is not None else min(1.0, 10 ** chance.uniform(-5, 0.3))
        )
        statistics.append(replace(one, value=value, low=value, high=value))
    return LearntStatistics(tuple(statistics))

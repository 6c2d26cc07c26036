"""A converted whole query answered over finite streams by the runtime's state logic, in this process."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from jobs.aggregation.changes import current_table
from optimizer.logical.catalog import Catalog
from optimizer.planner.plan import plan
from optimizer.sql import parse_query
from tests.reference.interpret import Row
from tests.unit.runtime.in_process import Topology

BATCHES = 2


def streamed(
    sql: str, catalog: Catalog, tables: Mapping[str, pa.Table], folder: Path, method: str = "greedy"
) -> Counter[Row]:
    """The answer at the end of the input, which comes in two batches in the order of event time."""
    query = parse_query(sql, "q", catalog)
    graph = plan([query], catalog, method=method).graph
    topology = Topology(graph, folder)
    times = {stream.name: stream.event_time for stream in catalog}
    used = [stream.name for stream in graph.sources]
    sorted_ = {name: tables[name].sort_by(times[name]) for name in used}
    newest = max(pc.max(rows[times[name]]).value for name, rows in sorted_.items())
    oldest = min(pc.min(rows[times[name]]).value for name, rows in sorted_.items())
    middle = pa.scalar((newest + oldest) // 2, pa.timestamp("us"))
    for number in range(BATCHES):
        batch = {}
        for name, rows in sorted_.items():
            early = pc.less(rows[times[name]].cast(pa.timestamp("us")), middle)
            batch[name] = rows.filter(pc.invert(early) if number else early)
        topology.feed(batch, ended=used if number == BATCHES - 1 else ())
    # What waits falls due at the end, tier by tier.
    for _ in range(1 + 2 * graph.tiers):
        topology.feed({})
    assert not topology.dead, "a tuple was not accepted: the answers cannot be compared"
    found = topology.answers("q")
    (key,) = (one.key for one in graph.queries if one.name == "q")
    if key is not None and not found.is_empty():
        found = current_table(found, key)
    naive = [pl.col(pl.Datetime("us", "UTC")).dt.replace_time_zone(None)]
    shown = found.with_columns(naive) if found.width else found
    return Counter(shown.rows())

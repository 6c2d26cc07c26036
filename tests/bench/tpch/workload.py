"""A workload directory over TPC-H's streams, with what the data say about rates and joins."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from optimizer.logical.canonical_inputs import canonical_expression
from optimizer.sql import parse_predicate
from optimizer.statistics import SampleStatistics
from optimizer.workload import read_streams
from tests.bench.tpch.queries import JoinQuery, Projection, table_of
from tests.bench.tpch.tables import Table


def write_workload(
    folder: Path, tables: Sequence[Table], queries: Sequence[JoinQuery], projection: Projection
) -> None:
    """Writes FOLDER/streams.yaml, with the streams that the queries read, and FOLDER/queries/*.sql.

    Rates are those of the data. Selectivities are sampled once and written down, so that the plan
    of a query alone and the plan of all start from the same knowledge.
    """
    used = [table for table in tables if any(table.name in query.tables for query in queries)]
    streams = "\n".join(["streams:", *map(_declaration, used), ""])
    catalog, _ = read_streams(streams, "streams.yaml")
    sampled = SampleStatistics({table.name: table.sample() for table in used})
    lines = ["selectivities:"]
    for left, right in sorted({condition for query in queries for condition in query.conditions}):
        text = f"{table_of(left)}.{left} = {table_of(right)}.{right}"
        share = sampled.selectivity(canonical_expression(parse_predicate(text, catalog, "streams.yaml")))
        assert share is not None
        lines.append(f'  - {{predicate: "{text}", value: {share.expected!r}}}')
    (folder / "queries").mkdir(parents=True)
    (folder / "streams.yaml").write_text(streams + "\n".join([*lines, ""]))
    for query in queries:
        (folder / "queries" / f"{query.name}.sql").write_text(query.sql(projection))


def _declaration(table: Table) -> str:
    columns = ", ".join(f"{name}: {kind}" for name, kind in table.columns)
    return (
        f"  {table.name}:\n    event_time: {table.event_time}\n    rate: {table.tuples_per_second!r}\n"
        f"    columns: {{{columns}}}"
    )

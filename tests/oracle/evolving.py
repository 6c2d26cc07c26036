"""Queries that come and go: random schedules, and which results they leave.

A query that is answered from batch b up to, but not including, batch e has exactly the results
whose newest tuple arrived in one of these batches, provided that their newest event time is not
older than the moment since which the run says that the query is complete. Of older ones any
part may be there, and none that is no result.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import yaml

from jobs.plan.tuples import ARRIVALS_PER_TASK
from jobs.sources.files.replay import ReplayPlanner, ReplaySource
from jobs.sources.files.stream_files import InputFile, StreamFiles
from optimizer.logical.stream import MOST_TASKS
from tests.oracle.reference import Answer, answer, register_functions, replayed_answer
from tests.oracle.workload import ID, TIME, GeneratedQuery, GeneratedStream, GeneratedWorkload

_BATCH = "_batch"
Batches = Mapping[str, list[int]]
"""Per stream the batch of every tuple."""


@dataclass(frozen=True, slots=True)
class Span:
    """When a query is answered: from a batch to before another one, None being the end."""

    first: int
    end: int | None


def batches_of(workload: GeneratedWorkload, folder: Path, batch_rows: int) -> Batches:
    """The batch in which every tuple arrives; the files of FOLDER are written for it."""
    folder.mkdir(parents=True)
    files = []
    for stream in workload.streams:
        path = folder / f"{stream.name}.parquet"
        pq.write_table(stream.tuples, path)
        order = "_arrival" if "_arrival" in stream.tuples.column_names else TIME
        files.append(StreamFiles(stream.name, order, (InputFile(str(path), stream.tuples.num_rows),)))
    planner = ReplayPlanner(ReplaySource(tuple(files), batch_rows))
    found: dict[str, list[int]] = {stream.name: [] for stream in workload.streams}
    position = planner.initial()
    while (after := planner.advance(position)) != position:
        for name, rows in after["streams"].items():
            found[name].extend([position["batch"]] * (rows["row"] - len(found[name])))
        position = after
    return found


def draw_schedule(workload: GeneratedWorkload, seed: int, batches: int) -> dict[str, Span]:
    """A random schedule in which the first query always runs and others come, go, or both."""
    chance = random.Random(f"schedule {seed}")
    spans = {}
    for number, query in enumerate(workload.queries):
        first = chance.randint(1, batches - 1) if number and chance.random() < 0.6 else 0
        last = chance.randint(first + 1, batches) if number and chance.random() < 0.5 else None
        spans[query.name] = Span(first, last)
    return spans


def write_schedule(spans: Mapping[str, Span], file: Path) -> None:
    """Writes schedule.yaml."""
    moments = sorted({m for s in spans.values() for m in (s.first, s.end) if m})
    changes = [
        {
            "batch": batch,
            "add": sorted(name for name, span in spans.items() if span.first == batch),
            "remove": sorted(name for name, span in spans.items() if span.end == batch),
        }
        for batch in moments
    ]
    file.write_text(yaml.safe_dump({"changes": changes}))


def check(
    workload: GeneratedWorkload, spans: Mapping[str, Span], batches: Batches, out: Path
) -> dict[str, tuple[int, int, int]]:
    """Compares a finished run with DuckDB.

    Returns the numbers of results that had to be there, that could, and that were, by query. Raises
    `AssertionError` that names what is missing or too many.
    """
    said = json.loads((out / "metrics.json").read_text())["queries"]
    wrong, counts = {}, {}
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'; SET threads = 2")
        register_functions(connection, workload)
        for stream in workload.streams:
            connection.register(stream.name, _accepted(stream, batches[stream.name], out))
        for query in workload.queries:
            span = spans[query.name]
            since = [(part["from_batch"], part["since_us"]) for part in said[query.name]["complete"]]
            possible = answer(connection.sql(_restricted(query, span).reference()))
            needed = answer(connection.sql(_restricted(query, span, since).reference()))
            found = replayed_answer(query, out)
            differs = _difference(needed, possible, found)
            if differs:
                wrong[query.name] = f"{span}, complete since {since}: {differs}"
            counts[query.name] = (needed.total(), possible.total(), found.total())
    assert not wrong, "\n".join([*(f"{k}: {v}" for k, v in wrong.items()), workload.describe()])
    return counts


def _restricted(
    query: GeneratedQuery, span: Span, complete: Sequence[tuple[int, int | None]] | None = None
) -> GeneratedQuery:
    """The query, of results that belong to its batches; with `complete` only those that must be there:
    from each of the batches on, results that are not older than the moment beside it."""
    newest = _greatest([f"{i.alias}.{_BATCH}" for i in query.inputs])
    conditions = [f"{newest} >= {span.first}"]
    if span.end is not None:
        conditions.append(f"{newest} < {span.end}")
    moment = _greatest([f"epoch_us({i.alias}.{TIME})" for i in query.inputs])
    for number, (batch, since_us) in enumerate(complete or ()):
        if since_us is not None and complete is not None:
            after = f" OR {newest} >= {complete[number + 1][0]}" if number + 1 < len(complete) else ""
            conditions.append(f"({newest} < {batch}{after} OR {moment} >= {since_us})")
    return replace(query, predicates=(*query.predicates, *conditions))


def _greatest(values: Sequence[str]) -> str:
    return f"greatest({', '.join(values)})"


def _accepted(stream: GeneratedStream, batches: list[int], out: Path) -> pa.Table:
    """The stream's tuples with their batches, without those among the dead letters."""
    dead: Counter[tuple[int, int]] = Counter()
    with duckdb.connect() as connection:
        letters = connection.sql(
            f"SELECT stream, tuple, arrival FROM read_parquet('{out}/dead_letters/*.parquet') "
            "WHERE expression IS NULL"
        ).fetchall()
    for name, text, arrival in letters:
        if name == stream.name:
            dead[json.loads(text)[ID], arrival // (MOST_TASKS * ARRIVALS_PER_TASK)] += 1
    kept, at = [], []
    for row, batch in zip(stream.tuples.to_pylist(), batches, strict=True):
        if dead[row[ID], batch] > 0:
            dead[row[ID], batch] -= 1
        else:
            kept.append(row)
            at.append(batch)
    left = +dead
    assert not left, f"dead letters of {stream.name} that never arrived: {sorted(left)[:5]}"
    table = pa.Table.from_pylist(kept, schema=stream.tuples.schema)
    return table.append_column(_BATCH, pa.array(at, pa.int64()))


def _difference(needed: Answer, possible: Answer, found: Answer) -> str | None:
    missing, extra = needed - found, found - possible
    if not missing and not extra:
        return None
    return (
        f"{needed.total()} results needed, {possible.total()} possible, {found.total()} found; "
        f"{missing.total()} missing, such as {sorted(missing, key=repr)[:2]}; "
        f"{extra.total()} too many, such as {sorted(extra, key=repr)[:2]}"
    )

"""A shape in Flink SQL: a chain of interval joins, or its multi-way join operator.

`python -m tests.bench.joins.flink SHAPE interval|multi DATA [--count OUT]` prints one JSON object; DATA
has the CSV files that `data.write_csv` makes.

Interval joins. Flink frees the state of a join only if it recognizes it as an interval join: one range
over the two event-time columns. Further ranges have to be over plain numbers, else the second join of
a chain silently becomes one that keeps everything. So each join has a range to the first stream's event
time, a millisecond wider than the window because Flink's event times are whole milliseconds, and the
exact windows to all streams over microseconds as plain conditions.

Multi-way joins (`table.optimizer.multi-join.enabled`) refuse interval joins: their windows are plain
conditions, and nothing is freed.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Literal

from jobs.spark.session import processors
from tests.bench.flink.environment import FlinkJob, run_job
from tests.bench.joins.shapes import SHAPES, Join, Shape, Stream, flat

Operator = Literal["interval", "multi"]
LIMIT_S = 300.0


def job(shape: Shape, operator: Operator, data: Path, tuples: int, results: Path | None) -> FlinkJob:
    """The job; `results` is where a counting run writes, None for a run that is timed."""
    sink = (
        "'connector' = 'blackhole'"
        if results is None
        else f"'connector' = 'filesystem', 'path' = '{results}', 'format' = 'csv'"
    )
    ids = ", ".join(f"{stream.name}_id BIGINT" for stream in shape.streams)
    query = _chained(shape) if operator == "interval" else _at_once(shape)
    # Batches of tuples would delay both operators; an interval join has no use for them, and a
    # multi-way join has wrong results with them.
    return FlinkJob(
        statements=(
            *(_table(stream, data) for stream in shape.streams),
            f"CREATE TABLE sink ({ids}) WITH ({sink})",
        ),
        inserts=(f"INSERT INTO sink {query}",),
        tuples=tuples,
        settings=(("table.optimizer.multi-join.enabled", str(operator == "multi").lower()),),
        results=results,
    )


def _table(stream: Stream, data: Path) -> str:
    columns = ", ".join(f"{name} BIGINT" for name in ("us", "id", *(name for name, _ in stream.columns)))
    return (
        f"CREATE TABLE {stream.name} ({columns}, ts AS TO_TIMESTAMP_LTZ(us / 1000, 3), "
        "WATERMARK FOR ts AS ts) WITH ('connector' = 'filesystem', "
        f"'path' = '{data / stream.name}', 'format' = 'csv')"
    )


def _chained(shape: Shape) -> str:
    first, wide = shape.first.name, f"INTERVAL '{shape.window_s}.001' SECOND"
    text, before = _renamed(shape.first, time=True), [shape.first]
    for join in shape.joins:
        new = join.stream.name
        near = f"{new}_ts BETWEEN {first}_ts - {wide} AND {first}_ts + {wide}"
        conditions = [*map(flat, _conditions(join)), near, *_close(shape, join, before, "{}_us")]
        before.append(join.stream)
        kept = ", ".join([f"{first}_ts", *(c for stream in before for c in _columns(stream))])
        text = (
            f"SELECT {kept} FROM ({text}) JOIN ({_renamed(join.stream, time=True)}) "
            f"ON {' AND '.join(conditions)}"
        )
    return f"SELECT {_ids(before)} FROM ({text})"


def _at_once(shape: Shape) -> str:
    text, before = shape.first.name, [shape.first]
    for join in shape.joins:
        conditions = [*_conditions(join), *_close(shape, join, before, "{}.us")]
        text += f" JOIN {join.stream.name} ON {' AND '.join(conditions)}"
        before.append(join.stream)
    return f"SELECT {', '.join(f'{stream.name}.id' for stream in before)} FROM {text}"


def _conditions(join: Join) -> list[str]:
    """Without equalities that others imply: with them the multi-way join fails (duplicate field names)."""
    needed = {new: f"{old} = {new}" for old, new in reversed(join.equalities)}
    return [*reversed(needed.values()), *(comparison.sql for comparison in join.comparisons)]


def _close(shape: Shape, join: Join, before: list[Stream], microseconds: str) -> list[str]:
    return [shape.close(join.stream.name, old.name, microseconds) for old in before]


def _columns(stream: Stream) -> list[str]:
    return [f"{stream.name}_{name}" for name in ("us", "id", *(name for name, _ in stream.columns))]


def _renamed(stream: Stream, time: bool) -> str:
    names = ["us", "id", *(name for name, _ in stream.columns), *(["ts"] if time else [])]
    return f"SELECT {', '.join(f'{name} AS {stream.name}_{name}' for name in names)} FROM {stream.name}"


def _ids(streams: list[Stream]) -> str:
    return ", ".join(f"{stream.name}_id" for stream in streams)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.joins.flink")
    parser.add_argument("shape", choices=SHAPES)
    parser.add_argument("operator", choices=("interval", "multi"))
    parser.add_argument("data", type=Path)
    parser.add_argument("--tuples", type=int, required=True, help="of all streams together")
    parser.add_argument("--count", type=Path, help="write the results here and count them")
    given = parser.parse_args()
    made = job(SHAPES[given.shape], given.operator, given.data, given.tuples, given.count)
    print(json.dumps(run_job(made, processors(), LIMIT_S)))


if __name__ == "__main__":
    main()

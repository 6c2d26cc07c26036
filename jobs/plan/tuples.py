"""Messages between levels: a table of partial results on one edge, for one task.

A message's body has the edge's columns, named `input.column`, and the start tuple's arrival
number, by which the receiver decides what the start tuple sees. Messages on edges that place tuples
alike share one body, which then has the columns of all these edges. The other half of the start's
position, its input's ordinal, is the same for all tuples of an edge and therefore not sent.

A body is a Polars frame until it is written into a file (`jobs.worker.exchange`): what stays in a process is
never brought into Arrow's layout and back, which copies every text.
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from optimizer.algebra.expression import Column
from optimizer.logical.stream import MOST_TASKS

ARRIVAL = "@arrival"
"""int64: the start tuple's arrival number."""
ORDINAL = "@ordinal"
"""int8, only in stores of materialized results: the ordinal of the input whose tuple came last."""
LATE = "@late"
"""bool, only under plans with a query that marks late results: true if any tuple in it was late."""

ARRIVALS_PER_TASK = 1 << 28
"""Arrival numbers that one ingesting task, or one task with what falls due, has for itself in a batch."""

EVERY_TASK = -1
"""As a message's partition: for all tasks of the edge's target (`all` edges)."""


@dataclass(frozen=True, slots=True)
class Message:
    """Tuples on `edge` for task `partition` (or `EVERY_TASK`) of its target store."""

    edge: str
    partition: int
    body: pl.DataFrame


@dataclass(frozen=True, slots=True)
class Result:
    """Answers of a query found by one task in one batch."""

    query: str
    table: pl.DataFrame
    """The projected columns under their output names, and `_late` if the query marks late results."""
    arrivals: pl.Series
    """Per row the arrival number of the tuple that completed it, always one of this batch."""
    rule: str
    """The rule at whose leaf they were found: with the plan, their path through the probe tree."""
    times: pl.DataFrame
    """Per row the event times of the inputs whose event time came along, under the inputs' names."""


def first_arrival(batch: int, task: int) -> int:
    """The first arrival number that a task gives in a batch.

    >>> home_of(pl.Series([first_arrival(7, 3) + 5])).to_list()
    [3]
    """
    return (batch * MOST_TASKS + task) * ARRIVALS_PER_TASK


def home_of(arrivals: pl.Series) -> pl.Series:
    """The tasks that gave arrival numbers."""
    return arrivals // ARRIVALS_PER_TASK % MOST_TASKS


def column_name(column: Column) -> str:
    """The name of a graph column inside a message, `input.column`.

    >>> from optimizer.algebra.types import ColumnType
    >>> column_name(Column("departures#2", "origin", ColumnType.STRING))
    'departures#2.origin'
    """
    return f"{column.input}.{column.name}"


def ordinal(canonical_input: str) -> int:
    """An input's number in its stream: 1 for `departures`, 2 for `departures#2`.

    Among the inputs that hold one and the same tuple, a larger ordinal counts as newer.

    >>> ordinal("departures"), ordinal("departures#12")
    (1, 12)
    """
    stream, mark, number = canonical_input.rpartition("#")
    return int(number) if mark and stream and number.isdigit() else 1

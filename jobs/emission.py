"""Leaves of probe trees: residual conditions, projection, results."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import polars as pl

from jobs.expressions import compile_expression
from jobs.expressions.dtypes import convert
from jobs.message import ARRIVAL, LATE, Result, column_name
from jobs.rules import RuleIndex
from optimizer.expression import Column, columns_of
from optimizer.graph import Emit

RESULT_LATE = "_late"


def emit(
    index: RuleIndex, rule: str, emits: Sequence[Emit], inputs: Sequence[str], frame: pl.DataFrame
) -> list[Result]:
    """The results that complete combinations behind `rule` give, one table per query that has any."""
    results = []
    moments = {name: column_name(index.time_column(name)) for name in inputs}
    known = [pl.col(column).alias(name) for name, column in moments.items() if column in frame.columns]
    for leaf in emits:
        query = index.queries[leaf.query]
        conditions = [compile_expression(residual) for residual in leaf.residuals]
        conditions += [
            _elapsed(index, newer, bound.input) <= bound.window_us
            for bound in leaf.windows
            if bound.window_us is not None
            for newer in inputs
            if newer != bound.input
        ]
        rows = frame.filter(*conditions) if conditions else frame
        if rows.is_empty():
            continue
        types = dict(query.outputs)
        outputs = [
            convert(compile_expression(expression), expression.type, types[name]).alias(name)
            for name, expression in leaf.outputs
        ]
        if query.marks_late:
            outputs.append(pl.col(LATE).alias(RESULT_LATE))
        names = [name for name, _ in leaf.outputs] + ([RESULT_LATE] if query.marks_late else [])
        # `with_columns` keeps the height where all outputs are constants.
        table = rows.with_columns(outputs)[names]
        results.append(
            Result(
                leaf.query,
                table.to_arrow(compat_level=pl.CompatLevel.oldest()),
                rows[[ARRIVAL]].to_arrow().column(0),
                rule,
                rows.select(known).to_arrow(compat_level=pl.CompatLevel.oldest()),
            )
        )
    return results


def emit_columns(index: RuleIndex, emits: Iterable[Emit], inputs: Iterable[str]) -> set[Column]:
    """The columns that leaves read from complete combinations of `inputs`."""
    columns: set[Column] = set()
    for leaf in emits:
        for expression in (*leaf.residuals, *(expression for _, expression in leaf.outputs)):
            columns.update(columns_of(expression))
        if any(bound.window_us is not None for bound in leaf.windows):
            columns.update(index.time_column(name) for name in inputs)
    return columns


def _elapsed(index: RuleIndex, newer: str, older: str) -> pl.Expr:
    """Microseconds from the event time of `older` to that of `newer`."""
    newer_time, older_time = (
        pl.col(column_name(index.time_column(name))).to_physical() for name in (newer, older)
    )
    return newer_time - older_time

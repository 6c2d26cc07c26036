"""Leaves of probe trees: residual conditions, projection, results."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from jobs.expressions import compile_expression
from jobs.expressions.conversion import convert
from jobs.expressions.guarded import guarded_emit, raised_by_a_row
from jobs.expressions.predicate_order import staged
from jobs.failures.evaluation_errors import FailedCalls
from jobs.failures.task_failure import telling
from jobs.plan.event_time import admits
from jobs.plan.index import RuleIndex
from jobs.plan.per_plan import PerPlan
from jobs.plan.tuples import ARRIVAL, LATE, Result, column_name
from optimizer.algebra.expression import Column, columns_of
from optimizer.physical.rules import Emit

RESULT_LATE = "_late"


@dataclass(frozen=True, slots=True)
class LeafPlan:
    """A leaf made ready: what to check of a complete combination, and what to keep."""

    query: str
    conditions: tuple[pl.Expr, ...]
    names: tuple[str, ...]
    """The outputs, in order."""
    columns: tuple[str, ...] | None
    """The columns that the outputs are, if they are nothing but columns."""
    outputs: tuple[pl.Expr, ...]


_LEAVES: PerPlan[dict[str, tuple[LeafPlan, ...]]] = PerPlan(dict)
"""By rule, when it first has results."""


def emit(
    index: RuleIndex,
    rule: str,
    emits: Sequence[Emit],
    inputs: Sequence[str],
    frame: pl.DataFrame,
    failed: FailedCalls,
) -> list[Result]:
    """The results of complete combinations behind `rule`: a table per query with any.

    What functions raise in a query's own conditions and outputs is added to `failed`.
    """
    if not emits:
        return []
    plans = _LEAVES[index].get(rule)
    if plans is None:
        plans = _LEAVES[index][rule] = tuple(_first_prepared(index, leaf, inputs) for leaf in emits)
    results = []
    start = index.start(rule)
    moments = {name: column_name(index.time_column(name)) for name in inputs}
    known = {name: column for name, column in moments.items() if column in frame.columns}
    for plan, leaf in zip(plans, emits, strict=True):
        with telling("results", (plan.query,)):
            try:
                rows, table = _projected(plan, frame)
            except BaseException as error:
                if not raised_by_a_row(error):
                    raise
                beside = [index.time_column(name) for name in sorted(known, key=lambda name: name != start)]
                rows, table = _projected(_prepare(index, guarded_emit(leaf, beside), inputs), frame)
        failed.count((plan.query,), start)
        if rows.is_empty():
            continue
        results.append(
            Result(
                plan.query,
                table,
                rows.get_column(ARRIVAL),
                rule,
                _picked(rows, known),
            )
        )
    return results


def _projected(plan: LeafPlan, frame: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The combinations that pass, and their outputs."""
    rows = frame.filter(*plan.conditions) if plan.conditions else frame
    if rows.is_empty():
        return rows, rows
    if plan.columns is not None:
        return rows, _picked(rows, dict(zip(plan.names, plan.columns, strict=True)))
    # `with_columns` keeps the height where all outputs are constants.
    return rows, rows.with_columns(plan.outputs)[list(plan.names)]


def _first_prepared(index: RuleIndex, leaf: Emit, inputs: Sequence[str]) -> LeafPlan:
    with telling("results", (leaf.query,), every_tuple=True):
        return _prepare(index, leaf, inputs)


def _prepare(index: RuleIndex, leaf: Emit, inputs: Sequence[str]) -> LeafPlan:
    windows = [
        admits(bound.window, _time(index, newer), _time(index, bound.input))
        for bound in leaf.windows
        if bound.window.is_bounded
        for newer in inputs
        if newer != bound.input
    ]
    types = index.outputs(leaf.query)
    outputs = [
        convert(compile_expression(expression), expression.type, types[name]).alias(name)
        for name, expression in leaf.outputs
    ]
    names = [name for name, _ in leaf.outputs]
    columns = [
        column_name(expression)
        for name, expression in leaf.outputs
        if isinstance(expression, Column) and expression.type is types[name]
    ]
    if index.gives_late(leaf.query):
        outputs.append(pl.col(LATE).alias(RESULT_LATE))
        names.append(RESULT_LATE)
        columns.append(LATE)
    simple = tuple(columns) if len(columns) == len(names) else None
    return LeafPlan(leaf.query, staged(leaf.residuals, windows), tuple(names), simple, tuple(outputs))


def _picked(rows: pl.DataFrame, columns: Mapping[str, str]) -> pl.DataFrame:
    """Columns under other names; nothing is computed."""
    return pl.DataFrame([rows[column].alias(name) for name, column in columns.items()])


def emit_columns(index: RuleIndex, emits: Iterable[Emit], inputs: Iterable[str]) -> set[Column]:
    """The columns that leaves read from complete combinations of `inputs`."""
    columns: set[Column] = set()
    for leaf in emits:
        for expression in (*leaf.residuals, *(expression for _, expression in leaf.outputs)):
            columns.update(columns_of(expression))
        if any(bound.window.is_bounded for bound in leaf.windows):
            columns.update(index.time_column(name) for name in inputs)
    return columns


def _time(index: RuleIndex, canonical_input: str) -> pl.Expr:
    """The event time of an input."""
    return pl.col(column_name(index.time_column(canonical_input)))

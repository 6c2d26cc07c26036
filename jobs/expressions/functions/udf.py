"""Calls of an administrator's functions, evaluated over columns."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import polars as pl

from jobs.expressions.dtypes import DTYPES
from optimizer.algebra.expression import Call
from optimizer.algebra.udf_names import user_name
from optimizer.udf.evaluate import evaluate
from optimizer.udf.reader import SETTING, allowed_functions
from optimizer.udf.registry import UserFunction


class NotAllowed(RuntimeError):
    """A plan calls a function that this job's functions file lacks or has otherwise."""


def user_call(call: Call, arguments: Sequence[pl.Expr]) -> pl.Expr:
    """The answers of a user function; what it means is in `optimizer.udf.evaluate`.

    Raises `NotAllowed`, so that a plan that this job cannot answer is found before any tuple.
    """
    function = function_of(call)
    return pl.map_batches(
        list(arguments), partial(_evaluated, function), return_dtype=DTYPES[call.type], is_elementwise=True
    )


def function_of(call: Call) -> UserFunction:
    """The allowed function that a call means.

    Raises `NotAllowed` if there is none of its types.
    """
    name = user_name(call.function)
    function = None if name is None else allowed_functions().find(name)
    if function is None:
        raise NotAllowed(f"a call of {name}, which the file in {SETTING} does not allow")
    if function.returns is not call.type or function.arguments != tuple(a.type for a in call.arguments):
        types = ", ".join(argument.type for argument in call.arguments)
        raise NotAllowed(
            f"a call of {name}({types}) for a {call.type}, "
            f"where the file in {SETTING} has {function.signature} for a {function.returns}"
        )
    return function


def _evaluated(function: UserFunction, columns: Sequence[pl.Series]) -> pl.Series:
    rows = max(len(column) for column in columns)
    if min(len(column) for column in columns) == 0:
        rows = 0
    whole = (column if len(column) == rows else column.new_from_index(0, rows) for column in columns)
    arrow = [column.to_arrow(compat_level=pl.CompatLevel.oldest()) for column in whole]
    answers = pl.Series(evaluate(function, arrow), dtype=DTYPES[function.returns])
    return answers.alias(columns[0].name)

"""The cost of evaluating a predicate for one pair, in the model's unit."""

from __future__ import annotations

from collections.abc import Mapping

from optimizer.algebra.expression import Call, Expression, inputs_of
from optimizer.algebra.udf_names import user_calls, user_name

TUPLE_US = 3.0
"""Processor time of one tuple that is sent and probes a store, in microseconds: the 340,000 tuples per
second of the design's measurements, two hops each, on two cores. It makes the time of functions and
the tuples of the cost model comparable; only its order of magnitude matters."""


def pair_cost(predicate: Expression, costs_us: Mapping[str, float]) -> float:
    """Cost of one evaluation, in probe tuples.

    0 for a predicate of built-in functions.

    An equality of two sides that read one input each is computed tuple by tuple, as a key of the join, and
    costs nothing per pair.

    Args:
        costs_us: microseconds by name of the function.
    """
    if isinstance(predicate, Call) and predicate.function == "eq":
        sides = [len(inputs_of(side)) for side in predicate.arguments]
        if max(sides) < 2:
            return 0.0
    names = (user_name(call.function) for call in user_calls(predicate))
    return sum(costs_us[name] for name in names if name is not None) / TUPLE_US


def rank(cost: float, selectivity: float) -> float:
    """Sort key for predicates that are evaluated one after the other.

    Least cost for each pair dropped comes first.

    The order by cost over the share that is dropped has the least total cost if the predicates are
    independent (Hellerstein, Stonebraker, SIGMOD 1993, on predicate migration).
    """
    return cost / max(1.0 - selectivity, 1e-9)

"""Selectivities as workload directories state them."""

from __future__ import annotations

from dataclasses import dataclass

from optimizer.algebra.expression import Expression


@dataclass(frozen=True, slots=True)
class SelectivityEstimate:
    """The fraction of pairs for which a predicate holds; its inputs are stream names."""

    predicate: Expression
    value: float

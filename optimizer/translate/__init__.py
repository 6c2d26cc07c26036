"""Queries to a combinatorial problem, and its solution to a physical graph."""

from __future__ import annotations

from optimizer.formulate.model import Occurrence, QueryTerms, Retain, Translation, Variant, conditions_of
from optimizer.formulate.problem import to_problem
from optimizer.lower.store_layouts import grow_settled
from optimizer.lower.to_graph import to_graph

__all__ = [
    "Occurrence",
    "QueryTerms",
    "Retain",
    "Translation",
    "Variant",
    "conditions_of",
    "grow_settled",
    "to_graph",
    "to_problem",
]

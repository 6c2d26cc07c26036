"""Queries to a combinatorial problem, and its solution to a physical graph."""

from __future__ import annotations

from optimizer.translate.copies import grow_settled
from optimizer.translate.graph import to_graph
from optimizer.translate.model import Occurrence, QueryTerms, Retain, Translation, Variant, conditions_of
from optimizer.translate.problem import to_problem

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

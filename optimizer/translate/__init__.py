"""Queries to a combinatorial problem, and its solution to a physical graph."""

from __future__ import annotations

from optimizer.translate.copies import settle
from optimizer.translate.graph import to_graph
from optimizer.translate.grow import grow
from optimizer.translate.model import Occurrence, QueryTerms, Retain, Translation, Variant, conditions_of
from optimizer.translate.problem import to_problem

__all__ = [
    "Occurrence",
    "QueryTerms",
    "Retain",
    "Translation",
    "Variant",
    "conditions_of",
    "grow",
    "settle",
    "to_graph",
    "to_problem",
]

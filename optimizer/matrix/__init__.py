"""Squall's join matrix as a partitioning of a store (Elseidy et al., PVLDB 7(6), 2014).

`shape` says what a task receives under a grid of columns and rows, `choice` when a store is laid out
as one, `layout` writes it into a graph, `policy` decides when rows and columns change
([docs/matrix.md](../../docs/matrix.md)).
"""

from __future__ import annotations

from optimizer.matrix.choice import lay_out
from optimizer.matrix.groups import Regrouped, keep_groups, regroup
from optimizer.matrix.layout import with_groups
from optimizer.matrix.policy import Controller, Decomposed, decompose
from optimizer.matrix.shape import Shape, best_shape, input_load, shapes

__all__ = [
    "Controller",
    "Decomposed",
    "Regrouped",
    "Shape",
    "best_shape",
    "decompose",
    "input_load",
    "keep_groups",
    "lay_out",
    "regroup",
    "shapes",
    "with_groups",
]

"""Squall's join matrix as a partitioning (Elseidy et al., PVLDB 7(6), 2014).

`shape` says what a task receives under a grid of columns and rows, or under several, `choice` when a store
is laid out as such, `layout` writes it into a graph, `policy` decides when rows and columns change
([docs/design/matrix.md](../../docs/matrix.md)).
"""

from __future__ import annotations

from optimizer.partitioning.matrix.choice import lay_out
from optimizer.partitioning.matrix.groups import keep_groups
from optimizer.partitioning.matrix.layout import with_groups
from optimizer.partitioning.matrix.policy import Controller
from optimizer.partitioning.matrix.shape import (
    Arrangement,
    Shape,
    best_arrangement,
    best_shape,
    input_load,
    shapes,
)

__all__ = [
    "Arrangement",
    "Controller",
    "Shape",
    "best_arrangement",
    "best_shape",
    "input_load",
    "keep_groups",
    "lay_out",
    "shapes",
    "with_groups",
]

"""How the tasks of a store are arranged, and what one of them then receives."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache


@dataclass(frozen=True, slots=True)
class Shape:
    """An (n, m) mapping: `columns` parts of what is stored, each kept once in every one of `rows` rows.

    A probe asks all tasks of one row, that is `columns` of them. Raises `ValueError` below one.
    """

    columns: int
    rows: int

    def __post_init__(self) -> None:
        if self.columns < 1 or self.rows < 1:
            raise ValueError(f"{self.columns} columns and {self.rows} rows: both must be at least 1")

    @property
    def tasks(self) -> int:
        return self.columns * self.rows


@cache
def shapes(tasks: int) -> tuple[Shape, ...]:
    """All ways to arrange so many tasks, by rows ascending.

    >>> [(shape.columns, shape.rows) for shape in shapes(6)]
    [(6, 1), (3, 2), (2, 3), (1, 6)]
    """
    return tuple(Shape(tasks // rows, rows) for rows in range(1, tasks + 1) if tasks % rows == 0)


def input_load(shape: Shape, stored: float, probing: float) -> float:
    """The input-load factor: tuples that one task receives, to keep and to compare (section 3.3).

    Args:
        stored: tuples that come to be stored, copies not counted.
        probing: tuples that come to probe.

    Of R join S each side's store has the other side's tuples probing it, so with R's store in shape
    (n, m) and S's in (m, n) one task is sent |R|/n + |S|/m to keep, and as much to compare.

    >>> input_load(Shape(1, 64), 64.0, 1.0), input_load(Shape(8, 8), 64.0, 1.0)
    (64.015625, 8.125)
    """
    return stored / shape.columns + probing / shape.rows


def best_shape(tasks: int, stored: float, probing: float) -> Shape:
    """The shape with the least input-load factor; of equal ones that with fewer copies.

    >>> best_shape(64, stored=1.0, probing=64.0)
    Shape(columns=1, rows=64)
    """
    return min(shapes(tasks), key=lambda shape: (input_load(shape, stored, probing), shape.rows))

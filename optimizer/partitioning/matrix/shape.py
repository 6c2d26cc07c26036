"""How the tasks of a store are arranged, and what one of them then receives."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from optimizer.physical.task_grid import decompose, task_grids

_GAIN = 1e-9
"""Relative: less is rounding."""


@dataclass(frozen=True, slots=True)
class Shape:
    """An (n, m) mapping: stored tuples in `columns` parts, each once in `rows` rows.

    A probe asks all tasks of one row, that is `columns` of them. Raises `ValueError` below one.
    """

    columns: int
    rows: int

    def __post_init__(self) -> None:
        if self.columns < 1 or self.rows < 1:
            raise ValueError(f"{self.columns} columns and {self.rows} rows: both must be at least 1")

    def __str__(self) -> str:
        return f"{self.columns}x{self.rows}"

    @property
    def tasks(self) -> int:
        return self.columns * self.rows


@cache
def shapes(tasks: int) -> tuple[Shape, ...]:
    """All ways to arrange so many tasks in one grid, by rows ascending.

    >>> [(shape.columns, shape.rows) for shape in shapes(6)]
    [(6, 1), (3, 2), (2, 3), (1, 6)]
    """
    return tuple(Shape(tasks // rows, rows) for rows in range(1, tasks + 1) if tasks % rows == 0)


def input_load(shape: Shape, stored: float, probing: float) -> float:
    """A task's input-load factor: tuples to keep and to compare (section 3.3).

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
    """The shape of least input-load factor, and of equal ones with the fewest copies.

    >>> best_shape(64, stored=1.0, probing=64.0)
    Shape(columns=1, rows=64)
    """
    return min(shapes(tasks), key=lambda shape: (input_load(shape, stored, probing), shape.rows))


@dataclass(frozen=True, slots=True)
class Arrangement:
    """All tasks of a store: one grid, or several independent ones.

    Of several each keeps a share of the tuples as large as its share of the tasks, and every probe asks
    one row of each (section 4.2.2).

    >>> str(Arrangement.of(7, (2, 2, 1)))
    '2x2+1x2+1x1'
    """

    shapes: tuple[Shape, ...]

    @classmethod
    def of(cls, tasks: int, rows: tuple[int, ...]) -> Arrangement:
        """Raises `ValueError` where `optimizer.physical.task_grid.task_grids` does."""
        return cls(tuple(Shape(grid.columns, grid.rows) for grid in task_grids(tasks, rows)))

    def __str__(self) -> str:
        return "+".join(map(str, self.shapes))

    @property
    def tasks(self) -> int:
        return sum(shape.tasks for shape in self.shapes)

    @property
    def rows(self) -> tuple[int, ...]:
        """Of each grid. Grids of one row each are one row: tuples lie anywhere, once."""
        rows = tuple(shape.rows for shape in self.shapes)
        return (1,) if max(rows) == 1 else rows

    def load(self, stored: float, probing: float) -> float:
        """Tuples that all tasks together receive, to keep and to compare.

        >>> Arrangement.of(3, (1,)).load(10.0, 20.0), Arrangement.of(3, (2, 1)).load(30.0, 60.0)
        (70.0, 170.0)
        """
        tasks = self.tasks
        return sum(s.tasks * input_load(s, stored * s.tasks / tasks, probing) for s in self.shapes)


def best_arrangement(tasks: int, stored: float, probing: float) -> Arrangement:
    """The arrangement of least load: one grid, or powers of two, in their best shapes.

    For a power of two both are the same. Of equal ones the single grid is taken.

    >>> str(best_arrangement(7, 100.0, 100.0)), str(best_arrangement(8, 100.0, 100.0))
    ('2x2+1x2+1x1', '4x2')
    """
    single = Arrangement((best_shape(tasks, stored, probing),))
    parts = decompose(tasks)
    if len(parts) == 1:
        return single
    several = Arrangement(tuple(best_shape(part, stored * part / tasks, probing) for part in parts))
    fewer = several.load(stored, probing) < single.load(stored, probing) * (1 - _GAIN)
    return several if fewer else single

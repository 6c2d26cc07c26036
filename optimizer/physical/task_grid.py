"""A store's tasks as grids: which keep a tuple, and which a probe asks."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache


@dataclass(frozen=True, slots=True)
class TaskGrid:
    """Neighbouring tasks of a store in rows of equal length, numbered row by row.

    >>> grid = TaskGrid(first=4, tasks=4, rows=2)
    >>> list(grid.row(1)), list(grid.column(1))
    ([6, 7], [5, 7])
    """

    first: int
    """The task in the first row and column."""
    tasks: int
    rows: int

    @property
    def columns(self) -> int:
        return self.tasks // self.rows

    @property
    def after(self) -> int:
        """The task behind the last one."""
        return self.first + self.tasks

    def row(self, number: int) -> range:
        """The tasks of a row, which together hold each of the grid's tuples once."""
        start = self.first + number * self.columns
        return range(start, start + self.columns)

    def column(self, number: int) -> range:
        """The tasks of a column, which all hold the same tuples."""
        return range(self.first + number, self.after, self.columns)


def decompose(tasks: int) -> tuple[int, ...]:
    """Powers of two that add up to a number of tasks, the largest first.

    Source: Elseidy et al., PVLDB 7(6), 2014, section 4.2.2.

    >>> decompose(20)
    (16, 4)
    """
    return tuple(1 << bit for bit in reversed(range(tasks.bit_length())) if tasks >> bit & 1)


@cache
def task_grids(tasks: int, rows: tuple[int, ...]) -> tuple[TaskGrid, ...]:
    """A store's tasks as one grid, or as grids of the powers of two in their number.

    >>> [(grid.first, grid.columns, grid.rows) for grid in task_grids(6, (2, 1))]
    [(0, 2, 2), (4, 2, 1)]

    Args:
        tasks: of the store.
        rows: of each grid, in the order of their tasks; of a single one a divisor of `tasks`.

    Raises:
        ValueError: there are not as many grids as rows, or a grid cannot have so many.
    """
    sizes = (tasks,) if len(rows) == 1 else decompose(tasks)
    if len(sizes) != len(rows) or any(n < 1 or size % n for size, n in zip(sizes, rows, strict=True)):
        raise ValueError(f"{tasks} tasks cannot make up {' + '.join(map(str, rows))} equal rows")
    firsts = (sum(sizes[:number]) for number in range(len(sizes)))
    return tuple(TaskGrid(*made) for made in zip(firsts, sizes, rows, strict=True))

"""When the shape of a grid changes: Algorithm 2, which is never far from the best shape.

Squall's controller looks again once one side has doubled since it last looked. What it then misses
before the next look costs at most a quarter of the best shape's load (Theorem 4.1), and what arrived
meanwhile pays for the tuples that move (Lemma 4.5).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from optimizer.matrix.shape import Shape, best_shape, input_load


@dataclass(frozen=True, slots=True)
class Controller:
    """A grid's shape, and the cardinalities for which it was last chosen.

    >>> controller = Controller.start(4, 100.0, 100.0)
    >>> controller.observe(150.0, 190.0).shape, controller.observe(100.0, 400.0).shape
    (Shape(columns=2, rows=2), Shape(columns=1, rows=4))

    States are immutable: `observe` returns the next one. With a power of two for the number of tasks
    the load is at most 1.25 times that of the best shape behind every `observe`, whatever the
    cardinalities do between two of them: grow, as in the paper, or shrink as windows pass.
    """

    shape: Shape
    stored: float
    """|R|: tuples to keep when the shape was last chosen."""
    probing: float
    """|S|: tuples to compare when the shape was last chosen."""
    eagerness: float = 1.0
    """The paper's epsilon (footnote 1), above 0 and at most 1: by what part of itself one side grows until
    the controller looks again. Below 1 it moves more often, and what takes hold late is late by less."""

    @classmethod
    def start(
        cls, tasks: int, stored: float = 0.0, probing: float = 0.0, eagerness: float = 1.0
    ) -> Controller:
        """The best shape for these cardinalities."""
        return cls(best_shape(tasks, stored, probing), stored, probing, eagerness)

    def observe(self, stored: float, probing: float) -> Controller:
        """What to do once the cardinalities are these (`MigrationDecision` of Algorithm 2).

        The paper's |dR| >= |R| or |dS| >= |S| is its first condition. State that only grows has no need
        of the second: one side must have doubled for the ratio of both to have. State that
        leaves with its window may halve one side while the other does not double.
        """
        factor = 1 + self.eagerness
        grown = stored >= factor * self.stored or probing >= factor * self.probing
        before, now = self.stored * probing, self.probing * stored
        if not grown and max(before, now) < factor * min(before, now):
            return self
        return Controller.start(self.shape.tasks, stored, probing, self.eagerness)


def moved(before: Shape, after: Shape, stored: float) -> float:
    """Tuples that tasks send each other when a grid of `stored` tuples, copies not counted, changes shape.

    With more rows every task keeps what it has and gets the rest of its wider column from tasks beside
    it. With fewer rows every task keeps a part of what it has, and nothing is sent (Lemma 4.4).

    >>> moved(Shape(8, 2), Shape(4, 4), 80.0), moved(Shape(4, 4), Shape(8, 2), 80.0)
    (160.0, 0.0)
    """
    return stored * max(0, after.rows - before.rows)


def decompose(tasks: int) -> tuple[int, ...]:
    """Powers of two that add up to a number of tasks, the largest first (section 4.2.2).

    >>> decompose(20)
    (16, 4)
    """
    return tuple(1 << bit for bit in reversed(range(tasks.bit_length())) if tasks >> bit & 1)


@dataclass(frozen=True, slots=True)
class Decomposed:
    """Any number of tasks as independent grids of powers of two.

    Every tuple is sent to all of them in order to probe, and stored in one, which has a share of
    the tuples as large as its share of the tasks. So no task keeps more than 3.75 times what it would
    under the best arrangement of all tasks. The runtime does not do this: it arranges a store's
    tasks as a grid of divisors of their number, which is ours to choose.
    """

    grids: tuple[Controller, ...]

    @classmethod
    def start(cls, tasks: int, stored: float = 0.0, probing: float = 0.0) -> Decomposed:
        return cls(
            tuple(
                Controller.start(part, stored * part / tasks, probing * part / tasks)
                for part in decompose(tasks)
            )
        )

    @property
    def tasks(self) -> int:
        return sum(grid.shape.tasks for grid in self.grids)

    def observe(self, stored: float, probing: float) -> Decomposed:
        """What every grid does once the cardinalities of all together are these."""
        tasks = self.tasks
        return replace(
            self,
            grids=tuple(
                grid.observe(stored * grid.shape.tasks / tasks, probing * grid.shape.tasks / tasks)
                for grid in self.grids
            ),
        )

    def kept(self, stored: float, probing: float) -> float:
        """Tuples of both sides that the fullest task keeps, of R join S with |R| = stored, |S| = probing."""
        return max(
            input_load(grid.shape, stored, probing) * grid.shape.tasks / self.tasks for grid in self.grids
        )

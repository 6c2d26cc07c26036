"""Decide when a grid changes shape, never far from the best one (Algorithm 2).

Squall's controller looks again once one side has doubled since it last looked. What it then misses
before the next look costs at most a quarter of the best shape's load (Theorem 4.1), and what arrived
meanwhile pays for the tuples that move (Lemma 4.5).
"""

from __future__ import annotations

from dataclasses import dataclass

from optimizer.partitioning.matrix.shape import Arrangement, best_arrangement


@dataclass(frozen=True, slots=True)
class Controller:
    """The arrangement of a store's tasks, and the cardinalities it was chosen for.

    >>> controller = Controller.start(4, 100.0, 100.0)
    >>> [str(controller.observe(*seen).arrangement) for seen in ((150.0, 190.0), (100.0, 400.0))]
    ['2x2', '1x4']

    States are immutable: `observe` returns the next one. With a power of two for the number of tasks
    the load is at most 1.25 times that of the best shape behind every `observe`, whatever the
    cardinalities do between two of them: grow, as in the paper, or shrink as windows pass.

    Any other number of tasks may be arranged as grids of powers of two (section 4.2.2). All of them see the
    same ratio of both sides, so they look again at the same moments and need no controllers of their own.
    Where both sides of a join are stored so, no task keeps more than 3.75 times what it would if tasks could
    be arranged in the best way of all, fractions of columns included.
    """

    arrangement: Arrangement
    stored: float
    """|R|: tuples to keep when the arrangement was last chosen."""
    probing: float
    """|S|: tuples to compare when the arrangement was last chosen."""
    eagerness: float = 1.0
    """The paper's epsilon (footnote 1), above 0 and at most 1: by what part of itself one side grows until
    the controller looks again. Below 1 it moves more often, and what takes hold late is late by less."""

    @classmethod
    def start(
        cls, tasks: int, stored: float = 0.0, probing: float = 0.0, eagerness: float = 1.0
    ) -> Controller:
        """The best arrangement for these cardinalities."""
        return cls(best_arrangement(tasks, stored, probing), stored, probing, eagerness)

    def observe(self, stored: float, probing: float) -> Controller:
        """What to do once the cardinalities are these: Algorithm 2's `MigrationDecision`.

        The paper's |dR| >= |R| or |dS| >= |S| is its first condition. State that only grows has no need
        of the second: one side must have doubled for the ratio of both to have. State that
        leaves with its window may halve one side while the other does not double.
        """
        factor = 1 + self.eagerness
        grown = stored >= factor * self.stored or probing >= factor * self.probing
        before, now = self.stored * probing, self.probing * stored
        if not grown and max(before, now) < factor * min(before, now):
            return self
        return Controller.start(self.arrangement.tasks, stored, probing, self.eagerness)

    def follow(self, used: Arrangement, stored: float, probing: float) -> Controller:
        """The state once the cardinalities have come to be these.

        The arrangement was chosen for what they were expected to be.

        If the expectation was right, this is what `observe` says. If it was so wrong that `used` is not
        what would have been chosen, the state is one that looks again at the next moment, whatever comes.

        >>> wrong = Controller.start(4, 100.0, 100.0).follow(Arrangement.of(4, (4,)), 110.0, 120.0)
        >>> str(wrong.arrangement), str(wrong.observe(110.0, 120.0).arrangement)
        ('1x4', '2x2')

        Args:
            used: for as many tasks.
            stored, probing: as of `observe`.
        """
        best = Controller.start(self.arrangement.tasks, stored, probing, self.eagerness)
        for state in (self.observe(stored, probing), best):
            if state.arrangement.rows == used.rows:
                return state
        return Controller(used, 0.0, 0.0, self.eagerness)

"""The tuples that make a batch fail, found by working on parts of it.

What fails on some tuples fails on these and more: results are found from pairs of tuples, so what a tuple
does alone it does in company. Hence the parts are halved, as in Zeller and Hildebrandt's delta debugging
(IEEE TSE 28(2), 2002, section 3): a half that succeeds beside everything that was accepted before is
accepted, one that fails is halved further, and what cannot be halved is set aside. The order of the parts
alone decides: of two tuples that only fail together, the later one is set aside.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from jobs.failures.task_failure import Failure, TaskFailed

Part = TypeVar("Part")
Done = TypeVar("Done")

MOST_ATTEMPTS = 200
"""At the tuples of one batch; then what still fails is set aside in the pieces that are left."""
MOST_OF_A_QUERY = 8
"""Tuples that may be set aside because of the same queries; with more of them it is the queries that fail."""


@dataclass(frozen=True, slots=True)
class Bisected(Generic[Part, Done]):
    done: Done
    """What came of the attempt at all that was accepted, and nothing else."""
    accepted: tuple[Part, ...]
    aside: tuple[tuple[Part, Failure], ...]
    """What was set aside, with what its attempt failed with."""
    attempts: int


class QueriesFail(Exception):
    """That a batch fails because of queries, whatever its tuples are."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(str(failure))
        self.failure = failure


def bisect(
    parts: Sequence[Part],
    attempt: Callable[[Sequence[Part]], Done],
    halves: Callable[[Sequence[Part]], tuple[Sequence[Part], Sequence[Part]] | None],
    failure: Failure,
) -> Bisected[Part, Done]:
    """Find out which of the parts make an attempt at all of them fail.

    Raises `QueriesFail` if it is queries, not tuples; `TaskFailed` if an attempt without tuples fails too.

    Args:
        attempt: works on parts, in their order. Raises `TaskFailed`; anything else ends the search.
        halves: cuts parts in two, neither of them empty; None if nothing is left to be cut.
        failure: of the attempt at all of them.
    """
    if failure.every_tuple and failure.queries:
        raise QueriesFail(failure)
    search = _Search(attempt, halves)
    try:
        search.done = attempt(())
    except TaskFailed as error:
        if error.failure.queries:
            raise QueriesFail(error.failure) from error
        raise
    if parts:
        search.set_aside_within(parts, failure)
    return Bisected(search.done, tuple(search.accepted), tuple(search.aside), search.attempts)


class _Search(Generic[Part, Done]):
    def __init__(
        self,
        attempt: Callable[[Sequence[Part]], Done],
        halves: Callable[[Sequence[Part]], tuple[Sequence[Part], Sequence[Part]] | None],
    ) -> None:
        self._attempt = attempt
        self._halves = halves
        self.done: Done
        self.accepted: list[Part] = []
        self.aside: list[tuple[Part, Failure]] = []
        self.attempts = 1

    def set_aside_within(self, parts: Sequence[Part], failure: Failure, *, seen: bool = False) -> None:
        """Accept what one can of parts that fail beside the accepted; set aside the rest.

        Unless it was `seen`, that they fail only follows: nothing is set aside for that alone, nor for a
        process that has ended only once, which may have been ended from outside.
        """
        cut = self._halves(parts) if self.attempts < MOST_ATTEMPTS else None
        if cut is None:
            last = failure if seen else self._fails(parts)
            if last is not None and last.lost:
                last = self._fails(parts)
            if last is not None:
                self.aside.extend((part, last) for part in parts)
                self._blame(last)
            return
        first, second = cut
        lost = self._fails(first)
        if lost is None:
            # Together they fail, so the second one does.
            self.set_aside_within(second, failure)
            return
        self.set_aside_within(first, lost, seen=True)
        lost = self._fails(second)
        if lost is not None:
            self.set_aside_within(second, lost, seen=True)

    def _fails(self, parts: Sequence[Part]) -> Failure | None:
        self.attempts += 1
        try:
            self.done = self._attempt((*self.accepted, *parts))
        except TaskFailed as error:
            if error.failure.every_tuple and error.failure.queries:
                raise QueriesFail(error.failure) from error
            return error.failure
        self.accepted.extend(parts)
        return None

    def _blame(self, failure: Failure) -> None:
        alike = sum(other.queries == failure.queries for _, other in self.aside)
        if failure.queries and alike >= MOST_OF_A_QUERY:
            raise QueriesFail(failure)

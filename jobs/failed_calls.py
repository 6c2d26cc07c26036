"""Calls of user functions that raised, by the queries that concerns.

A call that raises has the answer NULL, so a result may be missing without anything going wrong. That is
counted beside the results.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from optimizer.udf.evaluate import failures


class FailedCalls:
    """What functions have raised since it was made.

    A task does one thing after the other in its process: what has failed since the last `count` failed in
    what was done in between. A tuple or pair that several steps look at counts in each of them.
    """

    def __init__(self) -> None:
        self._before = failures.total()
        self._by_query: Counter[str] = Counter()

    def count(self, queries: Iterable[str]) -> None:
        """All that failed since the last call of this was work for these queries."""
        now = failures.total()
        if now != self._before:
            for query in queries:
                self._by_query[query] += now - self._before
            self._before = now

    @property
    def by_query(self) -> dict[str, int]:
        """Failed calls by the name of the query, sorted; queries without any are missing."""
        return {query: self._by_query[query] for query in sorted(self._by_query)}

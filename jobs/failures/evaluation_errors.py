"""Errors of user functions and expressions, by the queries that they concern.

What raises has the answer NULL, so a result may be missing without anything going wrong. That is
counted beside the results, and some of the tuples become dead letters, which say what raised.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import pyarrow as pa

from jobs.expressions.guarded import Raised, notes
from jobs.failures.dead_letters import DEAD_LETTERS
from jobs.plan.index import RuleIndex
from optimizer.algebra.expression import Column, walk
from optimizer.algebra.render import to_sql
from optimizer.udf.evaluate import drain_failures, failures

MOST_LETTERS = 100
"""Of one task at one level in a batch."""


class FailedCalls:
    """What functions and expressions have raised since it was made.

    A task does one thing after the other in its process: what has failed since the last `count` failed in
    what was done in between. A tuple or pair that several steps look at counts in each of them.
    """

    def __init__(self, index: RuleIndex) -> None:
        self._index = index
        self._before = failures.total()
        self._by_query: Counter[str] = Counter()
        self._letters: dict[tuple[str, str, str], dict[str, Any]] = {}
        notes.drain()
        drain_failures()

    def count(self, queries: Iterable[str], start: str) -> None:
        """Count failures since the last call for these queries, begun by input `start`."""
        now = failures.total() if failures else 0
        rows, raised = notes.drain()
        if now == self._before and not rows:
            return
        names = sorted(queries)
        for query in names:
            self._by_query[query] += now - self._before + rows
        self._before = now
        told = ", ".join(names)
        for one in raised:
            self._add(told, self._letter(told, one))
        for function, error, values in drain_failures():
            letter = {"stream": self._index.stream_of(start), "reason": _reason(error), "query": told}
            self._add(told, {**letter, "expression": function, "tuple": values})

    def _letter(self, queries: str, raised: Raised) -> dict[str, Any]:
        columns = [node for node in walk(raised.expression) if isinstance(node, Column)]
        return {
            "stream": self._index.stream_of(columns[0].input) if columns else "",
            "reason": _reason(raised.error),
            "event_time": raised.event_time_us,
            "tuple": raised.values,
            "query": queries,
            "expression": to_sql(raised.expression),
        }

    def _add(self, queries: str, letter: dict[str, Any]) -> None:
        if len(self._letters) < MOST_LETTERS:
            self._letters.setdefault((queries, letter["expression"], letter["tuple"]), letter)

    @property
    def by_query(self) -> dict[str, int]:
        """Rows that raised, by name of the query, sorted; queries without any are missing."""
        return {query: self._by_query[query] for query in sorted(self._by_query)}

    @property
    def letters(self) -> pa.Table | None:
        """Dead letters of some of these rows, whose tuples are accepted; None without any."""
        if not self._letters:
            return None
        return pa.Table.from_pylist(list(self._letters.values()), DEAD_LETTERS)


def _reason(error: str) -> str:
    return f"raised {error}"

"""What running groups must have, so that each row is known by its keys."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from optimizer.algebra.errors import InputError
from optimizer.algebra.expression import Column
from optimizer.algebra.identifiers import matches
from optimizer.algebra.render import to_sql
from optimizer.logical.grouping import GROUP, Grouping
from optimizer.logical.query import Output
from optimizer.sql.grammar.places import SourceText, span_of

_DELETED = "_deleted"
"""What running groups' results have beside their outputs (`optimizer.physical.groups.DELETED`)."""


def running_fault(
    text: SourceText, select: exp.Select, grouping: Grouping, outputs: Sequence[Output]
) -> InputError | None:
    """The error of groups without an end whose rows cannot be told apart."""
    place = span_of(select)
    if not grouping.keys and not grouping.aggregates:
        return text.error(place, "aggregate", "HAVING of nothing", "an aggregate, or GROUP BY")
    if not grouping.changes:
        return None
    read = {output.expression for output in outputs}
    for name, key in grouping.keys:
        if Column(GROUP, name, key.type) not in read:
            expected = "every key of GROUP BY among the outputs: its row is known by them"
            return text.error(place, "bad-key", f"{to_sql(key)} outside the outputs", expected)
    if any(matches(output.name, _DELETED) for output in outputs):
        expected = "another name: this column says that a group has left the answer"
        return text.error(place, "bad-name", f"an output called {_DELETED}", expected)
    return None

"""SQL text for queries that were built without any."""

from __future__ import annotations

from optimizer.algebra.render import quote_if_needed, to_sql
from optimizer.logical.query import Query


def query_text(query: Query) -> str:
    """The query in Millrace's SQL, one clause per line.

    Its inputs and predicates come in the query's own order, which is canonical. A query with outer, semi or
    anti joins stays as it was written.

    >>> from optimizer.sql import parse_query
    >>> print(query_text(parse_query("SELECT r.a FROM r [RANGE 1 SECOND], s WHERE r.a = s.a", "q", None)))
    SELECT r.a AS a
    FROM r [RANGE 1 SECONDS] AS r, s AS s
    WHERE r.a = s.a
    """
    if query.branches:
        return query.written
    outputs = ", ".join(f"{to_sql(o.expression)} AS {quote_if_needed(o.name)}" for o in query.outputs)
    inputs = []
    for item in query.inputs:
        source = item.window.behind_in_plans(quote_if_needed(item.stream))
        inputs.append(f"{source} AS {quote_if_needed(item.alias)}")
    joint = " CROSS JOIN " if query.cross_join else ", "
    lines = [f"SELECT {outputs}", f"FROM {joint.join(inputs)}"]
    if query.predicates:
        lines.append("WHERE " + "\n  AND ".join(to_sql(predicate) for predicate in query.predicates))
    return "\n".join(lines)

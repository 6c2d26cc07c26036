"""Tables in FROM, and ON of their as-of joins.

ON equates every column of the table's key, which finds the version in force at an event time of the left
side. What else it says is asked of that version, as if there was only the table as it stood at that time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from sqlglot import exp

from optimizer.algebra.errors import InputError
from optimizer.algebra.expression import Column, Expression, Literal
from optimizer.algebra.render import quote_if_needed, to_sql
from optimizer.algebra.types import ColumnType
from optimizer.algebra.typing import call
from optimizer.logical.catalog import Catalog
from optimizer.logical.deadlines import time_of
from optimizer.logical.query import Input
from optimizer.logical.stream import Stream
from optimizer.sql.binding.outer.as_of import check_as_of
from optimizer.sql.binding.outer.branching import Unanswerable
from optimizer.sql.binding.outer.in_force import Versions, equates, later_time
from optimizer.sql.grammar.places import SourceText, span_of


def checked(
    on: Sequence[Expression],
    left: frozenset[str],
    right: frozenset[str],
    inputs: Sequence[Input],
    catalog: Catalog,
) -> Versions | None:
    """Check ON of an as-of join, and tell how it finds the version of a table.

    None if there is a stream on the right.

    Args:
        on: the conjuncts of ON.
        left, right: the aliases of the two sides.
        inputs: all that were read.
        catalog: knows their streams.
    Raises:
        Unanswerable: as `check_as_of` does, or ON does not say which version is meant.
    """
    times = {item.alias: time_of(item, catalog) for item in inputs}
    streams = {item.alias: catalog[item.stream] for item in inputs}
    if len(right) == 1 and streams[min(right)].is_table:
        return _versions(on, streams[min(right)], min(right), left, times)
    check_as_of(on, left, right, times)
    return None


def refused(
    text: SourceText, node: exp.Expr, as_of: bool, inputs: Sequence[Input], catalog: Catalog
) -> Iterator[InputError]:
    """What is wrong with an entry of FROM that is a table: only as-of joins read one.

    Args:
        text: the query's.
        node: the entry, the last of `inputs`.
        as_of: whether it is on the right of an as-of join.
        inputs: all that were read.
        catalog: knows their streams.
    """
    *before, item = inputs
    table = catalog[item.stream]
    if not table.is_table:
        return
    if not as_of:
        found = (
            f"the table {table.name} joined like a stream" if before else f"the table {table.name} in FROM"
        )
        first = next((one for one in before if not catalog[one.stream].is_table), None)
        time = None if first is None else time_of(first, catalog)
        yield text.error(span_of(node), "table", found, how_to_join(table, item, time))
    elif (window := node.meta.get("window")) is not None:
        found, expected = f"a window of the table {table.name}", "none: of every key one version is in force"
        yield text.error((window.number_span[0], window.unit_span[1]), "table", found, expected)


def _versions(
    on: Sequence[Expression], table: Stream, alias: str, left: frozenset[str], times: Mapping[str, Column]
) -> Versions:
    """How ON finds the version of a table that is in force."""
    own = times[alias]
    asked = sum(later_time(condition, own, times.values()) is not None for condition in on)
    if asked != 1:
        time = to_sql(next((times[one] for one in sorted(left)), own))
        found = f"{'no' if not asked else 'more than one'} time as of which {alias} is looked up"
        raise Unanswerable(
            found, f"FOR SYSTEM_TIME AS OF {time}, or ASOF JOIN ... ON {time} >= {to_sql(own)}"
        )
    types = dict(table.columns)
    key = [Column(alias, name, types[name]) for name in table.key]
    missing = [to_sql(column) for column in key if not any(equates(condition, column) for condition in on)]
    if missing:
        raise Unanswerable(
            f"as-of join with the table {table.name} without {' and '.join(missing)} of its key",
            f"{' AND '.join(f'{name} = ...' for name in missing)} in ON, with a value of the same type",
        )
    existing: list[Expression] = []
    if table.deleted is not None:
        flag = Column(alias, table.deleted, ColumnType.BOOLEAN)
        existing.append(call("not", call("coalesce", flag, Literal(False, ColumnType.BOOLEAN))))
    return Versions(tuple(key), own, tuple(times.values()), tuple(existing))


def how_to_join(table: Stream, item: Input, time: Column | None) -> str:
    """What to write in place of a use of a table that is no as-of join.

    >>> columns = (("at", ColumnType.TIMESTAMP), ("tail", ColumnType.STRING))
    >>> planes = Stream("planes", columns, "at", kind="table", key=("tail",))
    >>> how_to_join(planes, Input("p", "planes"), Column("d", "at", ColumnType.TIMESTAMP))
    'JOIN planes FOR SYSTEM_TIME AS OF d.at AS p ON p.tail = ...'
    """
    moment = "the event time of a stream before it" if time is None else to_sql(time)
    alias = "" if item.alias == table.name else f" AS {quote_if_needed(item.alias)}"
    types = dict(table.columns)
    key = " AND ".join(f"{to_sql(Column(item.alias, name, types[name]))} = ..." for name in table.key)
    return f"JOIN {quote_if_needed(table.name)} FOR SYSTEM_TIME AS OF {moment}{alias} ON {key}"

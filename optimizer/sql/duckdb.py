"""Queries as DuckDB's SQL: the oracle that says what a query's results are."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import permutations

from optimizer.algebra.expression import Call, Expression, Literal
from optimizer.algebra.render import duckdb_type, quote, to_duckdb_sql
from optimizer.algebra.types import ColumnType
from optimizer.logical.catalog import Catalog
from optimizer.logical.grouping import GROUP, Aggregate, Bucket, Grouping
from optimizer.logical.query import Absence, Branch, Input, Query, derived_of, newest_columns

_NEVER_RAISE = frozenset({"and", "or", "not", "eq", "ne", "lt", "le", "gt", "ge", "is_null", "in", "case"})
"""Around these nothing is needed, and DuckDB sees what it can join by."""
_ROUNDED_DIGITS = 16
"""Decimals of so many digits are not exact as doubles, as which DuckDB finds what is between them."""


def null_where_it_errs(call: Call, text: str) -> str:
    """A call as the runtime has it: NULL where DuckDB ends the query.

    Becomes `TRY` for `to_duckdb`.

    >>> from optimizer.algebra.expression import Column
    >>> from optimizer.algebra.types import ColumnType
    >>> cast = Call("cast", (Column("a", "x", ColumnType.STRING),), ColumnType.BIGINT)
    >>> null_where_it_errs(cast, "CAST(a.x AS BIGINT)")
    'TRY(CAST(a.x AS BIGINT))'
    """
    return text if call.function in _NEVER_RAISE else f"TRY({text})"


def to_duckdb(
    query: Query,
    catalog: Catalog,
    beside: Sequence[str] = (),
    also: Sequence[str] = (),
    around: Callable[[Call, str], str] | None = None,
    exact: bool = False,
) -> str:
    """SQL for DuckDB that gives the query's results over relations named like streams.

    The branches of outer, semi and anti joins are selected one by one; `beside` and `also` must then be
    about inputs that each of them has. Of a query with groups `beside` is about `GROUP`, of one with
    sessions also about its `SESSION_LAST`.

    A window is the pairwise condition that no tuple of the combination is more than it
    behind another (DESIGN section 1): for a over 1 s and b unbounded,
    `epoch_us(b.at)::HUGEINT - epoch_us(a.at) <= 1000000`.

    >>> from optimizer.algebra.types import ColumnType
    >>> from optimizer.logical.stream import Stream
    >>> from optimizer.sql import parse_query
    >>> columns = (("at", ColumnType.TIMESTAMP), ("a", ColumnType.INT))
    >>> catalog = Catalog.of(Stream(name, columns, "at") for name in ("r", "s"))
    >>> query = parse_query("SELECT r.a FROM r [RANGE 1 SECOND], s WHERE r.a = s.a", "q", catalog)
    >>> print(to_duckdb(query, catalog))
    SELECT "r"."a" AS "a"
    FROM "r" AS "r", "s" AS "s"
      WHERE ("r"."a" = "s"."a")
      AND (epoch_us("s"."at")::HUGEINT - epoch_us("r"."at") <= 1000000)

    Args:
        query: what is asked.
        catalog: has the query's streams.
        beside: DuckDB's SQL of further columns, behind the outputs, such as `a.arrival AS "arrival"`.
        also: DuckDB's SQL of further conditions.
        around: written around each call, such as `null_where_it_errs`.
        exact: have doubles of groups summed by the function EXACT_SUM of a list, which DuckDB must have; its
            own sums depend on the order.
    Raises:
        KeyError: the catalog lacks one of the query's streams.
    """
    catalog = catalog.beside([query])
    if query.grouping is not None:
        combinations = _combinations(query, catalog, (), also, around)
        groups = _groups(query, query.grouping, combinations, around, beside, exact=exact)
        return f"{_derived(query, catalog, around, exact=exact)}{groups}"
    joins = _combinations(query, catalog, beside, also, around)
    return f"{_derived(query, catalog, around, exact=exact)}{joins}"


def groups_to_duckdb(
    query: Query,
    combinations: str,
    around: Callable[[Call, str], str] | None = None,
    apart: Sequence[str] = (),
    exact: bool = False,
) -> str:
    """SQL for DuckDB that gives a query's results of some of its combinations.

    >>> from optimizer.algebra.types import ColumnType
    >>> from optimizer.logical.stream import Stream
    >>> from optimizer.sql import parse_query
    >>> catalog = Catalog.of([Stream("r", (("at", ColumnType.TIMESTAMP), ("a", ColumnType.INT)), "at")])
    >>> query = parse_query("SELECT a, COUNT(*) AS n FROM r GROUP BY a", "q", catalog)
    >>> print(groups_to_duckdb(query, "SELECT * FROM seen", apart=["batch"]))
    SELECT "@group"."key1" AS "a", "@group"."agg1" AS "n", "@group"."batch" AS "batch"
    FROM (SELECT "key1", "batch", count(*) AS "agg1" FROM (SELECT * FROM seen) GROUP BY 1, 2) AS "@group"

    Args:
        query: with running groups.
        combinations: DuckDB's SQL of what the groups take of them, the outputs of the query's branches.
        around: written around each call, such as `null_where_it_errs`.
        apart: further columns of the combinations, of which each has groups of its own; they come behind a
            result's own columns.
        exact: as of `to_duckdb`.
    """
    assert query.grouping is not None
    beside = [f"{quote(GROUP)}.{quote(name)} AS {quote(name)}" for name in apart]
    return _groups(query, query.grouping, combinations, around, beside, apart=apart, exact=exact)


def _derived(query: Query, catalog: Catalog, around: Callable[[Call, str], str] | None, exact: bool) -> str:
    """WITH and the derived streams that a query reads, each once."""
    found = derived_of([query])
    named = (
        f"{quote(one.stream.name)} AS "
        f"({to_duckdb(replace(one.query, derived=()), catalog, around=around, exact=exact)})"
        for one in found
    )
    return f"WITH {', '.join(named)}\n" if found else ""


def _combinations(
    query: Query,
    catalog: Catalog,
    beside: Sequence[str],
    also: Sequence[str],
    around: Callable[[Call, str], str] | None,
) -> str:
    selects = []
    for part in query.branches or (query,):
        conditions = _conditions(part.inputs, part.predicates, catalog, around)
        sources = _sources(part.inputs)
        if isinstance(part, Branch):
            conditions += [_asked(part, one, catalog, around) for one in part.absences if not one.newest]
            conditions += [to_duckdb_sql(condition, around) for condition in part.residuals]
            # What stands behind a comma could not read what stands before it.
            sources = sources.replace(", ", " CROSS JOIN ") if part.newest else sources
            sources += "".join(_as_of(part, absence, catalog, around) for absence in part.newest)
        conditions += also
        columns = [f"{to_duckdb_sql(o.expression, around)} AS {quote(o.name)}" for o in part.outputs]
        outputs = ", ".join([*columns, *beside])
        where = "".join(f"\n  {'AND' if n else 'WHERE'} ({c})" for n, c in enumerate(conditions))
        selects.append(f"SELECT {outputs}\nFROM {sources}{where}")
    return "\nUNION ALL\n".join(selects)


def _groups(
    query: Query,
    grouping: Grouping,
    combinations: str,
    around: Callable[[Call, str], str] | None,
    beside: Sequence[str] = (),
    last: str = "",
    apart: Sequence[str] = (),
    exact: bool = False,
) -> str:
    """SQL for the groups of combinations, which are given as SQL."""
    bucket, names = grouping.bucket, grouping.taken
    if bucket is not None and bucket.overlapping > 1:
        start = f"{quote(bucket.key)} - to_microseconds(n * {bucket.slide_us}) AS {quote(bucket.key)}"
        others = f"SELECT * REPLACE ({start}) FROM ({combinations}), range({bucket.overlapping}) AS slides(n)"
        combinations = f"SELECT * EXCLUDE (n) FROM ({others})"
    if bucket is not None and bucket.gap_us:
        combinations = _in_sessions(grouping, bucket, combinations)
    keys = [
        f"{quote(name)} + 0.0 AS {quote(name)}" if key.type is ColumnType.DOUBLE else quote(name)
        for name, key in grouping.keys
    ]
    keys += map(quote, apart)
    kept = [*keys, *(f"{_aggregate(one, names, exact)} AS {quote(one.name)}" for one in grouping.aggregates)]
    if bucket is not None and bucket.gap_us:
        kept.append(f"max({quote(SESSION_LAST)}) AS {quote(SESSION_LAST)}")
    positions = ", ".join(str(number) for number in range(1, len(keys) + 1))
    groups = f"SELECT {', '.join(kept)} FROM ({combinations})" + (f" GROUP BY {positions}" if keys else "")
    columns = (f"{to_duckdb_sql(o.expression, around)} AS {quote(o.name)}" for o in query.outputs)
    outputs = ", ".join([*columns, *beside])
    where = [f"({to_duckdb_sql(condition, around)})" for condition in grouping.conditions]
    asked = f"\nWHERE {' AND '.join(where)}" if where else ""
    return f"SELECT {outputs}\nFROM ({groups}) AS {quote(GROUP)}{asked}{_first(grouping, around)}{last}"


def _in_sessions(grouping: Grouping, bucket: Bucket, combinations: str) -> str:
    """Combinations whose key is the beginning of the session that their time is in.

    One begins where there is a gap, or nothing, before a time; the newest beginning is a time's own.
    """
    time = quote(bucket.key)
    alike = [
        f"{quote(name)} + 0.0" if key.type is ColumnType.DOUBLE else quote(name)
        for name, key in grouping.keys
        if name != bucket.key
    ]
    partition = f"PARTITION BY {', '.join(alike)} " if alike else ""
    window = f"({partition}ORDER BY {time})"
    gap = f"epoch_us({time})::HUGEINT - epoch_us(lag({time}) OVER {window}) <= {bucket.gap_us}"
    begins = f"CASE WHEN {gap} THEN NULL ELSE {time} END AS {_BEGINS}"
    marked = f"SELECT *, {begins}, {time} AS {quote(SESSION_LAST)} FROM ({combinations})"
    start = f"max({_BEGINS}) OVER {window} AS {time}"
    return f"SELECT * EXCLUDE ({_BEGINS}) REPLACE ({start}) FROM ({marked})"


_BEGINS = '"@begins"'
SESSION_LAST = "@last"
"""The column of `GROUP` that has a session's newest time."""


def _first(grouping: Grouping, around: Callable[[Call, str], str] | None) -> str:
    """The condition that leaves the first groups of every bucket."""
    if grouping.limit is None or grouping.bucket is None:
        return ""
    by = [
        f"{to_duckdb_sql(one.expression, around)} {'DESC' if one.descending else 'ASC'} "
        f"NULLS {'FIRST' if one.nulls_first else 'LAST'}"
        for one in grouping.order
    ]
    by += [f"{quote(GROUP)}.{quote(name)} NULLS LAST" for name, _ in grouping.keys]
    alike = ", ".join(f"{quote(GROUP)}.{quote(key)}" for key in (grouping.bucket.key, *grouping.beside))
    window = f"PARTITION BY {alike} ORDER BY {', '.join(by)}"
    return f"\nQUALIFY row_number() OVER ({window}) <= {grouping.limit}"


EXACT_SUM = "millrace_exact_sum"
"""A function that sums a list of doubles, rounded once; NULL of none."""


def _aggregate(one: Aggregate, names: Mapping[Expression, str], exact: bool) -> str:
    if one.scheme in ("least_by", "greatest_by"):
        # Of several that are least or greatest DuckDB's own functions take any.
        value, by = (quote(names[argument]) for argument in one.arguments)
        asked = [f"{value} IS NOT NULL", f"{by} IS NOT NULL"]
        asked += [] if one.where is None else [quote(names[one.where])]
        pair = f"{'min' if one.scheme == 'least_by' else 'max'}({{'by': {by}, 'value': {value}}})"
        return f"({pair} FILTER ({' AND '.join(asked)})).value"
    arguments = ", ".join(quote(names[argument]) for argument in one.arguments) or "*"
    if isinstance(one.constant, float):
        arguments += f", {one.constant!r}::DOUBLE"
    if isinstance(one.constant, str):
        separator = to_duckdb_sql(Literal(one.constant, ColumnType.STRING), None)
        arguments = f"{quote(names[one.arguments[0]])}, {separator}{_in_order(one, names)}"
    elif one.function in ("first", "last", "mode"):
        arguments = f"{quote(names[one.arguments[0]])}{_in_order(one, names)}"
    where = "" if one.where is None else f" FILTER ({quote(names[one.where])})"
    if exact and one.function in ("sum", "avg") and one.arguments[0].type is ColumnType.DOUBLE:
        values = f"{'DISTINCT ' if one.distinct else ''}{arguments}"
        total = f"{EXACT_SUM}(list({values}){where})"
        return total if one.function == "sum" else f"{total} / count({values}){where}"
    text = f"{one.function}({'DISTINCT ' if one.distinct else ''}{arguments}){where}"
    if one.function in ("median", "quantile_cont") and one.type.is_decimal:
        return _within_digits(text, one.type)
    # DuckDB's sums have types of their own.
    return f"TRY_CAST({text} AS {duckdb_type(one.type)})" if one.function == "sum" else text


def _within_digits(text: str, kind: ColumnType) -> str:
    """Bound a number by its type.

    Between decimals of many digits DuckDB finds some that have one more.
    """
    if kind.precision < _ROUNDED_DIGITS:
        return text
    nines = "9" * kind.precision
    most = f"{nines[: kind.precision - kind.scale]}.{nines[: kind.scale]}".rstrip(".")
    greatest, least = (f"CAST('{sign}{most}' AS {duckdb_type(kind)})" for sign in ("", "-"))
    return f"CASE WHEN {text} > {greatest} THEN {greatest} WHEN {text} < {least} THEN {least} ELSE {text} END"


def _in_order(one: Aggregate, names: Mapping[Expression, str]) -> str:
    """ORDER BY inside an aggregate: as written, and then by the values."""
    value, *by = (quote(names[argument]) for argument in one.arguments)
    order = [
        f"{key} {'DESC' if way.descending else 'ASC'} NULLS {'FIRST' if way.nulls_first else 'LAST'}"
        for key, way in zip(by, one.directions, strict=True)
    ]
    # DuckDB lets DISTINCT values be ordered by themselves alone, once.
    order += [] if one.distinct and order else [f"{value} NULLS LAST"]
    return f" ORDER BY {', '.join(order)}"


def newest_first(
    query: Query, catalog: Catalog, limit: int, around: Callable[[Call, str], str] | None = None
) -> str:
    """SQL for DuckDB that gives the results with the newest tuples; as `to_duckdb`.

    >>> from optimizer.algebra.types import ColumnType
    >>> from optimizer.logical.catalog import Catalog
    >>> from optimizer.logical.stream import Stream
    >>> from optimizer.sql import parse_query
    >>> columns = (("at", ColumnType.TIMESTAMP), ("a", ColumnType.INT))
    >>> catalog = Catalog.of(Stream(name, columns, "at", tuples_per_second=10.0) for name in ("r", "s"))
    >>> text = "SELECT r.a FROM r [RANGE 1 SECOND], s [RANGE 1 SECOND] WHERE r.a = s.a"
    >>> query = parse_query(text, "q", catalog)
    >>> newest_first(query, catalog, 5).splitlines()[-1]
    'ORDER BY greatest("r"."at", "s"."at") DESC LIMIT 5'
    """
    catalog = catalog.beside([query])
    if query.derived:
        own = replace(query, derived=())
        return f"{_derived(query, catalog, around, exact=False)}{newest_first(own, catalog, limit, around)}"
    if query.grouping is not None:
        bucket = query.grouping.bucket
        first = "" if bucket is None else f"ORDER BY {quote(GROUP)}.{quote(bucket.key)} DESC "
        newest = f"\n{first}LIMIT {limit}"
        combinations = _combinations(query, catalog, (), (), around)
        return _groups(query, query.grouping, combinations, around, last=newest)
    if query.branches:
        selects = [
            f"({to_duckdb(part, catalog, (f'{_newest(branch.inputs, catalog)} AS {_NEWEST}',), (), around)})"
            for branch in query.branches
            for part in [replace(query, branches=(branch,))]
        ]
        names = ", ".join(quote(output.name) for output in query.outputs)
        together = "\nUNION ALL\n".join(selects)
        return f"SELECT {names} FROM (\n{together}\n) ORDER BY {_NEWEST} DESC LIMIT {limit}"
    newest = _newest(query.inputs, catalog)
    return f"{to_duckdb(query, catalog, around=around)}\nORDER BY {newest} DESC LIMIT {limit}"


_NEWEST = '"@newest"'


def _newest(inputs: Sequence[Input], catalog: Catalog) -> str:
    moments = [_moment(item, catalog) for item in inputs]
    return moments[0] if len(moments) == 1 else f"greatest({', '.join(moments)})"


def _moment(item: Input, catalog: Catalog) -> str:
    return f"{quote(item.alias)}.{quote(catalog[item.stream].event_time)}"


def _sources(inputs: Sequence[Input]) -> str:
    return ", ".join(f"{quote(i.stream)} AS {quote(i.alias)}" for i in inputs)


def _conditions(
    inputs: Sequence[Input],
    predicates: Sequence[Expression],
    catalog: Catalog,
    around: Callable[[Call, str], str] | None,
) -> list[str]:
    """Predicates, and the windows of pairs of inputs."""
    return [to_duckdb_sql(predicate, around) for predicate in predicates] + [
        condition
        for old, new in permutations(inputs, 2)
        if (condition := old.window.duckdb_condition(_moment(new, catalog), _moment(old, catalog)))
        is not None
    ]


def _asked(
    branch: Branch, absence: Absence, catalog: Catalog, around: Callable[[Call, str], str] | None
) -> str:
    words = "EXISTS" if absence.present else "NOT EXISTS"
    return f"{words} (SELECT 1 FROM {_partners(branch, absence, catalog, around)})"


def _as_of(
    branch: Branch, absence: Absence, catalog: Catalog, around: Callable[[Call, str], str] | None
) -> str:
    """A join with the newest partner.

    Of several of one event time DuckDB's own ASOF JOIN takes any.
    """
    (item,) = absence.inputs
    order = [f"{_moment(item, catalog)} DESC"]
    for column in newest_columns(branch, item.alias, catalog[item.stream]):
        order.append(f"{to_duckdb_sql(column)} DESC NULLS LAST")
        if column.type is ColumnType.DOUBLE:
            order.append(f"signbit({to_duckdb_sql(column)})")
    partners = _partners(branch, absence, catalog, around)
    newest = f"SELECT {quote(item.alias)}.* FROM {partners} ORDER BY {', '.join(order)} LIMIT 1"
    return f" {'' if absence.present else 'LEFT '}JOIN LATERAL ({newest}) AS {quote(item.alias)} ON TRUE"


def _partners(
    branch: Branch, absence: Absence, catalog: Catalog, around: Callable[[Call, str], str] | None
) -> str:
    """The sources of partners, and WHERE with their conditions."""
    beside = [item for item in branch.inputs if item.alias in absence.beside]
    conditions = _conditions((*beside, *absence.inputs), absence.predicates, catalog, around)
    where = "".join(f" {'AND' if n else 'WHERE'} ({c})" for n, c in enumerate(conditions))
    return f"{_sources(absence.inputs)}{where}"

"""A batch query's text to one query over streams that means the same."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from optimizer.algebra.errors import InputError, Place
from optimizer.conversion.binary.dialect import read_statement
from optimizer.conversion.binary.moments import fixed_moment
from optimizer.conversion.binary.rendering import to_text
from optimizer.conversion.continuous.clauses import Clauses, clauses_of
from optimizer.conversion.continuous.edits import Edit, EditedText
from optimizer.conversion.continuous.levels import is_grouped, joined_level
from optimizer.logical.catalog import Catalog
from optimizer.logical.durations import duration_text, parse_duration_us, unit_us
from optimizer.logical.query import Query
from optimizer.logical.window import Sliding
from optimizer.sql.binding.statement import StatementReader
from optimizer.sql.grammar.places import SourceText, span_of
from optimizer.sql.grammar.syntax import tokens_of

_NO_VIEWS: Mapping[str, Query] = {}
Buckets = Literal["none", "inner", "all"]
"""Which groups get a bucket: none, those that another query reads, or all."""
_BUCKETS: tuple[Buckets, ...] = ("none", "inner", "all")
_MOMENTS = frozenset({TokenType.DATE, TokenType.TIMESTAMP})


@dataclass(frozen=True, slots=True)
class ContinuousQuery:
    """A text as one query over streams, or what stands in the way."""

    sql: str | None
    """In our dialect; None where there are `problems`."""
    chosen: tuple[str, ...]
    """What was decided for it, a sentence each; empty without `sql`."""
    left_out: tuple[InputError, ...]
    """What the text has and the query has not, because it says nothing over streams."""
    problems: tuple[InputError, ...]
    """What our SQL cannot express, at its place in the text that was given."""


def window_of(text: str) -> Sliding:
    """The window that a person wrote, such as `1 HOUR`.

    >>> window_of("90 minutes").text
    '90m'

    Raises `InputError` for what is no duration, and for none at all.
    """
    try:
        length_us = parse_duration_us(text)
    except ValueError:
        length_us = 0  # told as a window of nothing is
    if length_us <= 0:
        found = text.strip() or "nothing"
        place = Place("query", path="window")
        raise InputError("bad-window", place, found, "a length such as 1 HOUR or 90 MINUTES")
    return Sliding(length_us)


def continuous(
    text: str,
    catalog: Catalog,
    window: Sliding,
    views: Mapping[str, Query] = _NO_VIEWS,
    source: str = "query",
) -> ContinuousQuery:
    """One query of our dialect that means over streams what the text does over tables.

    Each stream, and each query in FROM, that has no window gets one. Groups that another query reads are
    formed per bucket of the window's length; those of the whole text are running groups, unless only buckets
    can be. While all tuples lie in one window, and in one bucket, the answer is that of the batch query.

    >>> from optimizer.algebra.types import ColumnType
    >>> from optimizer.logical.stream import Stream
    >>> columns = (("at", ColumnType.TIMESTAMP), ("k", ColumnType.INT))
    >>> catalog = Catalog.of(Stream(name, columns, "at") for name in "rs")
    >>> made = continuous("SELECT count(*) FROM r JOIN s ON r.k = s.k", catalog, window_of("1 hour"))
    >>> made.sql
    'SELECT count(*) FROM r [RANGE 1 HOUR] JOIN s [RANGE 1 HOUR] ON r.k = s.k'
    >>> made = continuous("SELECT r.k FROM r, s WHERE r.k = s.k LIMIT 3", catalog, window_of("1 hour"))
    >>> print(*made.problems)
    query:1:38: found LIMIT, expected all results: a stream has no end

    Args:
        text: a query that `convert` accepts.
        catalog: the registered streams.
        window: of every stream, and the length of every bucket.
        views: the queries that it may read by name.
        source: what errors call the text.

    Raises:
        InputError: the text is no query.
    """
    written = SourceText(text, source)
    tree = read_statement(written)
    tokens = tokens_of(written)
    for select in tree.find_all(exp.Select):
        if not select.expressions or "text" not in select.expressions[0].meta:
            expected = "SELECT with its outputs before FROM"
            fault = written.error(span_of(select), "syntax", "FROM without SELECT", expected)
            return ContinuousQuery(None, (), (), (fault,))
    times = max(1, joined_level(tree, views))
    reach = Sliding(times * window.length_us)
    order = [clauses.order for _, clauses in _selects(tree, tokens)]
    orders = sorted({span for span in order if span is not None})
    edits = [
        *_windows(tree, catalog, reach),
        *(edit for edit in _calendar(tree, tokens) if not any(a <= edit.start < b for a, b in orders)),
        *(Edit(start, end, "") for start, end in orders),
    ]
    found: dict[str, EditedText] = {}
    wrong: list[InputError] = []
    for buckets in _BUCKETS:
        edited = EditedText(written, [*edits, *_grouped(tree, tokens, window, buckets)])
        if edited.text in found:
            continue
        found[edited.text] = edited
        reader = StatementReader(SourceText(edited.text, source), catalog, views)
        bound = reader.read(source)
        if bound is not None:
            chosen = tuple(_chosen(bound, tree, window, reach, buckets))
            left_out = tuple(_no_order(written, span) for span in orders)
            return ContinuousQuery(edited.text, chosen, left_out, ())
        # The last attempt has the most buckets: what is wrong with it no bucket cures.
        told = {str(error): error for error in map(edited.original, reader.errors)}
        wrong = list(told.values())
    return ContinuousQuery(None, (), (), tuple(wrong))


def _selects(tree: exp.Query, tokens: Sequence[Token]) -> Iterator[tuple[exp.Select, Clauses]]:
    return ((select, clauses_of(select, tokens)) for select in tree.find_all(exp.Select))


def _windows(tree: exp.Query, catalog: Catalog, reach: Sliding) -> Iterator[Edit]:
    """The window behind each stream, and each query in FROM, that has none."""
    words = reach.behind("")
    for table in tree.find_all(exp.Table):
        stream = catalog.find(table.name)
        if table.meta.get("window") is None and (stream is None or stream.kind != "table"):
            end = table.this.meta["end"] + 1
            yield Edit(end, end, words)
    for subquery in tree.find_all(exp.Subquery):
        if subquery.alias and isinstance(subquery.this, exp.Select | exp.SetOperation):
            end = subquery.args["alias"].this.meta["end"] + 1
            yield Edit(end, end, words)


def _calendar(tree: exp.Query, tokens: Sequence[Token]) -> Iterator[Edit]:
    """DATE '1994-01-01' + INTERVAL 1 YEAR, computed: streams have no months."""
    kinds = {behind.start: before for before, behind in pairwise(tokens)}
    for node in tree.find_all(exp.Add, exp.Sub):
        if isinstance(node.parent, exp.Add | exp.Sub) or node.find(exp.Paren) is not None:
            continue  # a part of a longer sum, or one whose brackets have no place in the tree
        intervals = node.find_all(exp.Interval)
        if not any(one.unit is not None and unit_us(one.unit.name) is None for one in intervals):
            continue
        span, fixed = span_of(node), fixed_moment(node)
        before = None if span is None else kinds.get(span[0])
        if span is not None and before is not None and before.token_type in _MOMENTS and fixed is not node:
            yield Edit(before.start, span[1], to_text(fixed))


def _grouped(tree: exp.Query, tokens: Sequence[Token], window: Sliding, buckets: Buckets) -> Iterator[Edit]:
    """The buckets of groups, and what they make needless."""
    outermost = [id(select) for select in _outermost(tree)]
    bucket = f"TUMBLE(RESULT_TIME(), INTERVAL {duration_text(window.length_us)})"
    for select, clauses in _selects(tree, tokens):
        asked = isinstance(select.parent_select, exp.Select) and _is_asked(select)
        group, distinct = select.args.get("group"), clauses.distinct
        if asked and distinct is not None and group is None:
            yield Edit(*distinct, "")  # EXISTS and IN ask once
            continue
        if buckets == "none" or not is_grouped(select) or (buckets == "inner" and id(select) in outermost):
            continue
        if asked and group is None:
            continue  # one row, also of nothing, which no bucket is: refused as it stands
        keys = ", "
        if group is None and distinct is not None:
            yield Edit(*distinct, "")
            keys = "".join(f"{number}, " for number in range(1, len(select.expressions) + 1))
        end = clauses.behind_groups
        yield Edit(end, end, keys + bucket if group is not None else f" GROUP BY {keys.lstrip(', ')}{bucket}")


def _outermost(query: exp.Expr) -> Iterator[exp.Select]:
    """The SELECTs whose results are the text's own."""
    plain = query.unnest()
    if isinstance(plain, exp.SetOperation):
        yield from _outermost(plain.this)
        yield from _outermost(plain.expression)
    elif isinstance(plain, exp.Select):
        yield plain


def _is_asked(select: exp.Select) -> bool:
    """True of the subquery of EXISTS or IN."""
    node: exp.Expr | None = select.parent
    while isinstance(node, exp.Subquery) and not node.alias:
        node = node.parent
    return isinstance(node, exp.Exists | exp.In)


def _chosen(
    bound: Query, tree: exp.Query, window: Sliding, reach: Sliding, buckets: Buckets
) -> Iterator[str]:
    """What was decided, a sentence each."""
    size, words = duration_text(window.length_us), duration_text(reach.length_us)
    said = f"Streams, and queries in FROM, without a window have one of {words}"
    yield f"{said}, as groups of groups come {size} later." if reach != window else f"{said}."
    outermost = list(_outermost(tree))
    inner = any(is_grouped(one) for one in tree.find_all(exp.Select) if one not in outermost)
    if inner and buckets != "none":
        yield f"Groups in subqueries are formed per {size} of event time; a bucket without tuples has no row."
    if bound.grouping is None:
        return
    if bound.grouping.bucket is None:
        yield "Groups have no end: a result takes the place of the row with its keys, or of the only row."
    elif buckets == "all":
        first = ", of which LIMIT leaves the first" if bound.grouping.limit is not None else ""
        yield f"Groups are formed per {size} of event time{first}: each comes once, when its bucket is over."
    else:
        yield "Each group comes once, when its bucket is over."


def _no_order(text: SourceText, span: tuple[int, int]) -> InputError:
    words = text.text[slice(*span)]
    begin = span[0] + len(words) - len(words.lstrip())
    expected = "results in the order in which they are found"
    return text.error(
        (begin, begin + len("ORDER BY")), "unsupported", "ORDER BY, which is left out", expected
    )

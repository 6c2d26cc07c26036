"""GROUP BY, HAVING and DISTINCT of a SELECT: keys, bucket, outputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from optimizer.algebra.errors import InputError
from optimizer.algebra.expression import Call, Column, Expression, Literal, columns_of, walk
from optimizer.algebra.identifiers import matches
from optimizer.algebra.normalize import conjuncts, normal_form
from optimizer.algebra.render import to_sql
from optimizer.algebra.types import ColumnType
from optimizer.logical.derived import TIME
from optimizer.logical.durations import duration_text
from optimizer.logical.event_time.conditions import time_within
from optimizer.logical.grouping import GROUP, Bucket, Grouping, Order
from optimizer.logical.query import Output
from optimizer.logical.stream import TimeColumn
from optimizer.sql.binding.groups.aggregates import GroupTranslator
from optimizer.sql.binding.groups.first import First, first_of
from optimizer.sql.binding.groups.running import running_fault
from optimizer.sql.grammar.places import SourceText, span_of
from optimizer.sql.grammar.syntax import keyword_span

T = ColumnType
MOST_OVERLAPPING = 100
"""Buckets of HOP that one event time may be in: each is a group of its own."""


class GroupReader:
    """Reads the clauses of one SELECT that make groups."""

    def __init__(
        self,
        text: SourceText,
        translator: GroupTranslator,
        times: Mapping[str, Column],
        columns: Mapping[Column, TimeColumn],
        combinations: Sequence[frozenset[str]],
        report: Callable[[InputError], None],
    ) -> None:
        self._text = text
        self._translator = translator
        self._times = times
        self._columns = columns
        """Other columns of derived streams that follow their event times."""
        self._combinations = combinations
        """The aliases of each kind of combination: outer joins have several kinds."""
        self._report = report

    def read(self, select: exp.Select, outputs: Sequence[Output]) -> tuple[Grouping, list[Output]] | None:
        """The groups of a SELECT and its outputs over them; None with an error.

        Args:
            select: with the clauses.
            outputs: its list, as `GroupTranslator` reads it.
        """
        keys = self._keys(select, outputs)
        having = select.args.get("having")
        conditions: list[tuple[exp.Expr, Expression]] = []
        if having is not None:
            try:
                conditions = [(having.this, c) for c in conjuncts(self._translator.predicate(having.this))]
            except InputError as error:
                self._report(error)
        if keys is None:
            return None
        names = {key: Column(GROUP, f"key{number}", key.type) for number, key in enumerate(keys, 1)}
        sessions = [key for key in names if any(_is_session(part) for part in walk(key))]
        try:
            first = first_of(select, self._text)
            alike = None if first is None else self._alike(first, outputs, names)
            bucket = (
                self._session(select, names, sessions) if sessions else self._bucket(select, names, alike)
            )
            nodes = [item.unalias() for item in select.expressions]
            # A star stands for several outputs, and none of its own is wrong.
            places = nodes if len(nodes) == len(outputs) else [select] * len(outputs)
            over = [
                Output(o.name, self._over(place, o.expression, names))
                for place, o in zip(places, outputs, strict=True)
            ]
            asked = tuple(self._over(place, condition, names) for place, condition in conditions)
            order = () if first is None else self._order(first, outputs, names)
        except InputError as error:
            self._report(error)
            return None
        aggregates = tuple(
            replace(one, name=column.name) for one, column in self._translator.aggregates.items()
        )
        kept = tuple((column.name, key) for key, column in names.items())
        if bucket is None:
            grouping = Grouping(kept, None, aggregates, asked)
            fault = running_fault(self._text, select, grouping, over)
            if fault is not None:
                self._report(fault)
            return (grouping, over) if fault is None else None
        limit = None if first is None else first.limit
        beside = tuple(sorted(column.name for column in alike or () if column.name != bucket.key))
        return Grouping(kept, bucket, aggregates, asked, order, limit, beside), over

    def _keys(self, select: exp.Select, outputs: Sequence[Output]) -> list[Expression] | None:
        group, distinct = select.args.get("group"), select.args.get("distinct")
        aggregated = bool(self._translator.aggregates)
        if distinct is not None and (group is not None or aggregated):
            self._refused(select, "unsupported", "DISTINCT of groups", "GROUP BY alone")
            return None
        if distinct is not None and distinct.args.get("on"):
            self._refused(distinct, "unsupported", "DISTINCT ON", "ARG_MAX(value, time) with GROUP BY")
            return None
        if group is None:
            if distinct is not None:
                return list(dict.fromkeys(o.expression for o in outputs))
            return []
        nodes = list(group.expressions)
        for node in nodes:
            if isinstance(node, exp.Rollup | exp.Cube | exp.GroupingSets):
                self._refused(node, "unsupported", type(node).__name__.upper(), "one list of keys")
                return None
        everything = group.args.get("all") or (
            len(nodes) == 1 and isinstance(nodes[0], exp.Column) and nodes[0].sql().upper() == "ALL"
        )
        if everything:
            return list(dict.fromkeys(o.expression for o in outputs if not _reads_group(o.expression)))
        found: list[Expression] = []
        for node in nodes:
            try:
                found.append(self._key(node, outputs))
            except InputError as error:
                self._report(error)
                return None
        return list(dict.fromkeys(found))

    def _key(self, node: exp.Expr, outputs: Sequence[Output]) -> Expression:
        """A key: an output's number, an expression, or an output that is no column."""
        found = self._numbered(node, outputs)
        if found is None:
            try:
                found = self._translator.expression(node)
            except InputError:
                found = _output_called(node, outputs)
                if found is None:
                    raise
        if _reads_group(found):
            expected = "an expression over one combination of tuples"
            raise self._text.error(span_of(node), "aggregate", "an aggregate in GROUP BY", expected)
        return found

    def _numbered(self, node: exp.Expr, outputs: Sequence[Output]) -> Expression | None:
        """The output whose number stands in GROUP BY or ORDER BY; None for anything else."""
        if not isinstance(node, exp.Literal) or node.is_string:
            return None
        number = str(node.this)
        if not number.isdigit() or not 1 <= int(number) <= len(outputs):
            expected = f"a number from 1 to {len(outputs)}, or an expression"
            raise self._text.error(span_of(node), "bad-key", f"output {number}", expected)
        return outputs[int(number) - 1].expression

    def _bucket(
        self, select: exp.Select, names: Mapping[Expression, Column], alike: Sequence[Column] | None
    ) -> Bucket | None:
        """The key that says when a group is over, the shortest of several.

        None for groups without an end. ORDER BY and LIMIT leave groups of a bucket that is written, not of
        each event time beside it; QUALIFY leaves those of one that they are `alike` in.

        Raises `InputError`.
        """
        own = {*self._times.values(), *(c for c, one in self._columns.items() if one.most_us is not None)}
        found: list[Bucket] = []
        written: list[Bucket] = []
        for key, column in names.items():
            within = time_within(key) if key.type is T.TIMESTAMP else None
            if within is None:
                continue
            time, later_us = within
            greatest = isinstance(time, Call) and time.function == "greatest"
            parts = time.arguments if isinstance(time, Call) and greatest else (time,)
            if not all(isinstance(part, Column) and part in own for part in parts):
                continue
            aliases = tuple(sorted({part.input for part in parts if isinstance(part, Column)}))
            slide_us, overlapping = 0, 1
            if _is_hop(key):
                slide_us, overlapping = self._overlapping(key)
            size_us = max(1, later_us + 1 + slide_us * (overlapping - 1))
            if isinstance(key, Column) and key in self._columns:
                # It begins a bucket already.
                size_us = max(size_us, self._columns[key].step_us)
            ahead_us = max(self._ahead_us(part, size_us) for part in parts if isinstance(part, Column))
            found.append(Bucket(column.name, size_us, aliases, slide_us, overlapping, ahead_us))
            if key != time:
                written.append(found[-1])
        hops = [bucket for bucket in found if bucket.slide_us]
        sliding = [key for key in names if any(_is_hop(part) for part in walk(key))]
        if len(hops) > 1:
            raise self._error(select, "bad-bucket", "several HOPs in GROUP BY", "one of them")
        if len(sliding) > len(hops):
            expected = "HOP of an event time, or of RESULT_TIME(), as a key by itself"
            raise self._error(select, "bad-bucket", f"the key {to_sql(sliding[0])}", expected)
        if found:
            return self._chosen(select, names, (found, written, hops), alike)
        for clause, token in (("limit", TokenType.LIMIT), ("qualify", TokenType.QUALIFY)):
            if select.args.get(clause) is not None:
                first = min(self._times.values(), key=lambda column: column.input)
                named = {column.input: column for column in self._columns}
                # The event time of a derived stream has no name that a text may use.
                shown = named.get(first.input) if first.name == TIME else first
                example = "RESULT_TIME()" if shown is None else to_sql(shown)
                words = f"{clause.upper()} of groups without an end"
                expected = f"a bucket of event time, such as TUMBLE({example}, INTERVAL 1 MINUTE)"
                span = keyword_span(self._text, frozenset({token}))
                raise self._text.error(span, "no-bucket", words, f"{expected}, among the keys of GROUP BY")
        return None

    def _session(
        self, select: exp.Select, names: Mapping[Expression, Column], sessions: Sequence[Expression]
    ) -> Bucket:
        """The session among the keys, which is the only bucket there. Raises `InputError`."""
        for clause, token in (("limit", TokenType.LIMIT), ("qualify", TokenType.QUALIFY)):
            if select.args.get(clause) is not None:
                span = keyword_span(self._text, frozenset({token}))
                found, expected = f"{clause.upper()} of sessions", "all sessions, or buckets of TUMBLE or HOP"
                raise self._text.error(span, "unsupported", found, expected)
        own = {*self._times.values()}
        buckets = [key for key in names if self._is_other_bucket(key)]
        if len({*buckets, *sessions}) > 1:
            found = "several SESSIONs" if len(sessions) > 1 else f"{to_sql(buckets[0])} beside SESSION"
            raise self._error(select, "bad-bucket", found, "SESSION alone, or one bucket of another kind")
        (session,) = sessions
        time, *gap = session.arguments if isinstance(session, Call) and _is_session(session) else (session,)
        greatest = isinstance(time, Call) and time.function == "greatest"
        parts = time.arguments if isinstance(time, Call) and greatest else (time,)
        if not gap or not all(isinstance(part, Column) and part in own for part in parts):
            expected = "SESSION of an event time, or of RESULT_TIME(), as a key by itself"
            raise self._error(select, "bad-bucket", f"the key {to_sql(session)}", expected)
        aliases = tuple(sorted({part.input for part in parts if isinstance(part, Column)}))
        gap_us = next(int(part.value or 0) for part in gap if isinstance(part, Literal))
        return Bucket(names[session].name, 1, aliases, gap_us=gap_us)

    def _is_other_bucket(self, key: Expression) -> bool:
        """True for a stretch of an event time that is not the time itself."""
        if any(_is_hop(part) for part in walk(key)):
            return True
        within = time_within(key) if key.type is T.TIMESTAMP else None
        return within is not None and within[0] != key and columns_of(within[0]) <= {*self._times.values()}

    def _chosen(
        self,
        select: exp.Select,
        names: Mapping[Expression, Column],
        buckets: tuple[list[Bucket], list[Bucket], list[Bucket]],
        alike: Sequence[Column] | None,
    ) -> Bucket:
        """Of several buckets the one that says when a group is over.

        Args:
            select: with the clauses.
            names: keys, by what they are.
            buckets: all of them, of these the written ones, and of these the sliding one.
            alike: the keys in which groups are alike of which QUALIFY leaves the first.
        Raises:
            InputError: they do not tell.
        """
        found, written, hops = buckets
        if select.args.get("limit") is not None and written:
            if len(written) > 1:
                span = keyword_span(self._text, frozenset({TokenType.LIMIT}))
                expected = "one bucket among the keys, whose first groups it leaves"
                raise self._text.error(span, "bad-bucket", "LIMIT beside several buckets", expected)
            return written[0]
        if alike is not None:
            inside = [bucket for bucket in hops or found if bucket.key in [column.name for column in alike]]
            if not inside:
                shown = next(key for key, column in names.items() if column.name == (hops or found)[0].key)
                span = keyword_span(self._text, frozenset({TokenType.QUALIFY}))
                expected = f"the bucket in PARTITION BY: {to_sql(shown)}"
                raise self._text.error(span, "bad-bucket", "QUALIFY over all buckets", expected)
            return self._shortest(inside)
        return next(iter(hops), self._shortest(found))

    def _shortest(self, buckets: Sequence[Bucket]) -> Bucket:
        """The shortest of those that every combination is in, or of all if there is none."""
        everywhere = [b for b in buckets if all(some.intersection(b.aliases) for some in self._combinations)]
        return min(everywhere or buckets, key=lambda bucket: bucket.size_us)

    def _ahead_us(self, time: Column, size_us: int) -> int:
        """How much later than the last time of a bucket event times in it may be."""
        one = self._columns.get(time)
        if one is None or one.most_us is None:
            return 0
        # Of buckets inside of a bucket the last one begins its own length before the end.
        inside = one.step_us and size_us % one.step_us == 0
        return one.most_us - (one.step_us - 1 if inside else 0)

    def _alike(
        self, first: First, outputs: Sequence[Output], names: Mapping[Expression, Column]
    ) -> list[Column] | None:
        """The keys in which groups are alike whose first are results.

        None for the bucket.
        """
        if first.partition is None:
            return None
        found = []
        for node in first.partition:
            key = self._over(node, self._ranked(node, outputs), names)
            if not isinstance(key, Column) or key not in names.values():
                keys = ", ".join(to_sql(one) for one in names)
                raise self._text.error(
                    span_of(node),
                    "not-grouped",
                    f"{node.sql('duckdb')} in PARTITION BY",
                    f"one of the keys ({keys})",
                )
            found.append(key)
        return found

    def _order(
        self, first: First, outputs: Sequence[Output], names: Mapping[Expression, Column]
    ) -> tuple[Order, ...]:
        """What groups come first by."""
        return tuple(
            Order(
                self._over(one.this, self._ranked(one.this, outputs), names),
                bool(one.args.get("desc")),
                bool(one.args.get("nulls_first")),
            )
            for one in first.order
        )

    def _ranked(self, node: exp.Expr, outputs: Sequence[Output]) -> Expression:
        # Unlike in GROUP BY an output comes before a column of its name.
        found = self._numbered(node, outputs) or _output_called(node, outputs)
        return found or self._translator.expression(node)

    def _overlapping(self, hop: Expression) -> tuple[int, int]:
        """The slide of overlapping buckets, and how many a time is in.

        Raises `InputError`.
        """
        assert isinstance(hop, Call)
        slide_us, size_us = (int(part.value or 0) for part in hop.arguments[1:] if isinstance(part, Literal))
        if size_us % slide_us or not 1 <= size_us // slide_us <= MOST_OVERLAPPING:
            found = f"buckets of {duration_text(size_us).lower()} every {duration_text(slide_us).lower()}"
            expected = f"HOP(time, slide, size) with a size that is 1 to {MOST_OVERLAPPING} times the slide"
            span = keyword_span(self._text, frozenset({TokenType.GROUP_BY}))
            raise self._text.error(span, "bad-bucket", found, expected)
        return slide_us, size_us // slide_us

    def _over(self, node: exp.Expr, expression: Expression, names: Mapping[Expression, Column]) -> Expression:
        """An expression of keys and aggregates as one over `GROUP`."""
        if expression in names:
            return names[expression]
        match expression:
            case Column() if expression.input != GROUP:
                keys = ", ".join(to_sql(key) for key in names)
                expected = f"one of the keys ({keys}), or an aggregate such as MAX({to_sql(expression)})"
                raise self._text.error(
                    span_of(node), "not-grouped", f"{to_sql(expression)} outside the keys", expected
                )
            case Call():
                arguments = tuple(self._over(node, argument, names) for argument in expression.arguments)
                return normal_form(Call(expression.function, arguments, expression.type))
        return expression

    def _refused(self, node: exp.Expr, code: str, found: str, expected: str) -> None:
        self._report(self._error(node, code, found, expected))

    def _error(self, node: exp.Expr, code: str, found: str, expected: str) -> InputError:
        return self._text.error(span_of(node), code, found, expected)


def _output_called(node: exp.Expr, outputs: Sequence[Output]) -> Expression | None:
    """The output that a name without an alias means; None if there is none."""
    if not isinstance(node, exp.Column) or node.table:
        return None
    quoted = bool(node.this.args.get("quoted"))
    return next((o.expression for o in outputs if matches(o.name, node.name, quoted)), None)


def _reads_group(expression: Expression) -> bool:
    return any(column.input == GROUP for column in columns_of(expression))


def _is_session(expression: Expression) -> bool:
    return isinstance(expression, Call) and expression.function == "session"


def _is_hop(expression: Expression) -> bool:
    return isinstance(expression, Call) and expression.function == "hop"

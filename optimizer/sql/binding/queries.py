"""A SELECT's syntax tree to a `Query`, with every error that it has."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from sqlglot import exp

from optimizer.algebra.connectivity import connected_components
from optimizer.algebra.errors import InputError
from optimizer.algebra.expression import Column, Expression, inputs_of
from optimizer.algebra.types import ColumnType
from optimizer.algebra.typing import TypeMismatch, call
from optimizer.logical.catalog import Catalog
from optimizer.logical.derived import derived_stream
from optimizer.logical.grouping import Grouping
from optimizer.logical.query import Derived, Input, Output, Query
from optimizer.logical.retention import with_retentions
from optimizer.logical.stream import TimeColumn
from optimizer.sql.binding.clauses import refused_clauses
from optimizer.sql.binding.conditions import conjunct_nodes, read_conjuncts
from optimizer.sql.binding.groups.aggregates import GroupTranslator, is_grouped
from optimizer.sql.binding.groups.clauses import GroupReader
from optimizer.sql.binding.groups.finality import never_final
from optimizer.sql.binding.outer.branching import (
    JOIN_KINDS,
    MOST_BRANCHES,
    JoinKind,
    Part,
    Unanswerable,
    branches,
    joined,
    restricted,
    with_partners,
)
from optimizer.sql.binding.outer.deadlines import unanswerable
from optimizer.sql.binding.outer.subqueries import Asked, asked_in, read_first
from optimizer.sql.binding.outer.versions import checked, refused
from optimizer.sql.binding.scalar.expressions import Translator
from optimizer.sql.binding.scope import Scope, Source
from optimizer.sql.binding.select_list import SelectList
from optimizer.sql.binding.tables import Entry, read_entry, refuse_unreadable
from optimizer.sql.binding.union import united
from optimizer.sql.grammar.places import SourceText, span_of
from optimizer.sql.grammar.syntax import read_condition, selects_of

MOST_INPUTS = 32
"""Streams of one query with those of its views: so many are planned in seconds, twice as many in a minute."""
_JOIN_ARGUMENTS = frozenset({"this", "on", "using", "kind", "side", "method"})


class Reader:
    """Reads one SELECT; collects errors, so that an editor can underline all of them."""

    def __init__(
        self,
        source: SourceText,
        catalog: Catalog,
        views: Mapping[str, Query],
        around: Reader | None = None,
    ) -> None:
        self._text = source
        self._registered = catalog
        self._derived: dict[str, Derived] = {}
        """By name, the streams of other queries' results among the inputs."""
        self._views = views
        self._around = around
        self._scope: Scope = Scope(source, outer=None if around is None else around._scope)
        self._translator = Translator(self._scope, catalog.functions)
        self._inputs: list[Input] = []
        self._predicates: list[Expression] = []
        self._links: list[frozenset[str]] = []
        """Aliases that an explicit CROSS JOIN, or a view, connects."""
        self._parts: list[Part] = [Part(frozenset())]
        self._meant: set[str] = set()
        """Aliases with a stated window, unbounded ones too."""
        self.waiting: dict[str, tuple[int, int] | None] = {}
        """Aliases that may be absent, and where the text says so: empty for a conjunctive query."""
        self.found: Query | None = None
        self.errors: list[InputError] = []
        if around is not None:
            self._inputs, self._links, self.errors = around._inputs, around._links, around.errors
            self._derived = around._derived

    def read(self, select: exp.Select, name: str) -> Query | None:
        """The query of one SELECT, or None with at least one error in `errors`."""
        self.errors += refused_clauses(select, self._text, asked=False)
        self._read_from(select)
        self._read_where(select)
        grouping, outputs = self._grouped(select) if is_grouped(select) else (None, self._outputs(select))
        if not self.errors:
            self._check_connected()
        if self.errors:
            self.errors.sort(key=lambda e: (e.place.line or 0, e.place.column or 0))
            return None
        unconnected = len(self._join_components()) > 1
        found = Query(
            name,
            tuple(self._inputs),
            tuple(self._predicates),
            tuple(outputs),
            unconnected,
            grouping=grouping,
            derived=tuple(self._derived[one] for one in sorted(self._derived)),
        )
        self.found = found
        if not self.waiting and grouping is None:
            return found
        taken = outputs
        if grouping is not None and grouping.bucket is None:
            grouping = replace(grouping, counted_by=self._counted_by(found))
            found = replace(found, grouping=grouping)
        if grouping is not None:
            taken = [Output(column, expression) for expression, column in grouping.taken.items()]
        found = replace(found, branches=branches(self._parts, taken, self._by_alias), written=self._text.text)
        self.errors += unanswerable(self._text, found, self._catalog, self.waiting, self._meant)
        if grouping is not None and not self.errors:
            self.errors += never_final(self._text, found, self._catalog, span_of(select))
        self.found = None if self.errors else found
        return self.found

    def _grouped(self, select: exp.Select) -> tuple[Grouping | None, list[Output]]:
        """The groups of SELECT, and its outputs over them; None with an error."""
        times = self._own_times
        if self._scope.broken and not times:
            return None, []  # What is wrong in FROM was told.
        translator = GroupTranslator(self._scope, self._registered.functions, times)
        outputs = SelectList(self._text, self._scope, translator, self._report).outputs(select)
        if self.errors or not times:
            return None, outputs
        combinations = [part.aliases for part in self._parts]
        reader = GroupReader(
            self._text, translator, times, self._time_columns(times), combinations, self._report
        )
        found = reader.read(select, outputs)
        return (None, outputs) if found is None else found

    def _counted_by(self, query: Query) -> Expression:
        """The event time that decides whether running groups count a combination."""
        times = [time for _, time in sorted(self._own_times.items())]
        kept = () if self.waiting else with_retentions(query, self._catalog).inputs
        endless = any(not item.window.is_bounded for item in kept)
        return times[0] if len(times) == 1 else call("least" if endless else "greatest", *times)

    @property
    def _own_times(self) -> dict[str, Column]:
        """By alias the event times that make a combination newer.

        They are of this SELECT, not of its subqueries. What an as-of join finds is never the newest of a
        combination, and may be of any age.
        """
        own = frozenset().union(*(source.inputs for source in self._scope.sources))
        return {alias: time for alias, time in self._times.items() if alias in own - self._found}

    @property
    def _catalog(self) -> Catalog:
        """The registered streams, and the derived ones that the query reads."""
        derived = tuple(one.stream for one in self._derived.values())
        return replace(self._registered, derived=derived) if derived else self._registered

    @property
    def sources(self) -> Sequence[Source]:
        """What was read of FROM."""
        return self._scope.sources

    def read_condition(self) -> tuple[Expression, ...]:
        """A condition's conjuncts over the catalog's streams, under their own names.

        Raises the first `InputError`.
        """
        node = read_condition(self._text)
        for stream in self._catalog:
            columns = tuple((name, Column(stream.name, name, kind)) for name, kind in stream.columns)
            source = Source(stream.name, stream.name, columns, frozenset({stream.name}), node)
            self._scope.sources.append(source)
        self._add_condition(node)
        if self.errors:
            raise self.errors[0]
        return tuple(self._predicates)

    # FROM

    def _read_from(self, select: exp.Select) -> None:
        start = select.args.get("from_")
        if start is None:
            return
        previous, parts = self._add_side(start.this)
        for join in select.args.get("joins") or ():
            if "keyword" not in join.meta:
                # A comma joins what all joins on either side of it give.
                self._parts, parts = joined("INNER", self._parts, parts, (), {}), [Part(frozenset())]
            previous, parts = self._add_join(join, previous, parts)
        self._parts = joined("INNER", self._parts, parts, (), {})

    def _add_side(self, table: exp.Expr, as_of: bool = False) -> tuple[Source | None, list[Part]]:
        """A stream or view, with what is joined to it in brackets."""
        before = len(self._predicates)
        source = self._add_source(table)
        if source is not None:
            self.errors += refused(self._text, source.node, as_of, self._inputs, self._catalog)
        inputs = frozenset() if source is None else source.inputs
        parts = [Part(inputs, tuple(self._predicates[before:]))]
        previous = source
        for nested in table.args.get("joins") or ():
            previous, parts = self._add_join(nested, previous, parts)
        return source, parts

    @property
    def _by_alias(self) -> dict[str, Input]:
        return {item.alias: item for item in self._inputs}

    @property
    def _times(self) -> dict[str, Column]:
        return {
            item.alias: Column(item.alias, self._catalog[item.stream].event_time, ColumnType.TIMESTAMP)
            for item in self._inputs
        }

    def _time_columns(self, aliases: Collection[str]) -> dict[Column, TimeColumn]:
        """Columns of derived streams that follow their event times."""
        return {
            Column(item.alias, one.name, ColumnType.TIMESTAMP): one
            for item in self._inputs
            if item.alias in aliases and (results := self._catalog[item.stream].results) is not None
            for one in results.times
        }

    @property
    def _found(self) -> frozenset[str]:
        """The aliases that as-of joins find."""
        return frozenset[str]().union(*(part.found for part in self._parts))

    def _add_join(
        self, join: exp.Join, previous: Source | None, left: list[Part]
    ) -> tuple[Source | None, list[Part]]:
        keyword = join.meta.get("keyword")
        words = " ".join(
            str(join.args[part]) for part in ("method", "side", "kind") if join.args.get(part)
        ).upper()
        kind = JOIN_KINDS.get(words)
        if kind is None:
            expected = "JOIN, LEFT, RIGHT or FULL JOIN ... ON, ASOF [LEFT] JOIN, CROSS JOIN or a comma"
            self.errors.append(self._text.error(keyword, "unsupported", f"{words} JOIN", expected))
        unread = [a for a, v in join.args.items() if v and a not in _JOIN_ARGUMENTS]
        if unread:
            found = f"{unread[0].upper().replace('_', ' ')} in a join"
            self.errors.append(self._text.error(keyword, "unsupported", found, "JOIN ... ON"))
        before = list(self._scope.sources)
        source, right = self._add_side(join.this, as_of=kind in ("ASOF", "ASOF LEFT"))
        conditions = len(self._predicates)
        condition, using = join.args.get("on"), join.args.get("using")
        if words == "CROSS":
            if source is not None and previous is not None:
                self._links.append(source.inputs | previous.inputs)
            if condition is not None or using:
                self.errors.append(
                    self._text.error(keyword, "syntax", "CROSS JOIN with a condition", "JOIN ... ON")
                )
        elif keyword and condition is None and not using and kind is not None:
            expected = "ON, USING, or CROSS JOIN" if kind == "INNER" else "ON or USING"
            self.errors.append(self._text.error(keyword, "syntax", "JOIN without a condition", expected))
        if using and kind in ("RIGHT", "FULL"):
            self.errors.append(
                self._text.error(keyword, "unsupported", f"USING in a {kind} JOIN", "ON, with both columns")
            )
        moment = join.meta.get("as_of")
        if source is not None and moment is not None:
            time = exp.to_identifier(self._times[min(source.inputs)].name, quoted=True)
            self._add_condition(exp.GTE(this=moment, expression=_qualified(source.alias, time)))
        if condition is not None:
            self._add_condition(condition)
        for column in using or ():
            if source is not None:
                # As in DuckDB the last column of ASOF JOIN says how new the partner may be.
                last = column is join.args["using"][-1] and words.startswith("ASOF") and moment is None
                self._add_using(column, source, before, exp.GTE if last else exp.EQ)
        return source, self._joined(kind or "INNER", left, right, self._predicates[conditions:], keyword)

    def _joined(
        self,
        kind: JoinKind,
        left: list[Part],
        right: list[Part],
        on: list[Expression],
        keyword: tuple[int, int] | None,
    ) -> list[Part]:
        sides = [frozenset[str]().union(*(p.visible for p in side)) for side in (left, right)]
        if kind != "INNER":
            optional = {"RIGHT": sides[0], "FULL": sides[0] | sides[1]}.get(kind, sides[1])
            self.waiting |= dict.fromkeys(sorted(optional), keyword)
            foreign = sorted(frozenset().union(*map(inputs_of, on)) - sides[0] - sides[1])
            if foreign:
                found, expected = f"{', '.join(foreign)} in ON", "streams of the two sides of this join"
                self.errors.append(self._text.error(keyword, "unknown-alias", found, expected))
        try:
            versions = None
            if kind.startswith("ASOF") and not self._scope.broken:
                versions = checked(on, sides[0], sides[1], self._inputs, self._catalog)
            return joined(kind, left, right, on, self._by_alias, versions)
        except Unanswerable as error:
            self.errors.append(self._text.error(keyword, "unsupported", error.found, error.expected))
            return left

    def _add_using(
        self, identifier: exp.Expr, source: Source, before: list[Source], compared: type[exp.Binary]
    ) -> None:
        """Read `USING (k)`: both sides' columns k are compared and become one."""
        name, quoted = identifier.name, bool(identifier.args.get("quoted"))
        left = [other for other in before if other.find(name, quoted) is not None]
        merged = self._scope.merged.get(name.casefold())
        left = [merged] if merged is not None else left
        for side, holders in (("left", left), ("right", [source] if source.find(name, quoted) else [])):
            if len(holders) != 1:
                found = f"column {name} in {f'{len(holders)} streams' if holders else 'no stream'}"
                expected = f"exactly one stream on the {side} of JOIN that has it"
                self.errors.append(self._text.error(span_of(identifier), "unknown-column", found, expected))
                return
        first, second = left[0], source
        condition = compared(
            this=_qualified(first.alias, identifier), expression=_qualified(second.alias, identifier)
        )
        self._scope.merged.setdefault(name.casefold(), first)
        self._add_condition(condition)

    def _add_source(self, table: exp.Expr) -> Source | None:
        if len(self._inputs) > MOST_INPUTS:
            return None  # told already
        try:
            entry = self._entry(table)
            self._inputs += entry.inputs
            self._derived |= {one.stream.name: one for one in entry.derived}
            self._predicates += entry.predicates
            if entry.cross_join:
                self._links.append(entry.source.inputs)
            if len(self._inputs) > MOST_INPUTS:
                found, expected = f"{len(self._inputs)} streams", f"at most {MOST_INPUTS} in a query"
                raise self._text.error(span_of(table), "too-many-inputs", found, f"{expected} and its views")
        except InputError as error:
            self.errors.append(error)
            self._scope.broken = True
            return None
        self._scope.sources.append(entry.source)
        if table.meta.get("window") is not None:
            self._meant |= entry.source.inputs
        return entry.source

    def _entry(self, table: exp.Expr) -> Entry:
        """An entry of FROM; a subquery is a view that has no other name than its alias."""
        if not isinstance(table, exp.Subquery):
            return read_entry(table, self._scope, self._inputs, self._registered, self._views)
        alias = table.args["alias"].this
        view, readers = read_query(self._text, table.this, alias.name, self._registered, self._views)
        if view is None:
            first, *others = (error for inside in readers for error in inside.errors)
            self.errors += others
            raise first
        named = exp.Table(this=alias)
        named.meta["window"] = table.meta.get("window")
        entry = read_entry(named, self._scope, self._inputs, self._registered, {}, view)
        if len(readers) == 1 and readers[0]._meant.issuperset(item.alias for item in view.inputs):
            self._meant |= entry.source.inputs
        return entry

    # Conditions

    def _read_where(self, select: exp.Select) -> None:
        """Read WHERE: its conditions, and the subqueries that it asks for partners."""
        where, before = select.args.get("where"), len(self._predicates)
        nodes = [] if where is None else conjunct_nodes(where.this)
        asked = [(node, found) for node in nodes if (found := asked_in(node)) is not None]
        for node in nodes:
            if node not in [asking for asking, _ in asked]:
                self._add_condition(node)
        try:
            self._parts = restricted(self._parts, self._predicates[before:])
            for node, subquery in asked:
                self._add_subquery(node, subquery)
        except Unanswerable as error:
            span = None if where is None else span_of(where)
            self.errors.append(self._text.error(span, "unsupported", error.found, error.expected))

    def _add_subquery(self, node: exp.Expr, subquery: Asked) -> None:
        if self._around is not None:
            found, expected = "EXISTS or IN inside a subquery", "one level of subqueries"
            self.errors.append(self._text.error(span_of(node), "subquery", found, expected))
            return
        if subquery.select.args.get("group") is not None:
            subquery = read_first(subquery)
        inside = Reader(self._text, self._registered, self._views, self)
        inside.errors += refused_clauses(subquery.select, self._text, asked=True)
        inside._read_from(subquery.select)
        inside._read_where(subquery.select)
        inside._outputs(subquery.select)
        try:
            on = self._membership(node, subquery, inside)
        except InputError as error:
            self._report(error)
            return
        self._predicates += [*inside._predicates, *(p for p in on if inputs_of(p))]
        self.waiting |= {a: span_of(node) for p in inside._parts for a in sorted(p.visible)}
        self._parts = with_partners(self._parts, inside._parts, on, self._by_alias, subquery.present)

    def _membership(self, node: exp.Expr, subquery: Asked, inside: Reader) -> list[Expression]:
        """What makes a row of a subquery one that IN asks for; nothing for EXISTS."""
        if subquery.member is None:
            return []
        items = subquery.select.expressions
        if len(items) != 1 or isinstance(items[0], exp.Star):
            raise self._text.error(span_of(node), "syntax", "several columns in IN", "one column, or EXISTS")
        value = inside._translator.expression(items[0].unalias())
        member = self._translator.expression(subquery.member)
        try:
            return [subquery.condition(member, value)]
        except TypeMismatch as error:
            found, expected = f"{value.type} among what is compared with {member.type}", error.expected
            raise self._text.error(span_of(node), "type-mismatch", found, expected) from None

    def _add_condition(self, node: exp.Expr) -> None:
        self._predicates += read_conjuncts(node, self._text, self._translator, self._report)

    def _outputs(self, select: exp.Select) -> list[Output]:
        return SelectList(self._text, self._scope, self._translator, self._report).outputs(select)

    def _report(self, error: InputError) -> None:
        """Unknown names prove nothing while an entry of FROM is unreadable."""
        if self._scope.broken and error.code in ("unknown-alias", "unknown-column"):
            return
        self.errors.append(error)

    def _join_components(self, links: Iterable[Collection[str]] = ()) -> tuple[tuple[str, ...], ...]:
        """Aliases that predicates, and CROSS JOINs among `links`, connect."""
        aliases = [i.alias for i in self._inputs if i.alias not in self._found]
        joining = [read for p in self._predicates if self._found.isdisjoint(read := inputs_of(p))]
        return connected_components(aliases, [*joining, *links])

    def _check_connected(self) -> None:
        """A cross product must be written as one."""
        parts = self._join_components(self._links)
        if len(parts) == 1:
            return
        named = [", ".join(part) for part in parts]
        second = next((s for s in self._scope.sources if not s.inputs.isdisjoint(parts[1])), None)
        place = self.waiting[parts[1][0]] if second is None else span_of(second.node)
        found = f"no predicate between {' and '.join(f'({part})' for part in named)}"
        joining = "a join predicate, or CROSS JOIN" if second else "a condition that joins the subquery"
        self.errors.append(self._text.error(place, "unconnected", found, joining))


def read_query(
    text: SourceText, node: exp.Expr, name: str, catalog: Catalog, views: Mapping[str, Query]
) -> tuple[Query | None, list[Reader]]:
    """Read SELECTs that UNION ALL joins.

    The query is None with errors of their readers.

    Raises `InputError` for what is wrong with all of them together.
    """
    selects = selects_of(text, node)
    readers = [Reader(text, catalog, views) for _ in selects]
    read = [reader.read(select, name) for reader, select in zip(readers, selects, strict=True)]
    parts = [part for part in read if part is not None]
    if len(parts) < len(selects):
        return None, readers
    if len(parts) == 1:
        return parts[0], readers
    inputs = sum(len(part.inputs) for part in parts)
    cases = sum(len(part.branches) or 1 for part in parts)
    # All parts are planned together: what bounds one query bounds them.
    if inputs > MOST_INPUTS:
        found, expected = f"{inputs} streams", f"at most {MOST_INPUTS} in a query and its views"
        raise text.error(None, "too-many-inputs", found, expected)
    if cases > MOST_BRANCHES:
        found, expected = f"outer joins of {cases} cases", f"at most {MOST_BRANCHES} in a query"
        raise text.error(None, "unsupported", found, expected)
    for part, select in zip(parts, selects, strict=True):
        refuse_unreadable(part, text, span_of(select))
    singles = [_single(part, catalog) for part in parts]
    return united(name, singles, selects, text), readers


def _single(part: Query, catalog: Catalog) -> Query:
    """A part of UNION ALL as combinations: groups are read as a stream of results."""
    if part.grouping is None:
        return part
    found = derived_stream(part, catalog)
    alias = found.stream.name
    outputs = tuple(Output(o.name, Column(alias, o.name, o.expression.type)) for o in part.outputs)
    return Query(part.name, (Input(alias, alias),), (), outputs, derived=(found,))


def _qualified(alias: str, identifier: exp.Expr) -> exp.Column:
    table = exp.Identifier(this=alias, quoted=True)
    return exp.Column(this=identifier.copy(), table=table)

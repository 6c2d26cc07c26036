"""SQL text to the plan of binary joins that it says.

Joins stand in the order of the text, as a planner without statistics takes them; conditions stand as
low as they can be evaluated. Names are found by sqlglot's `qualify`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.optimizer.qualify import qualify

from optimizer.algebra.errors import InputError
from optimizer.algebra.identifiers import nearest
from optimizer.conversion.binary.dialect import read_statement
from optimizer.conversion.binary.names import Names, UniqueNames
from optimizer.conversion.binary.placement import place
from optimizer.conversion.binary.subqueries import Subquery, filtered, joined
from optimizer.conversion.binary.syntax import aggregates, conjuncts, is_joined, leave_out_columns
from optimizer.conversion.binary.tree import (
    Aggregate,
    Apply,
    Derived,
    Distinct,
    Join,
    JoinKind,
    Limit,
    Node,
    Project,
    Scan,
    SetOperation,
    Sort,
    output_names,
)
from optimizer.logical.catalog import Catalog
from optimizer.sql.binding.windows import read_window
from optimizer.sql.grammar.places import SourceText, span_of

_JOINS: Mapping[str, JoinKind] = {
    "": "inner",
    "INNER": "inner",
    "CROSS": "cross",
    "LEFT": "left",
    "LEFT OUTER": "left",
    "RIGHT": "right",
    "RIGHT OUTER": "right",
    "FULL": "full",
    "FULL OUTER": "full",
    "SEMI": "semi",
    "ANTI": "anti",
}
_ORDERED = ("order", "limit", "offset", "with_")
_SELECT = ("expressions", "from_", "joins", "where", "group", "having", "distinct", *_ORDERED)
_SET = ("this", "expression", "distinct", *_ORDERED)
_SOURCE = ("this", "alias", "joins")
_JOIN = ("this", "on", "side", "kind")
_CONSTRUCTS = (exp.Lateral, exp.Unnest, exp.Values, exp.Pivot, exp.Placeholder, exp.Parameter)


@dataclass(frozen=True, slots=True)
class _Named:
    """An entry of WITH, and those before it, which it may read."""

    query: exp.Query
    before: Mapping[str, _Named]


Queries = Mapping[str, _Named]
MOST_RELATIONS = 256
"""Streams and subqueries of one plan; an entry of WITH counts wherever it is read, and so may double."""


class PlanReader:
    """Reads the plan of one text.

    `views` are other queries' texts that it may read by their names.
    """

    def __init__(self, text: SourceText, catalog: Catalog, views: Mapping[str, str]) -> None:
        self._text = text
        self._catalog = catalog
        self._views = views
        self._unique = UniqueNames()
        self._relations = 0
        self._streams = {name.casefold() for name in catalog.names}

    def read(self) -> Node:
        """The plan. Raises `InputError` at the first word that has no meaning here."""
        tree = read_statement(self._text)
        found = tree.find(*_CONSTRUCTS)
        if found is not None:
            raise self._error(
                found, "unsupported", found.key.upper(), "streams, saved queries and subqueries"
            )
        self._add_views(tree)
        leave_out_columns(tree)
        schema: dict[str, object] = {
            stream.name: {name: str(kind) for name, kind in stream.columns} for stream in self._catalog
        }
        try:
            qualified = qualify(
                tree,
                schema=schema,
                dialect="duckdb",
                quote_identifiers=False,
                validate_qualify_columns=False,
                allow_partial_qualification=True,
            )
        except SqlglotError as error:
            raise self._unresolved(tree, str(error)) from None
        assert isinstance(qualified, exp.Query)
        row = qualified.find(exp.TableColumn)
        if row is not None:
            raise self._error(row, "unknown-column", f"{row.name} as a value", "one of its columns")
        return self._query(qualified, None, {})

    def _unresolved(self, tree: exp.Query, message: str) -> InputError:
        """sqlglot's complaint about a name, under the last thing in FROM that has it."""
        name = message.rpartition(" ")[2]
        named = [n for n in tree.find_all(exp.Table, exp.Subquery) if n.alias_or_name == name]
        span = span_of(named[-1]) if named else None
        return self._text.error(span, "unresolved", message, "names that tell streams and columns apart")

    def _add_views(self, tree: exp.Query) -> None:
        """Put saved queries that the text reads into its WITH, before its own entries."""
        named = {cte.alias.casefold() for cte in tree.find_all(exp.CTE)}
        added: dict[str, exp.CTE] = {}

        def add(query: exp.Query, path: tuple[str, ...]) -> None:
            for table in query.find_all(exp.Table):
                view = next((v for v in self._views if v.casefold() == table.name.casefold()), None)
                if view is None or view in added or view.casefold() in named | self._streams:
                    continue
                if view in path:
                    raise self._error(table, "view-cycle", f"{view}, which reads itself", "no circle")
                body = read_statement(SourceText(self._views[view], view))
                add(body, (*path, view))
                alias = exp.TableAlias(this=exp.to_identifier(view.lower()))
                added[view] = exp.CTE(this=body, alias=alias)

        add(tree, ())
        if added:
            clause = tree.args.get("with_") or exp.With(expressions=[])
            clause.set("expressions", [*added.values(), *clause.expressions])
            tree.set("with_", clause)

    # Queries

    def _query(self, node: exp.Expr, outer: Names | None, queries: Queries) -> Node:
        while isinstance(node, exp.Subquery):
            self._refuse_others(node, ("this", "alias", "with_"))
            node = node.this
        clause = node.args.get("with_")
        if clause is not None:
            if clause.args.get("recursive"):
                raise self._error(clause, "unsupported", "WITH RECURSIVE", "WITH")
            for cte in clause.expressions:
                queries = {**queries, cte.alias.casefold(): _Named(cte.this, queries)}
        if isinstance(node, exp.SetOperation):
            return self._set_operation(node, outer, queries)
        if not isinstance(node, exp.Select):
            raise self._error(node, "unsupported", node.key.upper(), "SELECT")
        self._refuse_others(node, _SELECT)
        return self._select(node, outer, queries)

    def _set_operation(self, node: exp.SetOperation, outer: Names | None, queries: Queries) -> Node:
        self._refuse_others(node, _SET)
        words = node.key.upper() + ("" if node.args.get("distinct") else " ALL")
        sides = (self._query(side, outer, queries) for side in (node.this, node.expression))
        plan: Node = SetOperation(words, *sides)
        return self._ordered(node, plan, Names(self._text, outer), queries)

    def _select(self, select: exp.Select, outer: Names | None, queries: Queries) -> Node:
        names = Names(self._text, outer)
        start = select.args.get("from_")
        if start is None:
            raise self._error(select, "syntax", "SELECT without FROM", "FROM with a stream")
        late: list[exp.Expr] = []
        plan = self._relation(start.this, names, queries, late)
        for join in select.args.get("joins") or ():
            plan = self._join(join, plan, names, queries, late)
        where = select.args.get("where")
        conditions = [*late, *(conjuncts(where.this) if where is not None else ())]
        plan = self._where(conditions, plan, names, queries)
        group, having = select.args.get("group"), select.args.get("having")
        aggregated = [*select.expressions, *([having] if having else ())]
        if group is not None or any(aggregates(node) for node in aggregated):
            keys = self._plain(group, names) if group is not None else None
            assert keys is None or isinstance(keys, exp.Group)
            plan = Aggregate(plan, keys)
        if having is not None:
            plan = self._having(having.this, plan, names, queries)
        outputs = []
        for item in select.expressions:
            expression, plan = self._applied(item.unalias(), plan, names, queries)
            outputs.append((item.alias_or_name, expression))
        plan = Project(plan, tuple(outputs))
        distinct = select.args.get("distinct")
        if distinct is not None:
            if distinct.args.get("on"):
                raise self._error(distinct, "unsupported", "DISTINCT ON", "DISTINCT")
            plan = Distinct(plan)
        return self._ordered(select, plan, names, queries)

    def _ordered(self, node: exp.Query, plan: Node, names: Names, queries: Queries) -> Node:
        order, limit, offset = (node.args.get(clause) for clause in ("order", "limit", "offset"))
        if order is not None:
            plan = Sort(plan, tuple(self._sorted_by(term, plan, names) for term in order.expressions))
        if limit is not None or offset is not None:
            count = limit.expression if isinstance(limit, exp.Limit) else None
            if limit is not None and count is None:
                raise self._error(limit, "unsupported", limit.key.upper(), "LIMIT with a number")
            plan = Limit(plan, count, offset.expression if offset is not None else None)
        return plan

    def _sorted_by(self, term: exp.Expr, plan: Node, names: Names) -> exp.Expr:
        """A term of ORDER BY; what names an output stands for it."""
        own = {name.casefold() for name in output_names(plan)}

        def resolved(node: exp.Expr) -> exp.Expr:
            if not isinstance(node, exp.Column) or (not node.table and node.name.casefold() in own):
                return node
            return names.resolve(node)

        self._refuse_subqueries(term, "ORDER BY")
        return term.copy().transform(resolved)

    # FROM

    def _relation(self, node: exp.Expr, names: Names, queries: Queries, late: list[exp.Expr]) -> Node:
        self._refuse_others(node, _SOURCE)
        if isinstance(node, exp.Subquery) and is_joined(node.this):
            if node.alias:
                raise self._error(node, "unsupported", f"joins in parentheses AS {node.alias}", "no alias")
            plan = self._relation(node.this, names, queries, late)
        elif isinstance(node, exp.Subquery):
            plan = self._query(node.this, names.outer, queries)
            plan = self._derived(node, node.alias or "subquery", plan, names)
        elif isinstance(node, exp.Table):
            plan = self._table(node, names, queries)
        else:
            raise self._error(node, "unsupported", node.key.upper(), "a stream, a saved query or a subquery")
        for join in node.args.get("joins") or ():
            plan = self._join(join, plan, names, queries, late)
        return plan

    def _table(self, table: exp.Table, names: Names, queries: Queries) -> Node:
        self._relations += 1
        if self._relations > MOST_RELATIONS:
            found = f"a plan of more than {MOST_RELATIONS} relations"
            raise self._error(table, "too-large", found, "a smaller query")
        name, window = table.name, table.meta.get("window")
        written = table.alias or name
        named = queries.get(name.casefold())
        if named is not None:
            if window is not None:
                raise self._error(table, "bad-window", f"a window behind {name}", "windows behind streams")
            return self._derived(table, written, self._query(named.query, None, named.before), names)
        stream = self._catalog.find(name)
        if stream is None:
            known = [*self._catalog.names, *queries, *self._views]
            expected = f"one of {', '.join(known)}" if known else "a registered stream"
            raise self._error(table, "unknown-stream", f"stream {name}", expected, nearest(name, known))
        unique = self._unique.make(written)
        names.add(written, unique, [column for column, _ in stream.columns], table)
        return Scan(unique, stream.name, read_window(window, self._text))

    def _derived(self, node: exp.Expr, written: str, plan: Node, names: Names) -> Derived:
        unique = self._unique.make(written, self._streams)
        names.add(written, unique, output_names(plan), node)
        return Derived(unique, plan)

    def _join(self, join: exp.Join, left: Node, names: Names, queries: Queries, late: list[exp.Expr]) -> Node:
        self._refuse_others(join, _JOIN)
        words = " ".join(str(join.args[part]) for part in ("side", "kind") if join.args.get(part)).upper()
        kind = _JOINS.get(words)
        if kind is None:
            raise self._error(
                join, "unsupported", f"{words} JOIN", f"one of {', '.join(filter(None, _JOINS))}"
            )
        right = self._relation(join.this, names, queries, late)
        condition = join.args.get("on")
        if kind in ("inner", "cross"):
            plan: Node = Join("cross", left, right, ())
            for part in conjuncts(condition) if condition is not None else ():
                if part.find(exp.Query):
                    late.append(part)
                else:
                    plan = place(plan, self._plain(part, names))
            return plan
        if condition is None:
            raise self._error(join, "syntax", f"{words} JOIN without a condition", "ON or USING")
        self._refuse_subqueries(condition, f"ON of a {words} JOIN")
        return Join(kind, left, right, tuple(self._plain(part, names) for part in conjuncts(condition)))

    # Conditions

    def _where(self, conditions: list[exp.Expr], plan: Node, names: Names, queries: Queries) -> Node:
        asking = [condition for condition in conditions if condition.find(exp.Query)]
        for condition in conditions:
            if condition not in asking:
                plan = place(plan, self._plain(condition, names))
        read = [self._subqueries(condition, names, queries) for condition in asking]
        for condition, subqueries in read:
            if all(subquery.is_one_row for subquery in subqueries):
                plan = joined(condition, subqueries, plan)
        for condition, subqueries in read:
            if not all(subquery.is_one_row for subquery in subqueries):
                plan = filtered(condition, subqueries, plan)
        return plan

    def _having(self, node: exp.Expr, plan: Node, names: Names, queries: Queries) -> Node:
        for part in conjuncts(node):
            condition, subqueries = self._subqueries(part, names, queries)
            plan = filtered(condition, subqueries, plan)
        return plan

    def _applied(self, node: exp.Expr, plan: Node, names: Names, queries: Queries) -> tuple[exp.Expr, Node]:
        expression, subqueries = self._subqueries(node, names, queries)
        for subquery in subqueries:
            plan = Apply("scalar", plan, subquery.name, subquery.plan, None, subquery.correlated)
        return expression, plan

    def _subqueries(self, node: exp.Expr, names: Names, queries: Queries) -> tuple[exp.Expr, list[Subquery]]:
        """The expression with a name in the place of each subquery."""
        holder = exp.Paren(this=node.copy())
        found = [n for n in holder.walk(prune=lambda n: isinstance(n, exp.Query)) if isinstance(n, exp.Query)]
        subqueries = []
        for query in found:
            inner = Names(self._text, names)
            plan = self._query(query, inner, queries)
            name = self._unique.make("subquery", self._streams)
            subqueries.append(Subquery(name, plan, inner.correlated))
            query.replace(exp.Var(this=name))
        return self._plain(holder.this, names), subqueries

    def _plain(self, node: exp.Expr, names: Names) -> exp.Expr:
        """An expression with every column under its relation's unique alias."""
        return node.copy().transform(lambda n: names.resolve(n) if isinstance(n, exp.Column) else n)

    # Refusals

    def _refuse_subqueries(self, node: exp.Expr, where: str) -> None:
        query = node.find(exp.Query)
        if query is not None:
            raise self._error(query, "unsupported", f"a subquery in {where}", "a subquery in FROM or WHERE")

    def _refuse_others(self, node: exp.Expr, known: tuple[str, ...]) -> None:
        """What is not read is refused, never left out."""
        for argument, value in node.args.items():
            if value and argument not in known:
                words = argument.strip("_").upper().replace("_", " ")
                raise self._error(node, "unsupported", f"{node.key.upper()} with {words}", "the plain form")

    def _error(
        self, node: exp.Expr, code: str, found: str, expected: str, suggestion: str | None = None
    ) -> InputError:
        return self._text.error(span_of(node), code, found, expected, suggestion)

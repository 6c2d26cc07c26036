"""Tables that a text reads and that are no streams, with the columns that it uses.

A column's type is told where the text says it: it is compared with something that has one, it is matched with
LIKE, or a function takes it that takes one type only.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.optimizer.annotate_types import annotate_types
from sqlglot.optimizer.scope import Scope, traverse_scope

from optimizer.algebra.types import ColumnType
from optimizer.conversion.binary.dialect import read_statement
from optimizer.logical.catalog import Catalog
from optimizer.sql.grammar.nodes import type_of
from optimizer.sql.grammar.places import SourceText

T = ColumnType
Key: TypeAlias = tuple[str, str]
"""The folded name of a table, and of a column."""
_COMPARED = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.NullSafeEQ, exp.NullSafeNEQ)
_OF_TEXTS = (exp.Like, exp.ILike, exp.DPipe, exp.Upper, exp.Lower, exp.Trim, exp.Substring, exp.RegexpLike)
_OF_TIMES = (exp.Extract, exp.TimestampTrunc, exp.DateTrunc)


@dataclass(frozen=True, slots=True)
class UsedColumn:
    """A column that a text reads of a table."""

    name: str
    type: ColumnType | None
    """None where the text does not say it."""


@dataclass(frozen=True, slots=True)
class UnregisteredTable:
    """A table that is no stream and no saved query."""

    name: str
    columns: tuple[UsedColumn, ...]
    """In the order of their names."""


@dataclass(frozen=True, slots=True)
class Unregistered:
    """What would have to be registered before a text can be converted."""

    tables: tuple[UnregisteredTable, ...]
    """In the text's order."""
    undecided: tuple[str, ...]
    """Columns without an alias that several of the tables may have."""


def unregistered(text: str, catalog: Catalog, views: Collection[str]) -> Unregistered:
    """The tables of a text that are neither streams nor among the `views`.

    >>> from optimizer.logical.stream import Stream
    >>> catalog = Catalog.of([Stream("r", (("at", T.TIMESTAMP), ("k", T.INT)), "at")])
    >>> found = unregistered("SELECT s.v FROM r JOIN s ON r.k = s.k WHERE s.w LIKE 'a%'", catalog, ())
    >>> [(one.name, one.type and one.type.value) for one in found.tables[0].columns]
    [('k', 'int'), ('v', None), ('w', 'string')]

    Raises `InputError` for a text that is no query.
    """
    place = SourceText(text, "query")
    try:
        return _Reader(read_statement(place), catalog, views).read()
    except SqlglotError as error:
        expected = "names that tell streams and columns apart"
        raise place.error(None, "unresolved", str(error), expected) from None
    except RecursionError:
        raise place.error(None, "too-deep", "a query nested too deeply", "a flatter query") from None


class _Reader:
    def __init__(self, tree: exp.Query, catalog: Catalog, views: Collection[str]) -> None:
        self._catalog = catalog
        self._known = {name.casefold() for name in (*catalog.names, *views)}
        self._tree = annotate_types(tree, dialect="duckdb")
        self._names: dict[str, exp.Table] = {}
        """The first place of each table, by its folded name."""
        self._columns: dict[Key, str] = {}
        self._of: dict[int, Key | ColumnType] = {}
        """Of a column in the tree, by its identity, the key or the type of a stream's."""
        self._placed: set[int] = set()
        self._types: dict[Key, ColumnType] = {}
        self._undecided: set[str] = set()

    def read(self) -> Unregistered:
        for scope in traverse_scope(self._tree):
            for table in scope.tables:
                name = self._missing(scope.sources.get(table.alias_or_name))
                if name is not None and _start(table) <= _start(self._names.get(name, table)):
                    self._names[name] = table
            for column in scope.columns:
                self._place(column, scope)
            for join in scope.find_all(exp.Join):
                self._using(join, scope)
        # What is equal to a column whose type was found last has it as well.
        before = -1
        while before < len(self._types):
            before = len(self._types)
            for node in self._tree.find_all(exp.Expr):
                self._type(node)
        placed = sorted(self._names.items(), key=lambda item: _start(item[1]))
        tables = tuple(UnregisteredTable(table.name, tuple(self._used(name))) for name, table in placed)
        return Unregistered(tables, tuple(sorted(self._undecided)))

    def _used(self, table: str) -> Iterator[UsedColumn]:
        for key in sorted(key for key in self._columns if key[0] == table):
            yield UsedColumn(self._columns[key], self._types.get(key))

    def _missing(self, source: exp.Expr | Scope | None) -> str | None:
        """The folded name of a table that is not known; None for anything else in FROM."""
        if not isinstance(source, exp.Table) or source.name.casefold() in self._known:
            return None
        return source.name.casefold()

    def _place(self, column: exp.Column, scope: Scope) -> None:
        """Find the table of a column, here or in the queries around."""
        if id(column) in self._placed:
            return  # a scope lists what its subqueries read of it as well
        self._placed.add(id(column))
        around: Scope | None = scope
        while around is not None:
            sources: Mapping[str, exp.Expr | Scope] = around.sources
            if column.table:
                folded = column.table.casefold()
                sources = {name: one for name, one in sources.items() if name.casefold() == folded}
            if any(self._has(source, column) for source in sources.values()):
                return
            tables = sorted({name for source in sources.values() if (name := self._missing(source))})
            if len(tables) == 1:
                self._of[id(column)] = self._note(tables[0], column.this)
                return
            if tables:
                self._undecided.add(column.name)
                return
            around = around.parent

    def _has(self, source: exp.Expr | Scope, column: exp.Column) -> bool:
        """True of a column of a stream, or of a subquery's output."""
        if isinstance(source, Scope):
            query = source.expression
            named = source.outer_columns or (query.named_selects if isinstance(query, exp.Query) else ())
            return bool(column.table) or column.name in named
        kind = self._registered(source, column.name)
        if kind is not None:
            self._of[id(column)] = kind
        return kind is not None

    def _registered(self, source: exp.Expr | Scope, column: str) -> ColumnType | None:
        """The type of a column that a registered stream has."""
        stream = self._catalog.find(source.name) if isinstance(source, exp.Table) else None
        columns = () if stream is None else stream.columns
        return next((kind for name, kind in columns if name.casefold() == column.casefold()), None)

    def _note(self, table: str, identifier: exp.Expr) -> Key:
        key = (table, identifier.name.casefold())
        quoted = bool(identifier.args.get("quoted"))
        self._columns.setdefault(key, identifier.name if quoted else identifier.name.lower())
        return key

    def _using(self, join: exp.Join, scope: Scope) -> None:
        table = self._missing(scope.sources.get(join.this.alias_or_name))
        for identifier in join.args.get("using") or ():
            if table is not None:
                key = self._note(table, identifier)
                kinds = (self._registered(source, identifier.name) for source in scope.sources.values())
                kind = next((kind for kind in kinds if kind is not None), None)
                if kind is not None:
                    self._types.setdefault(key, kind)

    # Types

    def _type(self, node: exp.Expr) -> None:
        if isinstance(node, _COMPARED):
            self._alike([node.this, node.expression])
        elif isinstance(node, exp.Between):
            self._alike([node.this, node.args["low"], node.args["high"]])
        elif isinstance(node, exp.In):
            self._alike([node.this, *node.expressions])
        elif isinstance(node, _OF_TEXTS):
            self._give(node.this, T.STRING)
        elif isinstance(node, _OF_TIMES):
            self._give(node.expression if isinstance(node, exp.Extract) else node.this, T.TIMESTAMP)
        elif isinstance(node, exp.Add | exp.Sub) and isinstance(node.expression, exp.Interval):
            self._give(node.this, T.TIMESTAMP)

    def _alike(self, operands: list[exp.Expr]) -> None:
        kinds = (self._kind(operand) for operand in operands)
        kind = next((kind for kind in kinds if kind is not None), None)
        for operand in operands if kind is not None else ():
            assert kind is not None
            self._give(operand, kind)

    def _kind(self, node: exp.Expr) -> ColumnType | None:
        plain = node.unnest()
        if isinstance(plain, exp.Column):
            of = self._of.get(id(plain))
            return self._types.get(of) if isinstance(of, tuple) else of
        constant = plain.type is not None and plain.find(exp.Column, exp.Query) is None
        kind = type_of(plain.type) if constant and plain.type is not None else None
        # A number without a point says that it is whole, not how large others are.
        return T.BIGINT if kind is T.INT and isinstance(plain, exp.Literal | exp.Neg) else kind

    def _give(self, node: exp.Expr, kind: ColumnType) -> None:
        of = self._of.get(id(node.unnest()))
        if isinstance(of, tuple):
            self._types.setdefault(of, kind)


def _start(table: exp.Table) -> int:
    start: int = table.this.meta["start"]
    return start

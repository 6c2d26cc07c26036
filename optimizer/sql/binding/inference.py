"""Infer a catalog from a query's own text, before its streams exist.

Every name in FROM that is no view is a stream; it has the columns that the text names,
qualified by its alias (or unqualified, if it is the only entry of FROM). A column's type
follows from its use, and columns that are compared with each other have one type:

- beside a number, in arithmetic or in a numeric function: bigint, or double if the number
  has a decimal point or the function gives a double;
- beside text, in LIKE, || or a text function: string;
- in the difference of two columns that is compared with an interval, beside an interval or
  in a date function: timestamp;
- as a condition, or beside TRUE or FALSE: boolean;
- otherwise: bigint.
"""

from __future__ import annotations

from collections.abc import Collection

from sqlglot import exp

from optimizer.algebra.errors import InputError
from optimizer.algebra.functions import FUNCTIONS, KINDS, Function
from optimizer.algebra.identifiers import matches
from optimizer.algebra.types import ColumnType
from optimizer.logical.catalog import Catalog
from optimizer.logical.stream import Stream
from optimizer.sql.binding.scalar.names import CALLS, WRITTEN
from optimizer.sql.grammar.places import SourceText, span_of
from optimizer.sql.grammar.syntax import read_statement, read_streams

T = ColumnType
EVENT_TIME = "event_time"
"""The event-time column of an inferred stream, unless a text names one of its own so."""
_COMPARISONS = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.NullSafeEQ, exp.NullSafeNEQ)
_ARITHMETIC = (exp.Add, exp.Sub, exp.Mul, exp.Mod, exp.Neg)
_STRENGTH = (T.BIGINT, T.INT, T.DOUBLE, T.STRING, T.BOOLEAN, T.TIMESTAMP, T.BINARY, T.UUID, T.TIME)
_OF_TEXTS = (exp.Like, exp.ILike, exp.DPipe, exp.RegexpLike, exp.SimilarTo, exp.JSONExtractScalar)

Key = tuple[str, str]
"""Folded alias and folded column name."""


def inferred_catalog(text: SourceText, views: Collection[str]) -> Catalog:
    """The streams that a text assumes; none if it is no query (`Reader` tells why).

    Raises `InputError` for `*`, which says nothing without a catalog.
    """
    try:
        statement = read_statement(text)
    except InputError:
        return Catalog()
    return _Inference(text, statement, views).catalog()


class _Inference:
    def __init__(self, text: SourceText, statement: exp.Query, views: Collection[str]) -> None:
        self._statement = statement
        self._streams: dict[str, str] = {}
        """Stream by folded alias, views left out."""
        for table in read_streams(statement):
            if not any(matches(view, table.name) for view in views):
                self._streams[(table.alias or table.name).casefold()] = table.name
        self._names: dict[Key, str] = {}
        self._parent: dict[Key, Key] = {}
        self._kinds: dict[Key, ColumnType] = {}
        for item in (item for select in statement.find_all(exp.Select) for item in select.expressions):
            star = item.this if isinstance(item, exp.Column) else item
            if isinstance(star, exp.Star):
                raise text.error(span_of(item), "unsupported", "* without a catalog", "the columns' names")

    def catalog(self) -> Catalog:
        for column in self._statement.find_all(exp.Column):
            self._key(column)
        for node in self._statement.find_all(exp.Expr):
            self._read(node)
        streams: dict[str, dict[str, tuple[str, ColumnType]]] = {}
        declared: dict[str, str] = {}
        for alias, stream in self._streams.items():
            declared.setdefault(stream.casefold(), stream)
            columns = streams.setdefault(stream.casefold(), {})
            for key in sorted(self._names):
                if key[0] == alias:
                    kind = self._kinds.get(self._root(key), T.BIGINT)
                    known = columns.get(key[1])
                    # Two aliases of one stream: the more telling use counts.
                    if known is None or _STRENGTH.index(kind) > _STRENGTH.index(known[1]):
                        columns[key[1]] = (self._names[key], kind)
        return Catalog.of(_stream(declared[name], columns) for name, columns in streams.items())

    def _key(self, node: exp.Expr | None) -> Key | None:
        """The column that a node is, if it belongs to a stream."""
        while isinstance(node, exp.Paren):
            node = node.this
        if not isinstance(node, exp.Column) or not isinstance(node.this, exp.Identifier):
            return None
        alias = node.table.casefold() or (next(iter(self._streams)) if len(self._streams) == 1 else "")
        if alias not in self._streams:
            return None
        key = (alias, node.name.casefold())
        name = node.name if node.this.args.get("quoted") else node.name.lower()
        self._names.setdefault(key, name)
        self._parent.setdefault(key, key)
        return key

    def _root(self, key: Key) -> Key:
        while self._parent[key] != key:
            key = self._parent[key]
        return key

    def _same(self, nodes: list[exp.Expr]) -> None:
        keys = [key for node in nodes if (key := self._key(node)) is not None]
        for other in keys[1:]:
            first, second = sorted((self._root(keys[0]), self._root(other)))
            kind = self._kinds.get(second)
            self._parent[second] = first
            if kind is not None:
                self._note(first, kind)

    def _note(self, key: Key, kind: ColumnType) -> None:
        root = self._root(key)
        known = self._kinds.get(root)
        if known is None or _STRENGTH.index(kind) > _STRENGTH.index(known):
            self._kinds[root] = kind

    def _expect(self, nodes: list[exp.Expr], kind: ColumnType | None) -> None:
        """Expect a type of the columns among the nodes, and in their arithmetic."""
        for item in nodes:
            node = item
            while isinstance(node, exp.Paren):
                node = node.this
            key = self._key(node)
            if key is not None and kind is not None:
                self._note(key, kind)
            elif isinstance(node, _ARITHMETIC) and kind is T.DOUBLE:
                self._expect([n for n in (node.this, node.args.get("expression")) if n is not None], kind)

    def _read(self, node: exp.Expr) -> None:
        if isinstance(node, _COMPARISONS):
            self._compared([node.this, node.expression])
        elif isinstance(node, exp.Between):
            self._compared([node.this, node.args["low"], node.args["high"]])
        elif isinstance(node, exp.In):
            self._compared([node.this, *node.expressions])
        elif isinstance(node, exp.Join) and node.args.get("using"):
            self._using(node)
        elif isinstance(node, _OF_TEXTS):
            self._expect([node.this, node.expression], T.STRING)
        elif isinstance(node, exp.Substring | exp.Trim):
            self._expect([node.this], T.STRING)
        elif isinstance(node, exp.Extract):
            self._expect([node.expression], T.TIMESTAMP)
        elif isinstance(node, exp.And | exp.Or):
            self._expect([node.this, node.expression], T.BOOLEAN)
        elif isinstance(node, exp.Not | exp.Where):
            self._expect([node.this], T.BOOLEAN)
        elif isinstance(node, exp.Add | exp.Sub):
            operands = [node.this, node.expression]
            moment = any(_constant(operand) is T.INTERVAL for operand in operands)
            self._expect(operands, T.TIMESTAMP if moment else _widest(operands))
        elif isinstance(node, exp.Mul | exp.Div | exp.Pow):
            self._expect([node.this, node.expression], _widest([node.this, node.expression]))
        elif isinstance(node, exp.Anonymous):
            self._function(node)

    def _compared(self, operands: list[exp.Expr]) -> None:
        self._same(operands)
        kinds = [kind for operand in operands if (kind := _constant(operand)) is not None]
        for kind in kinds:
            if kind is T.INTERVAL:
                for operand in operands:
                    difference = operand.this if isinstance(operand, exp.Paren) else operand
                    if isinstance(difference, exp.Sub):
                        self._expect([difference.this, difference.expression], T.TIMESTAMP)
                        self._same([difference.this, difference.expression])
            else:
                self._expect(operands, kind)

    def _using(self, join: exp.Join) -> None:
        """Both sides of USING have the column; the left one is the nearest alias before."""
        aliases = list(self._streams)
        right = (join.this.alias or join.this.name).casefold()
        if right in aliases and aliases.index(right) > 0:
            left = aliases[aliases.index(right) - 1]
            for identifier in join.args["using"]:
                pair: list[exp.Expr] = [
                    exp.Column(this=identifier.copy(), table=exp.to_identifier(alias))
                    for alias in (left, right)
                ]
                self._same(pair)

    def _function(self, node: exp.Anonymous) -> None:
        name = str(node.this).lower()
        operands = node.expressions
        function = WRITTEN.get(name) or FUNCTIONS.get(CALLS.get(name, ""))
        if function is None:
            return
        if function.rule == "first":
            self._compared(operands)
        elif function.parameters:
            for place, operand in enumerate(operands):
                self._expect([operand], _taken(function, place))


def _taken(function: Function, place: int) -> ColumnType | None:
    """The type that the use of a column as an argument suggests."""
    kind = function.kind(place)
    if kind.constant or not kind.types:
        return None
    return T.DOUBLE if kind is KINDS["number"] else kind.types[0]


def _constant(node: exp.Expr) -> ColumnType | None:
    """The type of a constant; None for anything else."""
    while isinstance(node, exp.Paren | exp.Neg):
        node = node.this
    if isinstance(node, exp.Literal):
        if node.is_string:
            return T.STRING
        return T.BIGINT if str(node.this).replace("_", "").isdigit() else T.DOUBLE
    if isinstance(node, exp.Interval):
        return T.INTERVAL
    if isinstance(node, exp.Boolean):
        return T.BOOLEAN
    if isinstance(node, exp.Cast) and node.to.this in (exp.DType.TIMESTAMP, exp.DType.TIMESTAMPNTZ):
        return T.TIMESTAMP
    return None


def _widest(operands: list[exp.Expr]) -> ColumnType | None:
    kinds = [_constant(operand) for operand in operands]
    return T.DOUBLE if T.DOUBLE in kinds else T.BIGINT if T.BIGINT in kinds else None


def _stream(name: str, columns: dict[str, tuple[str, ColumnType]]) -> Stream:
    listed = tuple(columns[key] for key in sorted(columns))
    taken = {column for column, _ in listed}
    event_time = EVENT_TIME
    while event_time in taken:
        event_time = f"{event_time}_"
    return Stream(name, (*listed, (event_time, T.TIMESTAMP)), event_time)

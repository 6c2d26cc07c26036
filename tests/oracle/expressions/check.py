"""Searches of random expressions for differences: with DuckDB, between row counts, and within logic."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random

import polars as pl

from jobs.expressions.predicate_order import staged
from optimizer.algebra.errors import InputError
from optimizer.algebra.expression import Call, Column, Expression, Literal, walk
from optimizer.algebra.normalize import negation, ordered_call
from optimizer.algebra.render import to_duckdb_sql
from optimizer.algebra.types import ColumnType
from optimizer.algebra.typing import call, is_null
from optimizer.logical.catalog import Catalog
from optimizer.logical.stream import Stream
from optimizer.sql import parse_query
from tests.oracle.expressions.compare import (
    Difference,
    DuckDB,
    Undecided,
    comparable_root,
    differing,
    polars_values,
)
from tests.oracle.expressions.generate import ROOTS, expression, negates_constant
from tests.oracle.expressions.shrink import shrunk
from tests.oracle.expressions.values import COLUMNS, Value, literal, table

T = ColumnType
CATALOG = Catalog.of(
    [
        Stream(
            "x",
            (*((n, k) for n, k in COLUMNS if k is not T.INTERVAL), ("event_time", T.TIMESTAMP)),
            "event_time",
        )
    ]
)


@dataclass
class Counts:
    """What a search has done."""

    expressions: int = 0
    values: int = 0
    """Expressions times rows."""
    by_text: int = 0
    """Expressions that went through SQL text and our reader."""
    undecided: int = 0
    """Expressions that DuckDB fails to evaluate."""
    differences: list[Difference] = field(default_factory=list)
    contradictions: list[Difference] = field(default_factory=list)
    """Where DuckDB gives a row another value than the same row twice, and the latter is ours."""


class Search:
    """Draws batches, each from the next seed, and compares all that can be compared about them."""

    def __init__(self, seed: int, size: int = 120, rows: int = 40, depth: int = 4) -> None:
        self.next_seed = seed
        self._random = Random(seed)
        self._size, self._rows, self._depth = size, rows, depth
        self._duckdb = DuckDB()
        self.counts = Counts()

    def batch(self) -> list[Difference]:
        """The differences that one more batch shows, shrunk."""
        random = self._random = Random(self.next_seed)
        self.next_seed += 1
        frame = table(self._rows, random)
        drawn = [
            comparable_root(expression(random.choice(ROOTS), depth, random))
            for depth in random.choices(range(1, self._depth + 1), range(self._depth, 0, -1), k=self._size)
        ]
        # Half of them with constants in the places of columns: values that tuples have.
        row = frame.slice(random.randrange(frame.height), 1)
        drawn[1::2] = [self._fixed(e, row) for e in drawn[1::2]]
        # Constants that compare equal are not the same.
        drawn += [_with_other_zeros(e) for e in drawn if any(map(_is_zero, walk(e)))]
        found = list(self._all(frame, drawn))
        self.counts.expressions += len(drawn)
        self.counts.values += len(drawn) * frame.height
        self.counts.differences += found
        return found

    def _all(self, frame: pl.DataFrame, drawn: Sequence[Expression]) -> Iterator[Difference]:
        found = self._values(frame, drawn)
        if found is None:
            yield from self._raising(frame, drawn)
            return
        yield from self.against_duckdb(frame, drawn, found)
        at = self._random.randrange(frame.height)
        row = frame.slice(at, 1)
        alone = range(0, len(drawn), 2)
        yield from self._same(row, [drawn[n] for n in alone], _of(found.slice(at, 1), alone), "many rows")
        yield from self._logic(frame, drawn, found, at)
        yield from self._text(frame, drawn)

    def _values(self, frame: pl.DataFrame, expressions: Sequence[Expression]) -> pl.DataFrame | None:
        try:
            return polars_values(frame, expressions)
        except BaseException as error:  # Polars' panics are no Exceptions.
            if isinstance(error, KeyboardInterrupt | SystemExit):
                raise
            return None

    def _raising(self, frame: pl.DataFrame, drawn: Sequence[Expression]) -> Iterator[Difference]:
        for e in drawn:
            if self._values(frame, [e]) is None:
                yield self._shrunk(
                    e, frame, lambda e, f: self._values(f, [e]) is None, "raises", "a value", "SQL"
                )

    def against_duckdb(
        self, frame: pl.DataFrame, drawn: Sequence[Expression], ours: pl.DataFrame
    ) -> Iterator[Difference]:
        """Differences from DuckDB's values; where it contradicts itself is counted."""
        for part, theirs in self._decided(frame, drawn):
            for k, first in differing(_of(ours, part), theirs):
                e = drawn[part[k]]
                wrong = self._wrong(e, frame, ours[f"e{part[k]}"], theirs[f"e{k}"])
                row = first if wrong is None else wrong
                both = ours[f"e{part[k]}"][row], theirs[f"e{k}"][row]
                if wrong is None:
                    self.counts.contradictions.append(
                        Difference(e, frame.slice(row, 1), *both, "DuckDB once")
                    )
                    continue
                together = Difference(e, frame.slice(row, 1), *both, "DuckDB in one statement with others")
                yield self._shrunk_pair(e, frame) or together

    def _wrong(self, e: Expression, frame: pl.DataFrame, ours: pl.Series, theirs: pl.Series) -> int | None:
        """The first row that differs and where DuckDB does not contradict itself.

        Where one row of a statement raises inside a TRY, DuckDB evaluates what is inside for each row alone,
        as if it were constant, and some functions make something else of a NULL that is constant. What it
        gives two rows that are the same depends on nothing else.
        """
        for row in ours.ne_missing(theirs).arg_true():
            alone = frame.slice(row, 1)
            try:
                twice = self._duckdb.values(pl.concat([alone, alone]), [e])["e0"]
            except Undecided:
                return int(row)
            if not twice.head(1).equals(ours.slice(row, 1), null_equal=True):
                return int(row)
        return None

    def _decided(
        self, frame: pl.DataFrame, drawn: Sequence[Expression]
    ) -> Iterator[tuple[Sequence[int], pl.DataFrame]]:
        """The expressions that DuckDB evaluates, by their numbers, and their values."""
        pending: list[Sequence[int]] = [range(len(drawn))]
        while pending:
            part = pending.pop()
            try:
                theirs = self._duckdb.values(frame, [drawn[n] for n in part])
            except Undecided:
                if len(part) == 1:
                    self.counts.undecided += 1
                else:
                    half = len(part) // 2
                    pending += [part[:half], part[half:]]
            else:
                yield part, theirs

    def _same(
        self,
        frame: pl.DataFrame,
        expressions: Sequence[Expression],
        wanted: pl.DataFrame,
        against: str,
    ) -> Iterator[Difference]:
        """Differences between what expressions give now and what the original ones gave over more rows."""
        found = self._values(frame, expressions)
        if found is None:
            yield from self._raising(frame, expressions)
            return
        for n, row in differing(found, wanted):
            yield Difference(
                expressions[n], frame.slice(row, 1), found[f"e{n}"][row], wanted[f"e{n}"][row], against
            )

    def _fixed(self, e: Expression, row: pl.DataFrame) -> Expression:
        """The expression with some columns replaced by their value in a row."""
        share = self._random.choice((0.3, 0.5, 0.7, 1.0))
        columns = [c for c in dict.fromkeys(walk(e)) if isinstance(c, Column)]
        fixed = _replaced(
            e,
            {
                c: k
                for c in columns
                if self._random.random() < share and (k := literal(c.type, _physical(row, c))) is not None
            },
        )
        return e if any(map(negates_constant, walk(fixed))) else fixed

    def _logic(
        self, frame: pl.DataFrame, drawn: Sequence[Expression], ours: pl.DataFrame, at: int
    ) -> Iterator[Difference]:
        """SQLancer's methods: a predicate splits the rows in three (TLP), filters as it evaluates (NoREC),
        and holds in a chosen row once it is turned so (PQS)."""
        numbered = frame.with_row_index("@")
        turned: list[Expression] = []
        for n, e in enumerate(drawn):
            if e.type is not T.BOOLEAN or self._random.random() > 0.1:
                continue
            parts = (e, negation(e), call("is_null", e))
            kept = [numbered.filter(*staged([p]))["@"].to_list() for p in parts]
            truth = ours[f"e{n}"].to_list()
            wanted = [[i for i, t in enumerate(truth) if t is case] for case in (True, False, None)]
            for part, got, want in zip(parts, kept, wanted, strict=True):
                if got != want:
                    odd = min(set(got) ^ set(want))
                    yield Difference(
                        part, frame.slice(odd, 1), odd in got, odd in want, "the partition of all rows"
                    )
            turned.append(parts[(True, False, None).index(truth[at])])
        if len(turned) > 1:
            together = ordered_call("and", tuple(turned), T.BOOLEAN)
            if at not in numbered.filter(*staged([together]))["@"]:
                yield Difference(together, frame.slice(at, 1), False, True, "the chosen row")

    def _text(self, frame: pl.DataFrame, drawn: Sequence[Expression]) -> Iterator[Difference]:
        """A few of the expressions, as the text that means them."""
        for e in self._random.sample(list(drawn), max(1, len(drawn) // 60)):
            if any(n.type in (T.INTERVAL, T.BINARY) for n in walk(e) if isinstance(n, Column | Literal)):
                continue
            try:
                read = (
                    parse_query(f"SELECT {to_duckdb_sql(e)} AS y FROM x", "q", CATALOG).outputs[0].expression
                )
            except InputError:
                continue
            self.counts.by_text += 1
            if is_null(read):
                # A constant without a value has the type that its context asks for.
                read = Literal(None, e.type)
            if read.type is not e.type:
                yield Difference(read, frame.head(1), read.type, e.type, "the type of its text")
                continue
            yield from self._same(frame, [read], polars_values(frame, [e]), "its text")

    def _shrunk_pair(self, e: Expression, frame: pl.DataFrame) -> Difference | None:
        """The difference of an expression alone, made small; None where there is none."""

        def differs(e: Expression, f: pl.DataFrame) -> tuple[int, object, object] | None:
            """The first row that does, and both values."""
            try:
                theirs = self._duckdb.values(f, [comparable_root(e)])
            except Undecided:
                return None
            ours = self._values(f, [comparable_root(e)])
            if ours is None:
                return 0, "raises", theirs["e0"][0]
            n = self._wrong(comparable_root(e), f, ours["e0"], theirs["e0"])
            return None if n is None else (n, ours["e0"][n], theirs["e0"][n])

        small, row = shrunk(e, frame, lambda e, f: differs(e, f) is not None)
        found = differs(small, row)
        return found and Difference(small, row.slice(found[0], 1), *found[1:], "DuckDB")

    def _shrunk(
        self,
        e: Expression,
        frame: pl.DataFrame,
        fails: Callable[[Expression, pl.DataFrame], bool],
        ours: object,
        expected: object,
        against: str,
    ) -> Difference:
        small, row = shrunk(e, frame, fails)
        return Difference(small, row, ours, expected, against)


def _of(values: pl.DataFrame, numbers: Sequence[int]) -> pl.DataFrame:
    """The values of some of the expressions, as if there were no others."""
    if len(numbers) == values.width:
        return values
    some = values.select(f"e{n}" for n in numbers)
    some.columns = [f"e{n}" for n in range(len(numbers))]
    return some


def _physical(row: pl.DataFrame, column: Column) -> Value:
    values = row[f"x.{column.name}"]
    found: Value = (values if column.type.is_decimal else values.to_physical())[0]
    return found


def _is_zero(e: Expression) -> bool:
    return isinstance(e, Literal) and e.type is T.DOUBLE and e.value == 0


def _with_other_zeros(e: Expression) -> Expression:
    if isinstance(e, Call):
        return Call(e.function, tuple(map(_with_other_zeros, e.arguments)), e.type)
    return Literal(-float(e.value or 0.0), T.DOUBLE) if isinstance(e, Literal) and _is_zero(e) else e


def _replaced(e: Expression, values: Mapping[Expression, Literal]) -> Expression:
    if isinstance(e, Call):
        return Call(e.function, tuple(_replaced(a, values) for a in e.arguments), e.type)
    return values.get(e, e)

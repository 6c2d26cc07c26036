"""Small workloads: streams, tuples in their order, and queries, each as Millrace and as DuckDB read it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

import pyarrow as pa

from optimizer.logical.catalog import Catalog
from optimizer.logical.stream import Stream
from tests.oracle.small import grouped, joined
from tests.oracle.small.as_of import AS_OF
from tests.oracle.small.derived import Reading
from tests.oracle.small.grammar import COLUMNS, Term
from tests.oracle.small.grouped import Grouped
from tests.oracle.small.values import ARROW, SECOND_US
from tests.oracle.small.values import column as arrow_column
from tests.oracle.small.versions import NAME, SmallTable

DECLARED = tuple((name, kind) for kind, names in COLUMNS.items() for name in names)
SCHEMA = pa.schema([(name, ARROW[kind]) for name, kind in DECLARED])
DAY_US = 86_400 * SECOND_US


@dataclass(frozen=True, slots=True)
class SmallInput:
    alias: str
    stream: str
    window_us: int | None
    joined: str = ""
    """How it is joined to those before it: see `tests.oracle.small.joined`; empty in a query of commas."""

    nested: bool = False
    """True for a subquery in FROM."""
    table: SmallTable | None = None
    """Of an input of versions."""

    def text(self) -> str:
        written = f"(SELECT * FROM {self._windowed})" if self.nested else self._windowed
        # An as-of join refuses to remember everything unless that is said.
        unsaid = self.joined in AS_OF and self.window_us is None and self.table is None
        meant = " [RANGE UNBOUNDED]" if unsaid else ""
        return f"{written}{meant} AS {self.alias}"

    @property
    def _windowed(self) -> str:
        if self.window_us is None:
            return self.stream
        if self.window_us % DAY_US == 0 and self.window_us:
            return f"{self.stream} [RANGE {self.window_us // DAY_US} DAYS]"
        return f"{self.stream} [RANGE {self.window_us} MICROSECONDS]"


@dataclass(frozen=True, slots=True)
class SmallQuery:
    name: str
    inputs: tuple[SmallInput, ...]
    predicates: tuple[Term, ...]
    outputs: tuple[Term, ...]
    where: tuple[Term, ...] = ()
    """Of the predicates, those that stand in WHERE and not in ON."""
    member: tuple[Term, Term] | None = None
    """What is IN the subquery, and what that selects."""
    grouped: Grouped | None = None
    also: SmallQuery | None = None
    """What UNION ALL adds."""
    reading: Reading | None = None
    """What a query does with its groups, if they are only read."""

    @property
    def is_joined(self) -> bool:
        """True if it has joins with keywords."""
        return any(i.joined for i in self.inputs[1:])

    def text(self) -> str:
        """As Millrace reads it."""
        plain = joined.text(self) if self.is_joined else self._text()
        own = plain if self.grouped is None else grouped.text(self, plain)
        own = own if self.reading is None else self.reading.text(own)
        return own if self.also is None else f"{own} UNION ALL {self.also.text()}"

    def _text(self) -> str:
        where = " AND ".join(f"({p.text()})" for p in self.predicates)
        has_conditions = any(p.aliases() for p in self.predicates)
        between = " CROSS JOIN " if not has_conditions else ", "
        outputs = ", ".join(f"{o.text()} AS o{n}" for n, o in enumerate(self.outputs))
        return f"SELECT {outputs} FROM {between.join(i.text() for i in self.inputs)}" + (
            f" WHERE {where}" if where else ""
        )

    def reference(self) -> str:
        """As DuckDB answers it. Tables have the event time in microseconds too, as `@us`."""
        if self.also is not None:
            return f"{replace(self, also=None).reference()} UNION ALL {self.also.reference()}"
        if self.reading is not None and self.grouped is not None:
            inner = replace(self, reading=None).reference()
            return self.reading.reference(inner, self.grouped.size_us)
        if self.grouped is not None:
            return grouped.reference(self, grouped.inner(self).reference())
        if self.is_joined:
            return joined.reference(self)
        conditions = [f"({p.reference()})" for p in self.predicates]
        conditions += [
            f'{newer.alias}."@us" - {older.alias}."@us" <= {older.window_us}::HUGEINT'
            for older in self.inputs
            if older.window_us is not None
            for newer in self.inputs
            if newer is not older
        ]
        outputs = ", ".join(f"{o.reference()} AS o{n}" for n, o in enumerate(self.outputs))
        sources = ", ".join(f"{i.stream} AS {i.alias}" for i in self.inputs)
        where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
        return f"SELECT {outputs} FROM {sources}{where}"


@dataclass(frozen=True, slots=True)
class Arrival:
    """A tuple on its way."""

    stream: str
    row: tuple[tuple[str, object], ...]
    """Column and value; timestamps are microseconds since 1970."""

    @property
    def time_us(self) -> int | None:
        value = dict(self.row)["ts"]
        assert value is None or isinstance(value, int)
        return value


@dataclass(frozen=True, slots=True)
class SmallWorkload:
    streams: tuple[str, ...]
    lateness_us: int | None
    """Of every stream; None is so much that nothing is late."""
    arrivals: tuple[Arrival, ...]
    """Of all streams, in their order."""
    queries: tuple[SmallQuery, ...]
    table: SmallTable | None = None
    """What the last of the streams is."""

    @property
    def catalog(self) -> Catalog:
        lateness = timedelta.max if self.lateness_us is None else timedelta(microseconds=self.lateness_us)
        streams = [Stream(name, DECLARED, "ts", lateness=lateness) for name in self.streams if name != NAME]
        if self.table is not None:
            deleted = self.table.deleted
            streams.append(Stream(NAME, DECLARED, "ts", kind="table", key=self.table.key, deleted=deleted))
        return Catalog(tuple(streams))

    def describe(self) -> str:
        """The case for a person who looks into it."""
        late = "nothing is late" if self.lateness_us is None else f"lateness {self.lateness_us} us"
        lines = [f"-- streams {', '.join(self.streams)}; {late}"]
        lines += [] if self.table is None else [f"-- {NAME}: {self.table}"]
        lines += [
            f"-- {query.name}\n{query.text()}\n-- as DuckDB: {query.reference()}" for query in self.queries
        ]
        for arrival in self.arrivals:
            known = {name: value for name, value in arrival.row if value is not None}
            lines.append(f"-- {arrival.stream} {known}")
        return "\n".join(lines)


def table_of(rows: Sequence[Arrival]) -> pa.Table:
    """Tuples of one stream as they reach the runtime."""
    values = [dict(arrival.row) for arrival in rows]
    arrays = [arrow_column([row[name] for row in values], kind) for name, kind in DECLARED]
    return pa.table(arrays, schema=SCHEMA)

"""Every commit against DuckDB: what is missing, doubled or wrong."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

import duckdb
import polars as pl

from jobs.recovery.manifest import Manifest, QueryState
from tests.simulation.queries import AT_ONCE, CATALOG, RUNNING, query, reference, since_reference

SCHEMA = {
    "at": pl.Datetime("us", "UTC"),
    "k": pl.Int64(),
    "j": pl.Int64(),
    "n": pl.Int64(),
    "d": pl.Decimal(6, 2),
}
_BEGIN = datetime(1970, 1, 1, tzinfo=UTC)
Row = tuple[object, ...]
Answer = Counter[Row]


class Wrong(AssertionError):
    """That a topology did what it must not do."""


def require(holds: bool, said: str) -> None:
    """Raise `Wrong` unless something holds."""
    if not holds:
        raise Wrong(said)


class Judge:
    """What a topology has accepted, and what that makes of its queries."""

    def __init__(self) -> None:
        self._connection = duckdb.connect(config={"threads": 1})
        self._connection.execute("SET TimeZone = 'UTC'")
        self.begin()

    def begin(self) -> None:
        """Begin a schedule."""
        self.accepted = {stream.name: pl.DataFrame(schema=SCHEMA) for stream in CATALOG}
        for stream in CATALOG:
            self._connection.register("empty", pl.DataFrame(schema=SCHEMA).to_arrow())
            self._connection.execute(f"CREATE OR REPLACE TABLE {stream.name} AS FROM empty")
        self._before: dict[str, Answer] = {}
        self._shown: dict[str, Answer] = {}
        self._since: dict[str, int] = {}
        self._states: Mapping[str, QueryState] = {}
        """Of the last batch's queries."""
        self._tables: dict[str, tuple[int | None, dict[Row, Row]]] = {}
        self.results = 0

    def commit(self, last: Manifest, kept: Mapping[str, pl.DataFrame], shown: Mapping[str, Answer]) -> None:
        """Compare what a batch shows with what DuckDB makes of the tuples accepted so far.

        Args:
            last: its manifest.
            kept: the tuples that it accepted, by stream.
            shown: its results, by query.
        """
        for name in shown:
            if name in AT_ONCE and name not in self._before:
                self._before[name] = self._answer(name)
        for name in shown:
            self._since.setdefault(name, -1 if last.batch == 0 else self._newest() + 1)
        for name in [name for name in self._since if name not in shown]:
            del self._since[name]
        self._complete(last)
        for stream, frame in kept.items():
            if frame.height:
                self.accepted[stream] = self.accepted[stream].vstack(frame)
                self._connection.register("arrived", frame.to_arrow())
                self._connection.execute(f"INSERT INTO {stream} FROM arrived")
        for name in list(self._before):
            if name not in shown:
                del self._before[name]
        for name, found in shown.items():
            self.results += found.total()
            if name in AT_ONCE:
                changed = any(kept[i.stream].height for i in query(name).inputs)
                self._at_once(name, found, last, changed=changed)
            elif name in RUNNING:
                self._running(name, found, last)
            elif found:
                self._held(name, found)

    def _complete(self, last: Manifest) -> None:
        """What was complete stays so, unless streams join: plans keep what queries have in common."""
        for name, state in last.queries.items():
            before = self._states.get(name)
            if before is not None and state.joined_us == before.joined_us:
                told = f"{name}, batch {last.batch}: complete since {before.complete_since_us}"
                stays = state.complete_since_us == before.complete_since_us
                require(stays, f"{told}, then since {state.complete_since_us}")
        self._states = last.queries

    def _newest(self) -> int:
        """The highest number of an accepted tuple."""
        found = [frame["n"].max() for frame in self.accepted.values() if frame.height]
        return max((int(n) for n in found), default=-1)  # type: ignore[arg-type]

    def _at_once(self, name: str, found: Answer, last: Manifest, *, changed: bool) -> None:
        now = self._answer(name) if changed else self._before[name]
        new, self._before[name] = now - self._before[name], now
        since = last.queries[name].complete_since_us
        needed = Counter({row: n for row, n in new.items() if since is None or newest_us(row) >= since})
        require(not found - new, f"{name}, batch {last.batch}: not results: {_some(found - new)}")
        require(
            not needed - found,
            f"{name}, batch {last.batch}, complete since {since}: missing {_some(needed - found)}",
        )

    def _running(self, name: str, found: Answer, last: Manifest) -> None:
        """The table that the results come to is DuckDB's, over what the query says that it counts."""
        state = last.queries[name]
        begun, table = self._tables.get(name, (None, {}))
        if begun != state.table_from:
            table = {}
        names = [output.name for output in query(name).outputs]
        changed: set[Row] = set()
        for *values, deleted in found.elements():
            key = tuple(values[names.index(one)] for one in state.key or ())
            require(key not in changed, f"{name}, batch {last.batch}: {key} changes twice")
            changed.add(key)
            require(not deleted or key in table, f"{name}, batch {last.batch}: {key} goes, but never came")
            require(table.get(key) != tuple(values), f"{name}, batch {last.batch}: {key} stays as it was")
            table = (
                {**table, key: tuple(values)} if not deleted else {k: v for k, v in table.items() if k != key}
            )
        self._tables[name] = state.table_from, table
        expected = Counter(
            self._connection.execute(since_reference(name, state.complete_since_us)).fetchall()
        )
        have = Counter(table.values())
        said = f"{name}, batch {last.batch}, since {state.complete_since_us}"
        require(not have - expected, f"{said}: not in the table: {_some(have - expected)}")
        require(not expected - have, f"{said}: missing in the table: {_some(expected - have)}")

    def _held(self, name: str, found: Answer) -> None:
        shown = self._shown.setdefault(name, Counter())
        shown.update(found)
        # A query that comes back may say again what it said before it went.
        before = found if self._since[name] >= 0 else shown
        wrong = before - self._answer(name)
        require(not wrong, f"{name}: not results: {_some(wrong)}")

    def end(self, last: Manifest) -> None:
        """Compare once all streams have ended and nothing waits any more."""
        for name in self._since:
            if name in AT_ONCE or name in RUNNING:
                continue
            since = last.queries[name].complete_since_us
            needed = Counter(
                {row: n for row, n in self._answer(name).items() if since is None or newest_us(row) >= since}
            )
            missing = needed - self._shown.get(name, Counter())
            require(not missing, f"{name}, complete since {since}: never came {_some(missing)}")

    def _answer(self, name: str) -> Answer:
        return Counter(self._connection.execute(reference(name)).fetchall())


def newest_us(row: Row) -> int:
    """The newest of a result's event times."""
    moments = [value for value in row if isinstance(value, datetime)]
    return max((moment - _BEGIN) // timedelta(microseconds=1) for moment in moments)


def _some(rows: Answer) -> str:
    shown = [
        " ".join(f"{v:%M:%S}" if isinstance(v, datetime) else str(v) for v in row)
        for row in sorted(rows, key=repr)[:3]
    ]
    return f"{rows.total()}, such as {'; '.join(shown)}"

"""The soak's answers against DuckDB's, over exactly what the topology accepted.

A query that was answered in a batch has all results whose newest tuple (by arrival) came with that batch,
provided that their newest event time is not older than the moment since which the manifest calls it
complete. Of older ones any part may be there, and none that is no result. The reference is computed for
one slice of event time after the other: every result has one newest event time, and its other tuples are
at most the widest window older.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa

from jobs.plan.tuples import ARRIVALS_PER_TASK
from optimizer.logical.stream import MOST_TASKS
from tests.oracle.workload import TIME, GeneratedQuery
from tests.soak.questions import MOST_OUTPUTS
from tests.soak.tuples import STREAMS
from tests.soak.watching import Commit

_SLICE_S = 30
_WIDEST_S = 10
_SEQUENCES = 1 << 20
"""More than a producer writes in a millisecond."""
_COLUMNS = ", ".join(f"o{n}" for n in range(MOST_OUTPUTS))


@dataclass(frozen=True, slots=True)
class Answers:
    """Numbers of results of one query."""

    query: str
    needed: int
    possible: int
    found: int
    missing: int
    doubled: int
    wrong: int
    """Found, and no result."""


@dataclass(frozen=True, slots=True)
class Judgement:
    sent: int
    garbage: int
    accepted: int
    dead_letters: dict[str, int]
    """By reason; those of garbage together."""
    unread: int
    """Sent, and in no batch."""
    miscounted: dict[str, tuple[int, int]]
    """Streams whose manifest counts other tuples than were sent and not turned away: (counted, expected)."""
    answers: tuple[Answers, ...]
    latency_ms: tuple[tuple[int, float, float, int], ...]
    """Per minute since the start of the load: minute, p50, p99 and number of tuples that no fault delayed."""
    quiet_latency_ms: tuple[float, float]
    """p50 and p99 of all of them."""
    all_latency_ms: tuple[float, float]
    """p50 and p99 of all accepted tuples, delayed or not."""

    def total(self, figure: str) -> int:
        return sum(int(getattr(one, figure)) for one in self.answers)


def judge(
    folder: Path,
    output: Path,
    queries: Iterable[GeneratedQuery],
    commits: Sequence[Commit],
    disturbed: Sequence[tuple[float, float]],
    load: tuple[float, float],
) -> Judgement:
    """Compares what is in OUTPUT with what must be there.

    Args:
        folder: with the producer's notes, `sent/STREAM-NUMBER.parquet`.
        output: results and dead letters.
        queries: all that were ever deployed.
        commits: all of the run, in order.
        disturbed: from when to when a fault held something up, Unix seconds.
        load: when the measured load began and ended, Unix seconds.
    """
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'; SET threads = 2; SET preserve_insertion_order = false")
        _read_commits(connection, commits)
        for stream in STREAMS:
            _read_stream(connection, stream, folder / "sent", commits)
        dead = _take_dead_letters_away(connection, output)
        counts = {name: _count(connection, f"all_{name}") for name in STREAMS}
        last = commits[-1]
        latency, quiet, everything = _latency(connection, disturbed, load)
        return Judgement(
            sent=sum(_count(connection, f"sent_{name}", "id IS NOT NULL") for name in STREAMS),
            garbage=sum(_count(connection, f"sent_{name}", "id IS NULL") for name in STREAMS),
            accepted=sum(counts.values()),
            dead_letters=dead,
            unread=sum(_count(connection, f"sent_{name}", "batch IS NULL") for name in STREAMS),
            miscounted={
                name: (last.accepted.get(name, 0), many)
                for name, many in counts.items()
                if last.accepted.get(name, 0) != many
            },
            answers=_compare(connection, output, sorted(queries, key=lambda query: query.name)),
            latency_ms=latency,
            quiet_latency_ms=quiet,
            all_latency_ms=everything,
        )


def read_commits(file: Path) -> tuple[Commit, ...]:
    """What `CommitWatch` noted."""
    return tuple(Commit(**json.loads(line)) for line in file.read_text().splitlines())


def _read_commits(connection: duckdb.DuckDBPyConnection, commits: Sequence[Commit]) -> None:
    rows = [(c.batch, c.committed_us, c.started_us) for c in commits]
    columns = [np.array(column, np.int64) for column in zip(*rows, strict=True)]
    batches = pa.table(dict(zip(("batch", "committed_us", "started_us"), columns, strict=True)))
    connection.execute("CREATE TABLE batches AS SELECT * FROM batches")
    answered = [(q, c.batch, since) for c in commits for q, since in sorted(c.queries.items())]
    names, numbers, since = zip(*answered, strict=True)
    answering = pa.table(
        {
            "query": pa.array(names, pa.string()),
            "batch": pa.array(numbers, pa.int64()),
            "since_us": pa.array(since, pa.int64()),
        }
    )
    connection.execute("CREATE TABLE answering AS SELECT * FROM answering")
    del batches, answering


def _read_stream(
    connection: duckdb.DuckDBPyConnection, stream: str, folder: Path, commits: Sequence[Commit]
) -> None:
    """`sent_STREAM`: every tuple with the batch that read it; NULL if none did."""
    sent = connection.sql(f"SELECT * FROM read_parquet('{folder}/{stream}-*.parquet')").to_arrow_table()
    reached = [
        tuple(map(int, c.positions[stream].split("-"))) if stream in c.positions else (0, 0) for c in commits
    ]
    ends = np.array([ms * _SEQUENCES + sequence for ms, sequence in reached], np.int64)
    keys = sent["entry_ms"].to_numpy() * _SEQUENCES + sent["entry_seq"].to_numpy()
    first = np.searchsorted(ends, keys, side="left")
    numbers = np.array([c.batch for c in commits] + [-1], np.int64)[first]
    placed = sent.append_column("batch", pa.array(numbers, mask=numbers < 0))
    connection.register("placed", placed)
    connection.execute(f"CREATE TABLE sent_{stream} AS SELECT * FROM placed")
    connection.unregister("placed")


def _take_dead_letters_away(connection: duckdb.DuckDBPyConnection, output: Path) -> dict[str, int]:
    """`all_STREAM`: the accepted tuples. Returns the dead letters by reason.

    A letter names its tuple and the batch; a tuple that was sent twice is told apart by the batch alone,
    which is enough, because both copies are the same.
    """
    connection.execute(
        f"""CREATE TABLE letters AS
        SELECT stream, reason, arrival // {MOST_TASKS * ARRIVALS_PER_TASK} AS batch,
            CASE WHEN reason IN ('late', 'null event time')
                THEN (tuple::JSON ->> 'id')::BIGINT END AS id
        FROM read_parquet('{output}/dead_letters/*.parquet') WHERE expression IS NULL"""
    )
    for stream in STREAMS:
        connection.execute(
            f"""CREATE TABLE all_{stream} AS
            SELECT * EXCLUDE (copy, dead) FROM (
                SELECT s.*, row_number() OVER (PARTITION BY s.id, s.batch) AS copy, coalesce(l.n, 0) AS dead
                FROM sent_{stream} AS s LEFT JOIN (
                    SELECT id, batch, count(*) AS n FROM letters
                    WHERE stream = '{stream}' AND id IS NOT NULL GROUP BY ALL
                ) AS l ON l.id = s.id AND l.batch = s.batch
                WHERE s.id IS NOT NULL AND s.batch IS NOT NULL
            ) WHERE copy > dead"""
        )
    found = connection.sql(
        "SELECT CASE WHEN id IS NULL THEN 'undecodable' ELSE reason END, count(*) FROM letters GROUP BY 1"
    ).fetchall()
    return {str(reason): int(many) for reason, many in sorted(found)}


def _compare(
    connection: duckdb.DuckDBPyConnection, output: Path, queries: Sequence[GeneratedQuery]
) -> tuple[Answers, ...]:
    everything = " UNION ALL ".join(f"SELECT batch, {TIME} FROM all_{name}" for name in STREAMS)
    connection.execute(
        f"""CREATE TABLE reach AS
        SELECT batch, min(least_us) OVER later AS least_us, max(most_us) OVER earlier AS most_us FROM (
            SELECT batch, min(epoch_us({TIME})) AS least_us, max(epoch_us({TIME})) AS most_us
            FROM ({everything}) GROUP BY batch
        ) WINDOW later AS (ORDER BY batch ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING),
                 earlier AS (ORDER BY batch ROWS UNBOUNDED PRECEDING)"""
    )
    connection.execute(
        f"""CREATE TABLE expected (query VARCHAR, {", ".join(f"o{n} BIGINT" for n in range(MOST_OUTPUTS))},
        batch BIGINT, newest_us BIGINT)"""
    )
    # Between which event times a query's newest tuples lie: whoever arrives in its batches is not older
    # than the oldest tuple from its first batch on.
    spans = {
        str(name): (int(least), int(most))
        for name, least, most in connection.sql(
            "SELECT query, min(least_us), max(most_us) FROM answering JOIN reach USING (batch) GROUP BY query"
        ).fetchall()
    }
    if spans:
        begin = min(least for least, _ in spans.values())
        end = max(most for _, most in spans.values())
        for slice_us in range(begin, end + 1, _SLICE_S * 1_000_000):
            _expect(connection, queries, spans, slice_us, slice_us + _SLICE_S * 1_000_000)
    connection.execute(
        """CREATE TABLE possible AS
        SELECT e.*, a.since_us IS NULL OR e.newest_us >= a.since_us AS needed
        FROM expected AS e JOIN answering AS a ON a.query = e.query AND a.batch = e.batch"""
    )
    return tuple(_compare_one(connection, output, query) for query in queries if query.name in spans)


def _expect(
    connection: duckdb.DuckDBPyConnection,
    queries: Sequence[GeneratedQuery],
    spans: Mapping[str, tuple[int, int]],
    begin_us: int,
    end_us: int,
) -> None:
    """Adds the results whose newest event time is in [begin, end)."""
    asked = [
        q for q in queries if q.name in spans and spans[q.name][0] < end_us and spans[q.name][1] >= begin_us
    ]
    for stream in STREAMS:
        connection.execute(
            f"""CREATE OR REPLACE TEMP TABLE {stream} AS SELECT * FROM all_{stream}
            WHERE epoch_us({TIME}) >= {begin_us - _WIDEST_S * 1_000_000} AND epoch_us({TIME}) < {end_us}"""
        )
    for query in asked:
        aliases = [i.alias for i in query.inputs]
        assert all(i.window is not None and i.window.total_seconds() <= _WIDEST_S for i in query.inputs)
        newest = f"epoch_us(greatest({', '.join(f'{alias}.{TIME}' for alias in aliases)}))"
        batch = f"greatest({', '.join(f'{alias}.batch' for alias in aliases)})"
        columns = [*query.outputs, *(f"NULL AS o{n}" for n in range(len(query.outputs), MOST_OUTPUTS))]
        text = GeneratedQuery(
            query.name,
            query.inputs,
            (*query.predicates, f"{newest} >= {begin_us}"),
            (*columns, f"{batch} AS batch", f"{newest} AS newest_us"),
            query.text,
        ).reference()
        connection.execute(f"INSERT INTO expected SELECT '{query.name}', * FROM ({text})")


def _compare_one(connection: duckdb.DuckDBPyConnection, output: Path, query: GeneratedQuery) -> Answers:
    columns = [f"o{n}" for n in range(len(query.outputs))]
    present = ", ".join([*columns, *(f"NULL::BIGINT AS o{n}" for n in range(len(columns), MOST_OUTPUTS))])
    files = f"{output}/results/{query.name}/*.parquet"
    row = _row(
        connection,
        f"""WITH found AS (
            SELECT {_COLUMNS}, count(*) AS n FROM (SELECT {present} FROM read_parquet('{files}')) GROUP BY ALL
        ), wanted AS (
            SELECT {_COLUMNS}, count(*) AS possible, count(*) FILTER (needed) AS needed
            FROM possible WHERE query = '{query.name}' GROUP BY ALL
        )
        SELECT coalesce(sum(needed), 0), coalesce(sum(possible), 0), coalesce(sum(n), 0),
            coalesce(sum(greatest(coalesce(needed, 0) - coalesce(n, 0), 0)), 0),
            coalesce(sum(greatest(n - possible, 0)) FILTER (possible IS NOT NULL), 0),
            coalesce(sum(n) FILTER (possible IS NULL), 0)
        FROM found FULL JOIN wanted ON {
            " AND ".join(f"found.o{n} IS NOT DISTINCT FROM wanted.o{n}" for n in range(MOST_OUTPUTS))
        }""",
    )
    return Answers(query.name, *(int(str(value)) for value in row))


def _latency(
    connection: duckdb.DuckDBPyConnection,
    disturbed: Sequence[tuple[float, float]],
    load: tuple[float, float],
) -> tuple[tuple[tuple[int, float, float, int], ...], tuple[float, float], tuple[float, float]]:
    """From the entry's moment to the commit of its batch, per minute without what a fault held up; over
    all of these, and over all."""
    everything = " UNION ALL ".join(f"SELECT entry_ms, batch FROM all_{name}" for name in STREAMS)
    windows = pa.table(
        {
            "began_ms": pa.array([int(begin * 1000) for begin, _ in disturbed], pa.int64()),
            "ended_ms": pa.array([int(end * 1000) for _, end in disturbed], pa.int64()),
        }
    )
    connection.register("windows", windows)
    # Per batch and entry moment, so that few rows meet the windows.
    connection.execute(
        f"""CREATE TEMP TABLE waits AS
        SELECT entry_ms, committed_us // 1000 AS committed_ms, count(*) AS n,
            EXISTS (FROM windows WHERE entry_ms <= ended_ms AND committed_us // 1000 >= began_ms) AS disturbed
        FROM ({everything}) JOIN batches USING (batch)
        WHERE entry_ms BETWEEN {int(load[0] * 1000)} AND {int(load[1] * 1000)}
        GROUP BY ALL"""
    )
    figures = (
        "quantile_disc(wait, 0.5), quantile_disc(wait, 0.99) "
        "FROM (SELECT *, committed_ms - entry_ms AS wait, unnest(range(n)) FROM waits)"
    )
    by_minute = connection.sql(
        f"""SELECT (entry_ms - {int(load[0] * 1000)}) // 60000 AS minute,
            quantile_disc(wait, 0.5), quantile_disc(wait, 0.99), count(*)
        FROM (SELECT *, committed_ms - entry_ms AS wait, unnest(range(n)) FROM waits WHERE NOT disturbed)
        GROUP BY 1 ORDER BY 1"""
    ).fetchall()
    quiet = _row(connection, f"SELECT {figures} WHERE NOT disturbed")
    overall = _row(connection, f"SELECT {figures}")
    return (
        tuple((int(m), float(p50), float(p99), int(n)) for m, p50, p99, n in by_minute),
        _pair(quiet),
        _pair(overall),
    )


def _pair(row: tuple[object, ...]) -> tuple[float, float]:
    middle, most = (float("nan") if value is None else float(str(value)) for value in row)
    return middle, most


def _count(connection: duckdb.DuckDBPyConnection, table: str, condition: str = "true") -> int:
    (many,) = _row(connection, f"SELECT count(*) FROM {table} WHERE {condition}")
    return int(str(many))


def _row(connection: duckdb.DuckDBPyConnection, text: str) -> tuple[object, ...]:
    """The only row of an answer."""
    ((*row,),) = connection.execute(text).fetchall()
    return tuple(row)

"""Random queries that group by sessions over generated streams."""

from __future__ import annotations

import random
from collections.abc import Sequence
from datetime import timedelta

from tests.oracle.groups import AGGREGATES, combined
from tests.oracle.workload import GeneratedInput, GeneratedQuery, GeneratedStream


def draw_sessions(
    chance: random.Random, streams: Sequence[GeneratedStream], count: int
) -> tuple[GeneratedQuery, ...]:
    """Queries by the names w0, w1, ...: sessions of one stream or of a join."""
    return tuple(_query(chance, f"w{number}", streams) for number in range(count))


def _query(chance: random.Random, name: str, streams: Sequence[GeneratedStream]) -> GeneratedQuery:
    window_s, gap_s = chance.choice((1, 2, 5)), chance.choice((1, 2, 5, 20))
    inputs = tuple(
        GeneratedInput(alias, chance.choice(streams).name, timedelta(seconds=window_s))
        for alias in chance.choice(("a", "a", "ab"))
    )
    keys = [f"a.{column}" for column in chance.choice(("k", "s", "kf", ""))]
    drawn = [(chance.choice(inputs).alias, *pair) for pair in chance.sample(AGGREGATES, 3)]
    ours, theirs = ([pair[n].replace("{a}", pair[0]) for pair in drawn] for n in (1, 2))
    time, newest, where, meets = combined(len(inputs), window_s)
    having = chance.choice(("", "", " HAVING COUNT(*) > 1"))
    outputs = tuple(f"o{number}" for number in range(len(keys) + 5))

    def written(session: str, aggregates: Sequence[str], source: str) -> str:
        columns = [session, *keys, "COUNT(*)", *aggregates]
        told = ", ".join(f"{column} AS {output}" for column, output in zip(columns, outputs, strict=True))
        return f"SELECT {told} FROM {source} GROUP BY {', '.join([session, *keys])}{having}"

    windows = ", ".join(f"{i.stream} [RANGE {window_s} SECONDS] AS {i.alias}" for i in inputs)
    text = written(f"SESSION({time}, INTERVAL {gap_s} SECONDS)", ours, windows + where)
    # An alias alone is its row.
    sources = ", ".join(f"{i.stream} AS {i.alias}" for i in inputs)
    rows = f"SELECT {', '.join(i.alias for i in inputs)}, {newest} AS moment FROM {sources}{meets}"
    reference = written("session", theirs, f"({_islands(rows, keys, gap_s)})")
    return GeneratedQuery(name, inputs, (), outputs, text, reference)


def _islands(rows: str, keys: Sequence[str], gap_s: int) -> str:
    """The rows with when their sessions begin: a gap before a row begins another one."""
    alike = f"PARTITION BY {', '.join(keys)} " if keys else ""
    ordered = f"({alike}ORDER BY moment)"
    apart = f"epoch_us(moment) - epoch_us(lag(moment) OVER {ordered}) > {gap_s * 1_000_000}"
    marked = f"SELECT *, CAST(coalesce({apart}, FALSE) AS INT) AS apart FROM ({rows})"
    numbered = f"SELECT *, sum(apart) OVER {ordered} AS island FROM ({marked})"
    begins = f"min(moment) OVER (PARTITION BY {', '.join(['island', *keys])}) AS session"
    return f"SELECT *, {begins} FROM ({numbered})"

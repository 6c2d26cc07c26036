"""Random queries with GROUP BY over generated streams."""

from __future__ import annotations

import random
from collections.abc import Sequence
from datetime import timedelta

from tests.oracle.workload import ID, TIME, GeneratedInput, GeneratedQuery, GeneratedStream

AGGREGATES = (
    ("SUM({a}.k)", "TRY_CAST(sum({a}.k) AS BIGINT)"),
    ("AVG({a}.k) FILTER (WHERE {a}.f)", "avg({a}.k) FILTER (WHERE {a}.f)"),
    ("MAX({a}.x)", "max({a}.x)"),
    ("COUNT(DISTINCT {a}.s)", "count(DISTINCT {a}.s)"),
    ("COUNT_IF({a}.f)", "count_if({a}.f)"),
    ("MEDIAN({a}.k)", "median({a}.k)"),
    ("QUANTILE_DISC({a}.g, 0.75)", "quantile_disc({a}.g, 0.75)"),
    ("MODE({a}.k)", "mode({a}.k ORDER BY {a}.k)"),
    ("ANY_VALUE({a}.s)", "min({a}.s)"),
    ("BIT_XOR({a}.g)", "bit_xor({a}.g)"),
    ("STRING_AGG(LEFT({a}.s, 9), '+' ORDER BY {a}.id)", "string_agg(left({a}.s, 9), '+' ORDER BY {a}.id)"),
    (
        f"FIRST({{a}}.x ORDER BY {{a}}.{TIME} DESC)",
        f"first({{a}}.x ORDER BY {{a}}.{TIME} DESC, {{a}}.x NULLS LAST)",
    ),
    (f"LAST({{a}}.g ORDER BY {{a}}.{TIME})", f"last({{a}}.g ORDER BY {{a}}.{TIME}, {{a}}.g NULLS LAST)"),
)
"""As Millrace reads them, and with DuckDB's choice among equal ones made its own."""


def draw_groups(
    chance: random.Random, streams: Sequence[GeneratedStream], count: int
) -> tuple[GeneratedQuery, ...]:
    """Queries by the names g0, g1, ...: of one stream or of a join, some with the first of each bucket."""
    return tuple(
        _running(chance, f"g{number}", streams)
        if chance.random() < 0.35
        else _query(chance, f"g{number}", streams)
        for number in range(count)
    )


def _running(chance: random.Random, name: str, streams: Sequence[GeneratedStream]) -> GeneratedQuery:
    """One of groups without an end, some of which leave the answer again."""
    window_s = chance.choice((1, 2, 5))
    inputs = tuple(
        GeneratedInput(alias, chance.choice(streams).name, timedelta(seconds=window_s))
        for alias in chance.choice(("a", "ab"))
    )
    keys = [f"a.{column}" for column in chance.choice(("k", "s", "kf", ""))]
    drawn = [(chance.choice(inputs).alias, *pair) for pair in chance.sample(AGGREGATES, 3)]
    ours, theirs = ([pair[n].replace("{a}", pair[0]) for pair in drawn] for n in (1, 2))
    _, _, where, meets = combined(len(inputs), window_s)
    behind = f" GROUP BY {', '.join(keys)}" if keys else ""
    behind += chance.choice(("", "", " HAVING COUNT(*) < 4"))
    outputs = tuple(f"o{number}" for number in range(len(keys) + 4))

    def written(aggregates: Sequence[str], sources: Sequence[str], end: str) -> str:
        columns = [*keys, "COUNT(*)", *aggregates]
        told = ", ".join(f"{column} AS {output}" for column, output in zip(columns, outputs, strict=True))
        return f"SELECT {told} FROM {', '.join(sources)}{end}{behind}"

    windows = [f"{i.stream} [RANGE {window_s} SECONDS] AS {i.alias}" for i in inputs]
    text = written(ours, windows, where)
    reference = written(theirs, [f"{i.stream} AS {i.alias}" for i in inputs], meets)
    return GeneratedQuery(name, inputs, (), outputs, text, reference, outputs[: len(keys)])


def combined(count: int, window_s: int) -> tuple[str, str, str, str]:
    """Of a or of a and b: their event time as we and as DuckDB say it, and where they meet, likewise."""
    if count == 1:
        return f"a.{TIME}", f"a.{TIME}", "", ""
    where = f" WHERE a.k = b.k AND a.{ID} <> b.{ID}"
    meets = f"{where} AND abs(epoch_us(a.{TIME}) - epoch_us(b.{TIME})) <= {window_s * 1_000_000}"
    return "RESULT_TIME()", f"greatest(a.{TIME}, b.{TIME})", where, meets


def _query(chance: random.Random, name: str, streams: Sequence[GeneratedStream]) -> GeneratedQuery:
    window_s, size_s = chance.choice((1, 2, 5)), chance.choice((1, 7, 30, 60))
    inputs = tuple(
        GeneratedInput(alias, chance.choice(streams).name, timedelta(seconds=window_s))
        for alias in chance.choice(("a", "ab"))
    )
    key = f"a.{chance.choice('ksf')}"
    drawn = [(chance.choice(inputs).alias, *pair) for pair in chance.sample(AGGREGATES, 3)]
    first = chance.random() < 0.4
    ours, theirs = ([pair[n].replace("{a}", pair[0]) for pair in drawn] for n in (1, 2))
    time, newest, where, meets = combined(len(inputs), window_s)
    outputs = ("o0", "o1", "o2", *(f"o{n}" for n, _ in enumerate(drawn, 3)))

    def written(bucket: str, aggregates: Sequence[str], sources: Sequence[str], end: str) -> str:
        columns = [bucket, key, "COUNT(*)", *aggregates]
        told = ", ".join(f"{column} AS {output}" for column, output in zip(columns, outputs, strict=True))
        return f"SELECT {told} FROM {', '.join(sources)}{end}"

    ranked = " QUALIFY ROW_NUMBER() OVER (PARTITION BY o0 ORDER BY o2 DESC{}) <= 2" if first else ""
    behind = f" GROUP BY o0, {key}"
    windows = [f"{i.stream} [RANGE {window_s} SECONDS] AS {i.alias}" for i in inputs]
    plain = [f"{i.stream} AS {i.alias}" for i in inputs]
    text = written(
        f"TUMBLE({time}, INTERVAL {size_s} SECONDS)", ours, windows, f"{where}{behind}{ranked.format('')}"
    )
    groups = written(f"time_bucket(INTERVAL {size_s} SECONDS, {newest})", theirs, plain, f"{meets}{behind}")
    reference = f"SELECT * FROM ({groups}){ranked.format(', o1 NULLS LAST')}"
    return GeneratedQuery(name, inputs, (), outputs, text, reference)

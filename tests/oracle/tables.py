"""A random table, and queries that look up its versions."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

from tests.oracle.workload import ID, TIME, GeneratedInput, GeneratedQuery, GeneratedStream

_DELETED = "f"


def as_table(chance: random.Random, stream: GeneratedStream) -> GeneratedStream:
    """A stream's tuples as versions: upserts and deletions of some keys."""
    return replace(stream, lateness=timedelta(0), key=(chance.choice("kgs"),), deleted=_DELETED)


def draw_look_up(
    chance: random.Random, name: str, streams: Sequence[GeneratedStream], table: GeneratedStream
) -> GeneratedQuery:
    """A query of one stream or two; DuckDB answers over the intervals in which versions are in force."""
    (key,) = table.key
    window_s = chance.choice((1, 5, 30))
    inputs = tuple(
        GeneratedInput(alias, chance.choice(streams).name, timedelta(seconds=window_s)) for alias in "ab"
    )
    both, kind, at = chance.random() < 0.4, chance.choice(("", "LEFT ")), "a"
    ours, theirs = (
        [f"{i.stream}{window} AS {i.alias}" for i in inputs]
        for window in (f" [RANGE {window_s} SECONDS]", "")
    )
    joined, reference = ours[0], theirs[0]
    if both:
        at = chance.choice("ab")
        met = f"JOIN {{}} ON a.{key} = b.{key} AND a.x <> b.x"
        within = f"abs(epoch_us(a.{TIME}) - epoch_us(b.{TIME})) <= {window_s * 1_000_000}"
        joined = f"{joined} {met.format(ours[1])}"
        reference = f"{reference} {met.format(theirs[1])} AND {within}"
    asked = chance.choice(("", " AND t.x > a.x", f" AND t.{ID} % 3 <> 0"))
    where = chance.choice(("", " WHERE t.x IS NULL OR t.x <> a.x"))
    # Rows with equal ids are equal, so the greatest by all columns is that by the first of them.
    newest = f"row_number() OVER (PARTITION BY {key}, {TIME} ORDER BY {ID} DESC) = 1"
    until = f"lead({TIME}) OVER (PARTITION BY {key} ORDER BY {TIME}) AS until"
    versions = f"(SELECT *, {until} FROM (SELECT * FROM {table.name} QUALIFY {newest})) AS t"
    in_force = f"t.{TIME} <= {at}.{TIME} AND (t.until IS NULL OR {at}.{TIME} < t.until)"
    exists = f"NOT COALESCE(t.{_DELETED}, FALSE)"
    outputs = (f"a.{ID}", *([f"b.{ID}"] if both else []), f"t.{ID}", "t.x")
    select = f"SELECT {', '.join(f'{output} AS o{n}' for n, output in enumerate(outputs))} FROM"
    on = f"ON t.{key} = {at}.{key}{asked}"
    return GeneratedQuery(
        name,
        inputs[: 1 + both],
        (),
        outputs,
        f"{select} {joined} {kind}JOIN {table.name} FOR SYSTEM_TIME AS OF {at}.{TIME} AS t {on}{where}",
        f"{select} {reference} {kind}JOIN {versions} {on} AND {in_force} AND {exists}{where}",
    )

"""Random queries with outer, semi, anti and as-of joins over generated streams."""

from __future__ import annotations

import random
from collections.abc import Sequence
from datetime import timedelta

from tests.oracle.workload import ID, TIME, GeneratedInput, GeneratedQuery, GeneratedStream

_SHAPES = (
    ("{a} {kind} JOIN {b} ON {ab} AND {a_b}", "", "ab"),
    ("{a} {kind} JOIN {b} ON {ab} AND {a_b}", "", "ab"),
    ("{a} LEFT JOIN {b} ON {ab} AND {a_b} LEFT JOIN {c} ON {ac} AND {a_c} AND {b_c}", "", "abc"),
    ("{a} LEFT JOIN {b} ON {ab} AND {a_b} JOIN {c} ON {ac} AND {a_c} AND {b_c}", "", "abc"),
    ("{a} LEFT JOIN ({b} JOIN {c} ON {bc} AND {b_c}) ON {ab} AND {a_b} AND {a_c}", "", "abc"),
    ("{a} {kind} JOIN {b} ON {ab} AND {a_b}",
     "NOT EXISTS (SELECT 1 FROM {c} WHERE {ac} AND {a_c} AND {b_c})", "ab"),
    ("{a}", "NOT EXISTS (SELECT 1 FROM {b}, {c} WHERE {ab} AND {a_b} AND {bc} AND {b_c} AND {a_c})", "a"),
    ("{a}", "EXISTS (SELECT 1 FROM {b} WHERE {ab} AND {a_b} AND b.x < a.x)", "a"),
    ("{a}", "a.k IN (SELECT b.k FROM {b} WHERE b.x > a.x AND {a_b})", "a"),
    ("{a}", "a.k NOT IN (SELECT b.k FROM {b} WHERE b.s = a.s AND {a_b})", "a"),
)  # fmt: skip
_AS_OF = (
    (f"{{a}} ASOF JOIN {{b}} ON {{ab}} AND a.{TIME} >= b.{TIME} AND {{a_b}}", "", "ab"),
    (f"{{a}} ASOF LEFT JOIN {{b}} ON {{ab}} AND a.{TIME} > b.{TIME} AND {{a_b}}", "", "ab"),
    (f"{{a}} JOIN {{c}} ON {{ac}} AND {{a_c}} "
     f"ASOF LEFT JOIN {{b}} ON {{ab}} AND c.{TIME} >= b.{TIME} AND {{a_b}} AND {{b_c}}",
     "b.x IS NULL OR b.x <> a.x", "abc"),
)  # fmt: skip


def draw_absences(
    chance: random.Random, streams: Sequence[GeneratedStream], span_s: int, count: int
) -> tuple[GeneratedQuery, ...]:
    """Queries by the names n0, n1, ..., and one as-of join; every stream in them has a window."""
    drawn = [_query(chance, f"n{number}", streams, span_s, _SHAPES) for number in range(count)]
    return (*drawn, _query(chance, f"n{count}", streams, span_s, _AS_OF))


def _query(
    chance: random.Random,
    name: str,
    streams: Sequence[GeneratedStream],
    span_s: int,
    shapes: Sequence[tuple[str, str, str]],
) -> GeneratedQuery:
    tree, asked, kept = chance.choice(shapes)
    inputs = {
        alias: GeneratedInput(
            alias,
            chance.choice(streams).name,
            timedelta(seconds=chance.choice((0, 1, 5, span_s // 10, span_s))),
        )
        for alias in "abc"
    }
    keys = {
        f"{one}{other}": f"{one}.{column} = {other}.{column}"
        for one, other in ("ab", "ac", "bc")
        for column in (chance.choice("kgs"),)
    }
    kind = chance.choice(("LEFT", "RIGHT", "FULL"))
    condition = f" WHERE {asked}" if asked else ""
    outputs = tuple(f"{alias}.{column}" for alias in kept for column in (ID, "x"))

    def written(windows: dict[str, str], sources: dict[str, str]) -> str:
        text = f"{tree}{condition}".format(kind=kind, **keys, **windows, **sources)
        columns = ", ".join(f"{output} AS o{n}" for n, output in enumerate(outputs))
        return f"SELECT {columns} FROM {text}"

    ours = {
        a: f"{i.stream} [RANGE {i.window // timedelta(seconds=1)} SECONDS] AS {a}"
        for a, i in inputs.items()
        if i.window is not None
    }
    pairs = ("a_b", "a_c", "b_c")
    text = written(dict.fromkeys(pairs, "TRUE"), ours)
    theirs = {pair: _within(inputs[pair[0]], inputs[pair[2]]) for pair in pairs}
    sources = {a: f"{i.stream} AS {a}" for a, i in inputs.items()}
    if shapes is _AS_OF:
        # Of several of one event time DuckDB takes any.
        order = f"PARTITION BY {keys['ab'].split(' = ')[1]}, {TIME} ORDER BY {ID} DESC, x DESC NULLS LAST"
        sources["b"] = f"(SELECT * FROM {sources['b']} QUALIFY row_number() OVER ({order}) = 1) AS b"
    reference = written(theirs, sources)
    return GeneratedQuery(name, tuple(inputs.values()), (), outputs, text, reference)


def _within(one: GeneratedInput, other: GeneratedInput) -> str:
    conditions = [
        f"COALESCE(epoch_us({newer.alias}.{TIME}) - epoch_us({older.alias}.{TIME}) <= "
        f"{older.window // timedelta(microseconds=1)}, TRUE)"
        for newer, older in ((one, other), (other, one))
        if older.window is not None
    ]
    return " AND ".join(conditions)

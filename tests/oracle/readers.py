"""Random queries that read the results of others, saved or written in FROM, one behind the other.

What is read has the columns o0 (a key), o1 (a whole number) and o2, so that any of it is read alike; DuckDB's
text has its event time, too: a bucket's end, or the newest one of a combination.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from tests.oracle.workload import ID, TIME, GeneratedInput, GeneratedQuery, GeneratedStream

_ENDS = "ends"
_READ = ("o0", "o1", "o2")


@dataclass(frozen=True, slots=True)
class _View:
    """A query that another one reads."""

    text: str
    reference: str
    """With a column `ends` behind the others."""
    inputs: tuple[GeneratedInput, ...]
    outputs: tuple[str, ...] = _READ


def draw_readers(
    chance: random.Random, streams: Sequence[GeneratedStream], count: int
) -> tuple[GeneratedQuery, ...]:
    """Queries by the names r0, r1, ..., and those by v0, v1, ... that some of them read."""
    found: list[GeneratedQuery] = []
    for number in range(count):
        view = chance.choice((_groups, _groups, _left, _anti, _union))(chance, streams)
        if chance.random() < 0.4:
            view = _groups_of(chance, view, f"({view.text})")
        name = f"({view.text})"
        if chance.random() < 0.5:
            name = f"v{number}"
            told = ", ".join(view.outputs)
            reference = f"SELECT {told} FROM ({view.reference})"
            found.append(GeneratedQuery(name, view.inputs, (), view.outputs, view.text, reference))
        found.append(_reader(chance, f"r{number}", streams, view, name))
    return tuple(found)


# What is read


def _groups(chance: random.Random, streams: Sequence[GeneratedStream]) -> _View:
    (a,) = _inputs(chance, streams, "a")
    size_s = chance.choice((1, 7, 30, 60))

    def written(bucket: str) -> str:
        told = f"a.k AS o0, COUNT(*) AS o1, MAX(a.x) AS o2, {bucket} AS o3"
        return f"SELECT {told} FROM {a.stream} AS a GROUP BY {bucket}, a.k"

    text = written(f"TUMBLE(a.{TIME}, INTERVAL {size_s} SECONDS)")
    groups = written(f"time_bucket(INTERVAL {size_s} SECONDS, a.{TIME})")
    reference = f"SELECT *, o3 + INTERVAL {size_s} SECONDS AS {_ENDS} FROM ({groups})"
    return _View(text, reference, (a,), (*_READ, "o3"))


def _groups_of(chance: random.Random, view: _View, source: str) -> _View:
    size_s = chance.choice((1, 5, 30))

    def written(bucket: str, read: str) -> str:
        told = f"v.o0 AS o0, SUM(v.o1) AS o1, MAX(v.o2) AS o2, {bucket} AS o3"
        return f"SELECT {told} FROM {read} AS v GROUP BY {bucket}, v.o0"

    text = written(f"TUMBLE(RESULT_TIME(), INTERVAL {size_s} SECONDS)", source)
    groups = written(f"time_bucket(INTERVAL {size_s} SECONDS, v.{_ENDS})", f"({view.reference})")
    told = f"* REPLACE (o1::BIGINT AS o1), o3 + INTERVAL {size_s} SECONDS AS {_ENDS}"
    return _View(text, f"SELECT {told} FROM ({groups})", view.inputs, (*_READ, "o3"))


def _left(chance: random.Random, streams: Sequence[GeneratedStream]) -> _View:
    a, b = _inputs(chance, streams, "ab")
    kind = chance.choice(("LEFT", "FULL"))
    told = f"COALESCE(a.k, b.k) AS o0, a.{ID} AS o1, b.x AS o2"
    text = f"SELECT {told} FROM {_windowed(a)} {kind} JOIN {_windowed(b)} ON a.k = b.k AND a.x <> b.x"
    reference = (
        f"SELECT {told}, greatest(a.{TIME}, b.{TIME}) AS {_ENDS} FROM {a.stream} AS a "
        f"{kind} JOIN {b.stream} AS b ON a.k = b.k AND a.x <> b.x AND {_near(a, b)}"
    )
    return _View(text, reference, (a, b))


def _anti(chance: random.Random, streams: Sequence[GeneratedStream]) -> _View:
    a, b = _inputs(chance, streams, "ab")
    kind, told = chance.choice(("EXISTS", "NOT EXISTS")), f"a.k AS o0, a.{ID} AS o1, a.x AS o2"
    on = "a.s = b.s AND b.x > a.x"
    text = f"SELECT {told} FROM {_windowed(a)} WHERE {kind} (SELECT 1 FROM {_windowed(b)} WHERE {on})"
    reference = (
        f"SELECT {told}, a.{TIME} AS {_ENDS} FROM {a.stream} AS a "
        f"WHERE {kind} (SELECT 1 FROM {b.stream} AS b WHERE {on} AND {_near(a, b)})"
    )
    return _View(text, reference, (a, b))


def _union(chance: random.Random, streams: Sequence[GeneratedStream]) -> _View:
    one, other = _anti(chance, streams), _left(chance, streams)
    return _View(
        f"{one.text} UNION ALL {other.text}",
        f"{one.reference} UNION ALL {other.reference}",
        (*one.inputs, *other.inputs),
    )


# Who reads


def _reader(
    chance: random.Random, name: str, streams: Sequence[GeneratedStream], view: _View, source: str
) -> GeneratedQuery:
    (w,) = _inputs(chance, streams, "w")
    window_s = chance.choice((0, 1, 5, 60))
    v = GeneratedInput("v", "v", timedelta(seconds=window_s))
    read, results = f"{source} [RANGE {window_s} SECONDS] AS v", f"({view.reference}) AS v"
    on = "v.o0 = w.k"
    within = f"{on} AND {_near(v, w)}"
    shape = chance.choice(("join", "left", "exists", "not exists", "groups"))
    both, own = f"v.o0 AS o0, v.o1 AS o1, v.o2 AS o2, w.{ID} AS o3", f"w.{ID} AS o0, w.x AS o1"
    if shape == "groups":
        made = _groups_of(chance, view, source)
        told = ", ".join(made.outputs)
        text, reference, outputs = made.text, f"SELECT {told} FROM ({made.reference})", made.outputs
    elif shape == "join":
        text = f"SELECT {both} FROM {read}, {_windowed(w)} WHERE {on}"
        reference = f"SELECT {both} FROM {results}, {w.stream} AS w WHERE {within}"
        outputs = (*_READ, "o3")
    elif shape == "left":
        first = chance.random() < 0.5
        ours, theirs = [(read, _windowed(w)), (results, f"{w.stream} AS w")]
        text = f"SELECT {both} FROM {ours[not first]} LEFT JOIN {ours[first]} ON {on}"
        reference = f"SELECT {both} FROM {theirs[not first]} LEFT JOIN {theirs[first]} ON {within}"
        outputs = (*_READ, "o3")
    else:
        kind = shape.upper()
        text = f"SELECT {own} FROM {_windowed(w)} WHERE {kind} (SELECT 1 FROM {read} WHERE {on})"
        asked = f"{kind} (SELECT 1 FROM {results} WHERE {within})"
        reference = f"SELECT {own} FROM {w.stream} AS w WHERE {asked}"
        outputs = ("o0", "o1")
    inputs = view.inputs if shape == "groups" else (*view.inputs, w)
    return GeneratedQuery(name, inputs, (), outputs, text, reference)


def _inputs(
    chance: random.Random, streams: Sequence[GeneratedStream], aliases: str
) -> tuple[GeneratedInput, ...]:
    return tuple(
        GeneratedInput(alias, chance.choice(streams).name, timedelta(seconds=chance.choice((0, 1, 2, 5, 20))))
        for alias in aliases
    )


def _windowed(item: GeneratedInput) -> str:
    return f"{item.stream} [RANGE {_seconds(item)} SECONDS] AS {item.alias}"


def _near(one: GeneratedInput, other: GeneratedInput) -> str:
    """That each is within the other's window."""
    apart = f"epoch_us({_time(one)}) - epoch_us({_time(other)})"
    return f"{apart} BETWEEN -{_seconds(one)} * 1000000 AND {_seconds(other)} * 1000000"


def _time(item: GeneratedInput) -> str:
    return f"{item.alias}.{_ENDS if item.alias == 'v' else TIME}"


def _seconds(item: GeneratedInput) -> int:
    assert item.window is not None
    return item.window // timedelta(seconds=1)

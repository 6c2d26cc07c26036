"""Equalities between values of every type, computed ones too, in every layout: as DuckDB joins them."""

from __future__ import annotations

import random
from itertools import product

import pytest

from optimizer.algebra.types import ColumnType
from tests.oracle.small.case import Case, Compared, judge
from tests.oracle.small.execution import Setup
from tests.oracle.small.grammar import MONEY, Term, column, compared
from tests.oracle.small.values import FIRST_US, LAST_US, ODD, ORDINARY, START_US
from tests.oracle.small.workload import DECLARED, Arrival, SmallInput, SmallQuery, SmallWorkload

T = ColumnType
A = {name: column("a", name, kind) for name, kind in DECLARED}
B = {name: column("b", name, kind) for name, kind in DECLARED}


def made(kind: ColumnType, ours: str, *parts: Term, theirs: str | None = None) -> Term:
    return Term(kind, ours, theirs or f"TRY({ours})", parts)


EQUALITIES: dict[str, tuple[Term, ...]] = {
    # Columns of every type, and of types that are compared in a third one.
    **{kind: (compared("=", A[n], B[n]),) for kind, n in (
        ("int", "i"), ("bigint", "l"), ("double", "d"), ("string", "s"), ("boolean", "f"),
        ("timestamp", "m"), ("date", "y"), ("binary", "b"),
    )},
    "int = bigint": (compared("=", A["i"], B["l"]),),
    "int = double": (compared("=", A["i"], B["d"]),),
    "bigint = double": (compared("=", A["l"], B["d"]),),
    "date = timestamp": (compared("=", A["y"], B["m"]),),
    "decimal": (compared("=", A["p"], B["p"]),),
    "decimals of other digits": (compared("=", A["p"], B["r"]), compared("=", A["q"], B["w"])),
    "int = decimal": (compared("=", A["i"], B["p"]),),
    "bigint = decimal": (compared("=", A["l"], B["w"]),),
    "decimal = double": (compared("=", A["r"], B["d"]),),
    # Several keys, and one column as two keys.
    "boolean and binary": (compared("=", A["f"], B["f"]), compared("=", A["b"], B["b"])),
    "one column twice": (compared("=", A["i"], B["i"]), compared("=", A["i"], B["j"])),
    "doubles twice": (compared("=", A["d"], B["d"]), compared("=", A["d"], B["x"])),
    # Computed keys of every type.
    "double %": (compared("=", made(T.DOUBLE, "{0} % {1}", A["d"], A["x"]), B["d"]),),
    "double % on both sides": (
        compared("=", made(T.DOUBLE, "{0} % 2", A["d"]), made(T.DOUBLE, "{0} % 2", B["d"])),
    ),
    "double +": (compared("=", made(T.DOUBLE, "{0} + {1}", A["d"], A["i"]), B["x"]),),
    "decimal +": (compared("=", made(MONEY, "CAST({0} + 1 AS DECIMAL(9, 2))", A["p"]), B["p"]),),
    "bigint +": (compared("=", made(T.BIGINT, "{0} + 1", A["l"]), B["l"]),),
    "text": (compared("=", made(T.STRING, "UPPER({0})", A["s"]), made(T.STRING, "{0} || ''", B["u"])),),
    "condition": (compared("=", made(T.BOOLEAN, "{0} > 1", A["i"]), B["f"]),),
    "moment": (compared("=", made(T.TIMESTAMP, "{0} + INTERVAL 1 SECOND", A["m"]), B["m"]),),
    "day": (compared("=", made(T.DATE, "CAST({0} AS DATE)", A["m"]), B["y"]),),
    "interval": (
        compared(
            "=",
            made(T.INTERVAL, "{0} - {1}", A["m"], A["ts"]),
            made(T.INTERVAL, "{0} - {1}", B["m"], B["ts"]),
        ),
    ),
    "binary": (compared("=", made(T.BINARY, "COALESCE({0}, {0})", A["b"]), B["b"]),),
    "computed and a column": (
        compared("=", made(T.DOUBLE, "{0} % 3", A["x"]), B["x"]),
        compared("=", A["b"], B["b"]),
    ),
}  # fmt: skip
LAYOUTS = {
    "hash": Setup("flat", 3, (), None, "cost", 0, few=False),
    "the library's join": Setup("flat", 1, (), None, "cost", 0, few=True),
    "grid": Setup("flat", 4, (), None, "always", 0, few=False),
    "slices": Setup("flat", 2, (), None, "cost", 2, few=True),
    "limit": Setup("flat", 2, (), 600, "cost", 0, few=False),
    "limit, larger pieces": Setup("flat", 1, (), 40_000, "cost", 0, few=True),
    "limit and grid": Setup("flat", 2, (), 600, "always", 0, few=False),
    "intermediate results": Setup("tree", 2, (), None, "cost", 0, few=True),
}
KINDS = dict(DECLARED)
ENDS = {T.TIMESTAMP: (FIRST_US, LAST_US)}
"""Of time, where Python has no moments."""


def workload(equalities: tuple[Term, ...], seed: int) -> SmallWorkload:
    """Tuples whose columns have ordinary and odd values and NULL, and many that are equal."""
    chance = random.Random(seed)
    arrivals = []
    for number in range(48):
        row: dict[str, object] = {}
        for name, kind in DECLARED:
            values = [*ORDINARY[kind][:2], *ODD[kind], *ENDS.get(kind, ())]
            row[name] = None if chance.random() < 0.05 else chance.choice(values)
        row |= {"ts": START_US + number * 250_000, "id": number}
        if number % 3 == 0:
            row["x"] = row["d"]
        arrivals.append(Arrival(f"s{number % 2}", tuple(row.items())))
    inputs = (SmallInput("a", "s0", None), SmallInput("b", "s1", 20_000_000))
    ids = tuple(column(alias, "id", T.BIGINT) for alias in "ab")
    outputs = (*ids, *(column("a", name, KINDS[name]) for name in ("d", "s", "b", "f", "m", "y")))
    three = (*inputs, SmallInput("c", "s0", 5_000_000))
    again = compared("=", B["f"], column("c", "f", T.BOOLEAN))
    queries = (
        SmallQuery("q0", inputs, equalities, outputs),
        SmallQuery("q1", three, (*equalities, again), (*ids, column("c", "id", T.BIGINT))),
    )
    return SmallWorkload(("s0", "s1"), None, tuple(arrivals), queries)


@pytest.mark.parametrize(("equality", "layout"), list(product(EQUALITIES, LAYOUTS)))
def test_equal_keys_meet_as_in_duckdb(equality: str, layout: str) -> None:
    made = workload(EQUALITIES[equality], 6)
    setup = LAYOUTS[layout]
    cut = Setup(
        setup.method, setup.tasks, (20, 21, 48), setup.share_bytes, setup.grids, setup.slices, setup.few
    )
    found = judge(Case(0, made, (cut,)))
    assert isinstance(found, Compared), f"{found.told}\n{made.describe()}"
    assert equality == "interval" or found.results, "keys that nothing has test nothing"

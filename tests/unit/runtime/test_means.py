"""Means of groups have the bits of DuckDB's, which are not always those of the exact mean rounded once."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from random import Random

import duckdb
import polars as pl
import pytest

from jobs.aggregation.groups import finish, merge, states_of
from jobs.expressions.dtypes import DTYPES
from jobs.plan.tuples import ARRIVAL
from optimizer.algebra.aggregates import scheme, states
from optimizer.algebra.types import ColumnType
from optimizer.physical.groups import GROUP_HASH, GroupAggregate, Groups

T = ColumnType
START = datetime(2024, 2, 29, 12, tzinfo=UTC)
GROUPS = 20_000
KINDS = {
    # 16 bits in DuckDB
    (4, 4): 0,
    # 32 bits
    (9, 9): 1,
    # 64 bits
    (18, 0): 0,
    (18, 9): 1,
    (18, 18): 1,
    # 128 bits
    (25, 10): 1,
    (38, 4): 1,
    (38, 22): 1,
    (38, 23): 100,
    (38, 30): 100,
    (38, 38): 100,
}
"""Digits and digits behind the point, and how many of the means, at the least, are not rounded once."""


def _groups(kind: ColumnType, slide_us: int, running: bool, distinct: bool) -> Groups:
    kept = scheme("avg", [kind], distinct)
    columns = tuple((f"agg1.{name}", state) for name, state in states(kept, [kind]))
    one = GroupAggregate("agg1", "avg", ("of2",), None, distinct, T.DOUBLE, kept, columns)
    taken = (("key1", T.TIMESTAMP), ("of2", kind))
    bucket = "" if running else "key1"
    return Groups(taken, 1, bucket, 10_000_000, slide_us, 2 if slide_us else 1, 0, (one,), running=running)


def _means(groups: Groups, rows: pl.DataFrame, parts: int) -> dict[datetime, float]:
    """Means of partial aggregates, each of every so-many-th row, as tasks and batches make them."""
    found = pl.concat([states_of(groups, rows.gather_every(parts, n), "@deadline") for n in range(parts)])
    if groups.merges:
        found = merge(groups, found, ("@deadline", GROUP_HASH) if groups.running else ("@deadline",))
    return dict(finish(groups, found).select("key1", "agg1").iter_rows())


def _of_duckdb(rows: pl.DataFrame, distinct: bool) -> dict[datetime, float]:
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        connection.register("numbers", rows.to_arrow())
        called = f"avg({'DISTINCT ' if distinct else ''}of2)"
        return dict(connection.sql(f"SELECT key1, {called} FROM numbers GROUP BY key1").fetchall())


def _frame(keys: Sequence[datetime], numbers: Sequence[object], kind: ColumnType) -> pl.DataFrame:
    return pl.DataFrame(
        {"key1": keys, "of2": numbers, ARRIVAL: range(len(keys))},
        schema_overrides={"key1": DTYPES[T.TIMESTAMP], "of2": DTYPES[kind]},
    )


def _random(kind: ColumnType) -> pl.DataFrame:
    """Groups of a few numbers: of one sign or both, of many digits or a few; one without any."""
    random = Random(f"means of {kind}")
    # DuckDB has no total beyond 128 bits.
    digits = min(kind.precision, 36)
    keys: list[datetime] = [START - timedelta(hours=1)]
    numbers: list[Decimal | None] = [None]
    for n in range(GROUPS):
        signs = random.choice(((1,), (-1,), (1, -1)))
        for _ in range(random.choice((1, 2, 3, 5, 7, 11))):
            units = random.randrange(10 ** random.choice((digits, digits, random.randrange(1, digits + 1))))
            keys.append(START + timedelta(seconds=10 * n))
            numbers.append(Decimal(f"{random.choice(signs) * units}E-{kind.scale}"))
    return _frame(keys, numbers, kind)


def _rounded_once(rows: pl.DataFrame) -> dict[datetime, float]:
    numbers = rows.drop_nulls().group_by("key1").agg("of2").iter_rows()
    return {key: float(sum(map(Fraction, values)) / len(values)) for key, values in numbers}


@pytest.mark.parametrize(("digits", "scale"), KINDS)
def test_means_of_decimals_have_the_bits_of_duckdb(digits: int, scale: int) -> None:
    kind = T.decimal(digits, scale)
    rows = _random(kind)
    expected = _of_duckdb(rows, False)
    assert _means(_groups(kind, 0, False, False), rows, 3) == expected
    assert sum(expected[key] != mean for key, mean in _rounded_once(rows).items()) >= KINDS[digits, scale]


@pytest.mark.parametrize(("digits", "scale"), [(4, 4), (9, 9), (18, 18), (38, 30)])
def test_means_of_distinct_decimals_have_the_bits_of_duckdb(digits: int, scale: int) -> None:
    kind = T.decimal(digits, scale)
    rows = _random(kind)
    assert _means(_groups(kind, 0, False, True), rows, 3) == _of_duckdb(rows, True)


@pytest.mark.parametrize("running", [False, True], ids=["hopping", "running"])
@pytest.mark.parametrize(("digits", "scale"), [(4, 4), (18, 9), (38, 30)])
def test_means_of_groups_that_hop_or_run_have_the_bits_of_duckdb(
    digits: int, scale: int, running: bool
) -> None:
    kind = T.decimal(digits, scale)
    rows = _random(kind)
    groups = _groups(kind, 0 if running else 10_000_000, running, False)
    earlier = rows.with_columns(pl.col("key1") - timedelta(seconds=10))
    assert _means(groups, rows, 2) == _of_duckdb(rows if running else pl.concat([rows, earlier]), False)


@pytest.mark.parametrize("kind", [T.INT, T.BIGINT])
@pytest.mark.parametrize("distinct", [False, True], ids=["all", "distinct"])
def test_a_mean_of_many_integers_has_the_bits_of_duckdb(kind: ColumnType, distinct: bool) -> None:
    """Only quotients by more than some two thousand are so near to halves between doubles."""
    numbers = [*range(-2049, 2049), 2049 + 4065]
    rows = _frame([START] * len(numbers), numbers, kind)
    found = _means(_groups(kind, 0, False, distinct), rows, 3)
    assert found == _of_duckdb(rows, distinct)
    assert found[START] != sum(numbers) / len(numbers)


@pytest.mark.parametrize("sign", [1, -1])
def test_a_mean_of_integers_of_64_bits_has_the_bits_of_duckdb(sign: int) -> None:
    keys = [START + timedelta(seconds=10 * n) for n in range(GROUPS) for _ in range(n % 5 + 1)]
    random = Random(64)
    numbers = [sign * random.randrange(2**62, 2**63) for _ in keys]
    rows = _frame(keys, numbers, T.BIGINT)
    assert _means(_groups(T.BIGINT, 0, False, False), rows, 3) == _of_duckdb(rows, False)

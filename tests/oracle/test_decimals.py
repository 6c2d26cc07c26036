"""Money as decimals, from files to results: joined, summed and turned away as DuckDB and the guide say."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from random import Random

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.oracle.replay import Run, replay

START = datetime(2024, 1, 1, tzinfo=UTC)
ROWS = 900
STREAMS = """
streams:
  orders:
    event_time: at
    columns: {at: timestamp, id: bigint, price: "decimal(12, 2)", rate: "numeric(5,4)"}
  payments:
    event_time: at
    columns: {at: timestamp, id: int, paid: "decimal(18,4)", fee: double}
"""
JOINS = {
    "paid": """SELECT o.id AS o, p.id AS p, o.price * o.rate AS taxed, o.price + p.paid AS both,
      ROUND(p.paid, 1) AS about, p.paid / 3 AS third, p.paid * 1.19 AS gross, CAST(p.paid AS STRING) AS told
      FROM orders AS o, payments AS p WHERE o.price = p.paid AND o.rate < 0.5""",
    "near": """SELECT o.id AS o, p.id AS p FROM orders AS o, payments AS p
      WHERE o.id = p.id AND o.price - p.paid BETWEEN -0.75 AND 1.5 AND p.paid > p.fee""",
}
GROUPS = """SELECT TUMBLE(o.at, INTERVAL 2 MINUTES) AS begins, o.rate AS rate, SUM(o.price) AS total,
  MAX(o.price) AS most, AVG(o.price) AS mean, COUNT(DISTINCT o.price) AS prices
  FROM orders AS o GROUP BY 1, 2"""


def _moments() -> list[datetime]:
    return [START + timedelta(seconds=n) for n in range(ROWS)]


def _write(folder: Path) -> tuple[pa.Table, pa.Table]:
    """A workload, its files, and the tuples of them that fit their types."""
    random = Random(7)
    (folder / "workload" / "queries").mkdir(parents=True)
    (folder / "workload" / "streams.yaml").write_text(STREAMS)
    for name, text in {**JOINS, "groups": GROUPS}.items():
        (folder / "workload" / "queries" / f"{name}.sql").write_text(text)
    cents = [
        random.choice((random.randrange(-300, 300), 10**11 - random.randrange(200))) for _ in range(ROWS)
    ]
    prices = [None if n % 50 == 0 else Decimal(c).scaleb(-2) for n, c in enumerate(cents)]
    rates = [Decimal(random.randrange(0, 4)) / 4 for _ in range(ROWS)]
    orders = pa.table(
        {
            "at": pa.array(_moments(), pa.timestamp("us", "UTC")),
            "id": pa.array(range(ROWS), pa.int64()),
            "price": pa.array(prices, pa.decimal128(12, 2)),
            "rate": pa.array(rates, pa.decimal128(5, 4)),
        }
    )
    (folder / "data" / "orders").mkdir(parents=True)
    # A narrower type is read as the declared one.
    stored = orders.set_column(3, "rate", orders["rate"].cast(pa.decimal128(3, 2)))
    pq.write_table(stored, folder / "data" / "orders" / "0.parquet")
    paid = [
        Decimal(random.choice(cents)).scaleb(-2) + random.choice((Decimal(0), Decimal("0.0001")))
        for _ in cents
    ]
    (folder / "data" / "payments").mkdir(parents=True)
    lines = [
        f"{at.isoformat()},{n},{amount},0.1"
        for n, (at, amount) in enumerate(zip(_moments(), paid, strict=True))
    ]
    # The last two do not fit.
    lines += [f"{START.isoformat()},1,1.00001,0", f"{START.isoformat()},1,100000000000000,0"]
    (folder / "data" / "payments" / "0.csv").write_text("\n".join(["at,id,paid,fee", *lines]) + "\n")
    payments = pa.table(
        {
            "at": orders["at"],
            "id": pa.array(range(ROWS), pa.int32()),
            "paid": pa.array(paid, pa.decimal128(18, 4)),
            "fee": pa.array([0.1] * ROWS),
        }
    )
    return orders, payments


@pytest.mark.parametrize(
    "run",
    [
        pytest.param(Run(method="ilp", batch_rows=400, parallelism=3), marks=pytest.mark.long),
        Run(method="greedy", batch_rows=700, parallelism=2, options=("--memory-limit", "524288")),
    ],
    ids=["ilp", "memory limit"],
)
def test_decimals_are_those_of_duckdb(run: Run, tmp_path: Path) -> None:
    orders, payments = _write(tmp_path)
    replay(tmp_path / "workload", tmp_path / "data", tmp_path / "out", run)
    connection = duckdb.connect()
    # Beside a mean it would divide the sum, rounded to a double.
    connection.execute("SET TimeZone = 'UTC'; SET disabled_optimizers = 'aggregate_function_rewriter'")
    connection.register("orders", orders)
    connection.register("payments", payments)
    asked = {
        **JOINS,
        "groups": GROUPS.replace("TUMBLE(o.at, INTERVAL 2 MINUTES)", "TIME_BUCKET(INTERVAL 2 MINUTES, o.at)"),
    }
    for name, text in asked.items():
        expected = pl.DataFrame(
            connection.execute(text.replace("AS STRING)", "AS VARCHAR)")).to_arrow_table()
        )
        found = pl.read_parquet(tmp_path / "out" / "results" / name / "*.parquet", glob=True)
        assert found.height == expected.height > 20, name
        kinds = [(n, k) for n, k in expected.schema.items() if k.is_decimal()]
        assert [(n, found.schema[n]) for n, _ in kinds] == kinds
        assert found.sort(found.columns).rows() == expected.select(found.columns).sort(found.columns).rows()
    letters = pl.read_parquet(tmp_path / "out" / "dead_letters" / "*.parquet", glob=True)
    reasons = sorted(letters["reason"].to_list())
    assert [reason.split(" (")[0] for reason in reasons] == [
        "paid is not decimal(18,4): 1.00001",
        "paid is not decimal(18,4): 100000000000000",
    ] or [reason.split(": ")[0] for reason in reasons] == ["paid is not decimal(18,4)"] * 2

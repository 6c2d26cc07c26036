"""TPC-H's tables as two streams: with a skewed join key, and with cardinalities that fluctuate."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from tests.bench.tpch.tables import START, generate

TASKS = 16
"""As many as the paper's smaller cluster has machines."""
UNEVEN_TASKS = 11
"""A prime number: one grid of all tasks is a row or a column, several are of 8, 2 and 1 tasks."""
FLUCTUATING_BATCHES = 100


@dataclass(frozen=True, slots=True)
class Sides:
    """The columns of both sides that the joins read."""

    one: pl.DataFrame
    """Suppliers or orders: `o_key`, `o_value`."""
    lineitem: pl.DataFrame
    """`l_key`, `l_line`."""


def suppliers_and_lines(scratch: Path, scale_factor: float) -> Sides:
    """Few suppliers and many lines: the larger join of TPC-H's Q5 and Q7, as in the paper's section 5.1."""
    tables = {table.name: table.rows for table in generate(scratch, scale_factor)}
    return Sides(
        tables["supplier"].select(o_key="s_suppkey", o_value="s_acctbal"),
        tables["lineitem"].select(l_key="l_suppkey", l_line="l_linenumber"),
    )


def orders_and_lines(scratch: Path, scale_factor: float) -> Sides:
    """The streams of the paper's Fluct-Join."""
    tables = {table.name: table.rows for table in generate(scratch, scale_factor)}
    return Sides(
        tables["orders"].select(o_key="o_orderkey", o_value="o_totalprice"),
        tables["lineitem"].select(l_key="l_orderkey", l_line="l_linenumber"),
    )


def skewed(sides: Sides, z: float) -> Sides:
    """Lines whose keys are drawn under Zipf's law: rank n of all keys with a weight of n**-z.

    Which key has which rank is drawn too, with a fixed seed; the other side stays as it is, so every
    line finds exactly one partner.
    """
    random = np.random.default_rng(19)
    keys = random.permutation(sides.one["o_key"].to_numpy())
    weights = np.arange(1, len(keys) + 1, dtype=np.float64) ** -z
    drawn = random.choice(keys, size=sides.lineitem.height, p=weights / weights.sum())
    return Sides(sides.one, sides.lineitem.with_columns(l_key=pl.Series(drawn)))


def top_share(keys: pl.Series) -> float:
    """The share of the most frequent key."""
    return int(keys.value_counts()["count"].max()) / len(keys)  # type: ignore[arg-type]


def write_evenly(sides: Sides, folder: Path) -> None:
    """FOLDER/STREAM/0.parquet, both streams spread evenly over the same hour."""
    for name, frame in (("one", sides.one), ("lineitem", sides.lineitem)):
        step = 3_600_000_000 / frame.height
        _write(frame, name, (np.arange(frame.height) * step).astype(np.int64), None, folder)


def write_fluctuating(sides: Sides, k: int, folder: Path) -> int:
    """Streams whose cardinalities' ratio goes to and fro between k and 1/k, as in the paper's section 5.4.

    One stream comes alone until it has k times the other's tuples, then the other. Both begin with a
    hundredth of the smaller one, side by side. Returns the number of tuples.
    """
    most = min(sides.one.height, sides.lineitem.height)
    counts = [most // 100, most // 100]
    turns = [np.tile([0, 1], counts[0])]
    active = 0
    while True:
        more = min(k * counts[1 - active], most) - counts[active]
        if more > 0:
            turns.append(np.full(more, active))
            counts[active] += more
        if counts[active] >= most:
            break
        active = 1 - active
    order = np.concatenate(turns)
    for number, (name, frame) in enumerate((("one", sides.one), ("lineitem", sides.lineitem))):
        places = np.flatnonzero(order == number)
        _write(frame.head(len(places)), name, places.astype(np.int64) * 1000, places.astype(np.int64), folder)
    return len(order)


def _write(
    frame: pl.DataFrame, name: str, times_us: np.ndarray, arrivals: np.ndarray | None, folder: Path
) -> None:
    start = int(START.timestamp() * 1_000_000)
    at = pl.Series("at", start + times_us).cast(pl.Datetime("us", "UTC"))
    frame = frame.with_columns(at)
    if arrivals is not None:
        frame = frame.with_columns(pl.Series("_arrival", arrivals))
    (folder / name).mkdir(parents=True)
    frame.write_parquet(folder / name / "0.parquet")


def write_workload(
    sides: Sides, condition: str, folder: Path, shares: tuple[float, float] | None = None, tasks: int = TASKS
) -> None:
    """FOLDER/streams.yaml and FOLDER/queries/join.sql: both streams joined without windows.

    Args:
        shares: of the most frequent key in both streams, to be declared; None declares nothing.
        tasks: of both streams' stores.
    """
    lines = ["streams:"]
    declared = (
        ("one", {"o_key": "bigint", "o_value": "double"}, sides.one.height, "o_key", 0),
        ("lineitem", {"l_key": "bigint", "l_line": "int"}, sides.lineitem.height, "l_key", 1),
    )
    for name, columns, rows, key, number in declared:
        kinds = ", ".join(f"{column}: {kind}" for column, kind in columns.items())
        lines += [
            f"  {name}:",
            "    event_time: at",
            f"    rate: {rows / 3600!r}",
            f"    parallelism: {tasks}",
            f"    columns: {{at: timestamp, {kinds}}}",
        ]
        if shares is not None:
            lines.append(f"    top_share: {{{key}: {shares[number]!r}}}")
    (folder / "queries").mkdir(parents=True)
    (folder / "streams.yaml").write_text("\n".join([*lines, ""]))
    query = f"SELECT o_key, o_value, l_key, l_line FROM one, lineitem WHERE {condition}\n"
    (folder / "queries" / "join.sql").write_text(query)

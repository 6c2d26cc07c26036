"""Event times near both ends of 64 bits, and windows up to the longest that SQL can say, against DuckDB."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobs.partitioning.slices import Layout, Segment, slice_numbers, touched
from jobs.plan.event_time import (
    FIRST_US,
    LAST_US,
    admits,
    all_earlier,
    all_later,
    earlier,
    earlier_than,
    elapsed,
    later_than,
    moment,
)
from optimizer.algebra.types import ColumnType
from optimizer.logical.catalog import Catalog
from optimizer.logical.stream import Stream
from optimizer.logical.window import Sliding
from optimizer.planner.plan import plan
from optimizer.sql import parse_query
from tests.oracle.small.case import Case, Compared, judge
from tests.oracle.small.execution import Setup
from tests.oracle.small.generate import WIDE_US
from tests.oracle.small.grammar import Term, between, column, compared, shifted
from tests.oracle.small.values import FIRST_US as FIRST_DAY_US
from tests.oracle.small.values import LAST_US as LAST_DAY_US
from tests.oracle.small.workload import (
    DECLARED,
    Arrival,
    SmallInput,
    SmallQuery,
    SmallWorkload,
    table_of,
)
from tests.unit.runtime.in_process import Topology

ENDS = st.one_of(
    st.integers(FIRST_US, FIRST_US + 3),
    st.integers(LAST_US - 3, LAST_US),
    st.integers(-3, 3),
    st.integers(FIRST_US, LAST_US),
)
DISTANCES = st.one_of(
    st.sampled_from((0, 1, 2, *WIDE_US, *(w - 1 for w in WIDE_US))), st.integers(0, 2**67), st.integers(0, 5)
)


def clipped(exact: int) -> int:
    return min(max(exact, FIRST_US), LAST_US)


@settings(deadline=None, max_examples=300)
@given(times=st.lists(ENDS, min_size=1, max_size=6), by_us=DISTANCES)
def test_moved_moments_stop_at_the_ends(times: list[int], by_us: int) -> None:
    array, frame = np.array(times, dtype=np.int64), pl.DataFrame({"t": times}, schema={"t": pl.Int64})
    sooner, after = ([clipped(t + sign * by_us) for t in times] for sign in (-1, 1))
    assert all_earlier(array, by_us).tolist() == [earlier(t, by_us) for t in times] == sooner
    assert all_later(array, by_us).tolist() == after
    moved = frame.select(
        earlier_than(pl.col("t"), by_us).alias("e"), later_than(pl.col("t"), by_us).alias("l")
    )
    assert (moved["e"].to_list(), moved["l"].to_list()) == (sooner, after)


@settings(deadline=None, max_examples=300)
@given(pairs=st.lists(st.tuples(ENDS, ENDS), min_size=1, max_size=6), window_us=DISTANCES)
def test_the_window_condition_is_that_of_whole_numbers(pairs: list[tuple[int, int]], window_us: int) -> None:
    frame = pl.DataFrame(pairs, schema={"newer": pl.Int64, "older": pl.Int64}, orient="row")
    frame = frame.cast(pl.Datetime("us", "UTC"))
    found = frame.select(admits(Sliding(window_us), pl.col("newer"), pl.col("older"))).to_series().to_list()
    assert found == [newer - older <= window_us for newer, older in pairs]
    newer, older = (np.array(side, dtype=np.int64) for side in zip(*pairs, strict=True))
    assert elapsed(older, newer).tolist() == [clipped(n - o) for n, o in pairs]


@given(time_us=ENDS)
def test_any_moment_can_be_told(time_us: int) -> None:
    assert 1 <= moment(time_us).year <= 9999


@settings(deadline=None, max_examples=300)
@given(
    times=st.lists(ENDS, min_size=2, max_size=12),
    widths=st.lists(
        st.one_of(st.integers(1, 3), st.sampled_from((10**6, 2**61, LAST_US))), min_size=1, max_size=3
    ),
    bounds=st.lists(ENDS, max_size=2, unique=True),
    tasks=st.integers(1, 5),
)
def test_slices_of_a_stretch_of_time_hold_what_is_stored_in_it(
    times: list[int], widths: list[int], bounds: list[int], tasks: int
) -> None:
    """Whatever the segments: numbers do not fall, and whoever asks for a stretch asks the task of each tuple
    in it."""
    segments = [Segment(0, widths[0], 0)]
    for since, width in zip(sorted(b for b in bounds if b > 0), widths[1:], strict=False):
        last = segments[-1]
        segments.append(Segment(since, width, last.first + (since - 1 - last.since_us) // last.width_us + 1))
    layout = Layout(tuple(segments), widths[0])
    ordered = np.array(sorted(times), dtype=np.int64)
    numbers = slice_numbers(layout, ordered)
    assert (np.diff(numbers.astype(np.float64)) >= 0).all()
    asked = touched(layout, ordered[:1], ordered[-1:], tasks)
    for stored in (numbers % tasks).tolist():
        assert asked.in_task(stored).all()


# Whole topologies


def tuples(stream: str, times: list[int]) -> list[Arrival]:
    rows = [
        {name: None for name, _ in DECLARED} | {"ts": t, "m": t, "id": n, "i": n % 2}
        for n, t in enumerate(times)
    ]
    return [Arrival(stream, tuple(row.items())) for row in rows]


def ids(query_inputs: tuple[SmallInput, ...]) -> tuple[Term, ...]:
    return tuple(column(i.alias, "id", ColumnType.BIGINT) for i in query_inputs)


SETUPS = {
    "plain": Setup("flat", 1, (), None, "cost", 0, few=False),
    "joined by the library": Setup("flat", 2, (), None, "cost", 0, few=True),
    "slices": Setup("flat", 3, (), None, "cost", 2, few=False),
    "one slice": Setup("flat", 2, (), None, "cost", 1, few=True),
    "grids": Setup("flat", 4, (), None, "always", 0, few=False),
    "memory limit": Setup("tree", 2, (), 600, "cost", 0, few=False),
    "intermediate results": Setup("tree", 1, (), None, "cost", 0, few=True),
}
TIMES = st.one_of(
    st.integers(FIRST_DAY_US, FIRST_DAY_US + 4),
    st.integers(LAST_DAY_US - 4, LAST_DAY_US),
    st.sampled_from((0, -1, 1, 2**62, -(2**62))),
)


@pytest.mark.parametrize("keys", [False, True], ids=["no key", "a key"])
@pytest.mark.parametrize("setup", SETUPS)
@settings(deadline=None, max_examples=12, derandomize=True)
@given(
    times=st.lists(TIMES, min_size=2, max_size=8),
    windows=st.lists(st.sampled_from((None, 0, 3, *WIDE_US)), min_size=3, max_size=3),
    lateness=st.sampled_from((None, 2**64)),
    narrower=st.lists(st.sampled_from((0, 3, *WIDE_US)), min_size=2, max_size=2),
    cut=st.integers(1, 7),
)
def test_windows_near_the_ends_of_time_equal_duckdb(
    setup: str,
    keys: bool,
    times: list[int],
    windows: list[int | None],
    lateness: int | None,
    narrower: list[int],
    cut: int,
) -> None:
    inputs = tuple(
        SmallInput(alias, stream, w)
        for alias, stream, w in zip("abc", ("s0", "s1", "s0"), windows, strict=True)
    )
    others = tuple(replace(i, window_us=w) for i, w in zip(inputs[:2], narrower, strict=True))
    name = "i" if keys else "ts"
    kind = ColumnType.INT if keys else ColumnType.TIMESTAMP
    joins = tuple(
        compared("=" if keys else "<=", column(p, name, kind), column(q, name, kind)) for p, q in ("ab", "bc")
    )
    queries = (
        SmallQuery("q0", inputs, joins, ids(inputs)),
        SmallQuery("q1", inputs[:2], joins[:1], ids(inputs[:2])),
        # What queries with other windows share is checked for each of them where it leaves the rest.
        SmallQuery("q2", others, joins[:1], ids(others)),
    )
    arrivals = tuple(a for n, t in enumerate(times) for a in tuples(f"s{n % 2}", [t]))
    judged(SmallWorkload(("s0", "s1"), lateness, arrivals, queries), setup, cut)


INNER = TIMES.map(lambda t: min(max(t, FIRST_DAY_US + 2_000_000), LAST_DAY_US - 2_000_000))
"""So far from the ends that a second more is a moment too."""
STEPS = ("INTERVAL 0 SECONDS", "INTERVAL 1 SECOND", "INTERVAL 100000000 DAYS")


@pytest.mark.parametrize("setup", SETUPS)
@settings(deadline=None, max_examples=12, derandomize=True)
@given(
    times=st.lists(INNER, min_size=2, max_size=8),
    steps=st.tuples(st.sampled_from(STEPS), st.sampled_from(STEPS)),
    cut=st.integers(1, 7),
)
def test_bands_of_time_near_its_ends_equal_duckdb(
    setup: str, times: list[int], steps: tuple[str, str], cut: int
) -> None:
    inputs = (SmallInput("a", "s0", None), SmallInput("b", "s1", 2**63))
    a, b = (column(alias, "m", ColumnType.TIMESTAMP) for alias in "ab")
    low, high = (Term(ColumnType.INTERVAL, text, text) for text in steps)
    band = between(b, shifted(a, "-", low), shifted(a, "+", high))
    arrivals = tuple(a for n, t in enumerate(times) for a in tuples(f"s{n % 2}", [t]))
    query = SmallQuery("q0", inputs, (band,), ids(inputs))
    judged(SmallWorkload(("s0", "s1"), None, arrivals, (query,)), setup, cut)


@pytest.mark.parametrize("setup", SETUPS)
@pytest.mark.parametrize("name", ["i", "s"])
def test_the_longest_window_finds_everything(setup: str, name: str) -> None:
    """It found nothing: its length in microseconds is more than 64 bits hold."""
    inputs = tuple(SmallInput(alias, "s0", 999_999_999 * 86_400_000_000) for alias in "ab")
    kind = dict(DECLARED)[name]
    queries = (
        SmallQuery("q0", inputs, (compared("=", *(column(a, name, kind) for a in "ab")),), ids(inputs)),
    )
    arrivals = [
        replace(a, row=tuple({**dict(a.row), "s": "xy"[n % 2]}.items()))
        for n, a in enumerate(tuples("s0", [*range(40)]))
    ]
    found = judged(SmallWorkload(("s0",), 0, tuple(arrivals), queries), setup, 20)
    assert found.results == 2 * 20 * 20


@pytest.mark.parametrize("setup", SETUPS)
@pytest.mark.parametrize("kind", ["LEFT", "RIGHT", "FULL", "NOT EXISTS", "EXISTS"])
@pytest.mark.parametrize("end", [LAST_US, LAST_DAY_US], ids=["infinity", "the last moment"])
def test_what_has_no_partner_at_the_end_of_time_falls_due(setup: str, kind: str, end: int) -> None:
    """Its deadline is the end of time too, which the watermark has reached before the streams have ended."""
    inputs = (SmallInput("a", "s0", 10_000_000), SmallInput("b", "s1", 10_000_000, kind))
    keys = compared("=", *(column(alias, "i", ColumnType.INT) for alias in "ab"))
    outside = inputs[:1] if kind.endswith("EXISTS") else inputs
    query = SmallQuery("q0", inputs, (keys,), ids(outside))
    # s0 has 0 and 2, s1 has 0, 1 and 1: some meet, and some of either side do not.
    arrivals = (
        *tuples("s0", [end]),
        *tuples("s1", [end, end]),
        replace(tuples("s0", [end])[0], row=tuple({**dict(tuples("s0", [end])[0].row), "i": 2}.items())),
        *tuples("s1", [end, end])[1:],
    )
    judged(SmallWorkload(("s0", "s1"), 0, arrivals, (query,)), setup, 3)


def test_no_lateness_is_too_long_for_a_stream_whose_late_tuples_are_joined(tmp_path: Path) -> None:
    stream = Stream("s0", DECLARED, "ts", lateness=timedelta.max, late="join")
    catalog = Catalog((stream,))
    query = parse_query("SELECT a.id AS o0 FROM s0 AS a, s0 AS b WHERE a.id = b.id", "q0", catalog)
    topology = Topology(plan([query], catalog, method="flat").graph, str(tmp_path))
    for times in ([LAST_DAY_US, 5], [FIRST_DAY_US, 7]):
        topology.feed({"s0": table_of(tuples("s0", times))})
    assert topology.dead == []
    assert topology.answers("q0").get_column("_late").to_list() == [False] * 8


def judged(workload: SmallWorkload, setup: str, cut: int) -> Compared:
    count = len(workload.arrivals)
    chosen = SETUPS[setup]
    batches = tuple(sorted({min(cut, count), count}))
    made = Setup(
        chosen.method, chosen.tasks, batches, chosen.share_bytes, chosen.grids, chosen.slices, chosen.few
    )
    found = judge(Case(0, workload, (made,)))
    assert isinstance(found, Compared), f"{found.told}\n{workload.describe()}"
    return found

"""Event times ahead of arrival: turned away with a reason, the same ones every time, moving no watermark."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from jobs.control_plane.events import moment
from jobs.driver.watermarks import Watermarks
from jobs.protocol.metrics import StreamProgress
from jobs.recovery.manifest import BatchFigures, Manifest, StreamState
from jobs.sources.ahead import beyond, latest_time, latest_times
from jobs.sources.files.replay import ReplayPlanner, ReplaySource
from jobs.sources.files.stream_files import InputFile, StreamFiles
from jobs.worker.ingest import AHEAD, ingest
from optimizer.algebra.errors import InputError
from optimizer.algebra.types import ColumnType
from optimizer.logical.catalog import Catalog
from optimizer.logical.stream import Stream
from optimizer.physical.graph import GraphStream, PhysicalGraph
from optimizer.planner.plan import plan
from optimizer.sql import parse_query
from optimizer.workload import read_streams

COLUMNS = (("at", ColumnType.TIMESTAMP), ("k", ColumnType.BIGINT))
DAY_US = 86_400_000_000
NOW_MS = 1_800_000_000_000
LAST, FIRST = 2**63 - 1, -(2**63)
int64 = st.integers(FIRST, LAST)


def graph(max_ahead: timedelta | None = None, lateness: timedelta = timedelta(0)) -> PhysicalGraph:
    streams = (Stream(name, COLUMNS, "at", lateness, max_ahead=max_ahead) for name in "rs")
    catalog = Catalog(tuple(streams))
    join = parse_query("SELECT r.k FROM r [RANGE 1 HOUR], s [RANGE 1 HOUR] WHERE r.k = s.k", "q", catalog)
    return plan([join], catalog, method="flat", tasks=2).graph


def tuples(*times_us: int | None) -> pa.Table:
    times = pl.Series(times_us, dtype=pl.Int64).cast(pl.Datetime("us", "UTC"))
    return pl.DataFrame({"at": times, "k": pl.Series(range(len(times_us)), dtype=pl.Int64)}).to_arrow()


def declared(max_ahead_us: int | None) -> GraphStream:
    return GraphStream("r", "at", COLUMNS, 0, "drop", max_ahead_us=max_ahead_us)


def test_a_tuple_ahead_of_its_arrival_is_a_dead_letter_and_moves_no_watermark() -> None:
    now_us = NOW_MS * 1000
    end_of_time = int(datetime(9999, 12, 31, tzinfo=UTC).timestamp()) * 1_000_000
    table = tuples(now_us, end_of_time, now_us + DAY_US, now_us + DAY_US + 1, None, now_us - 400 * DAY_US)
    made = graph()
    latest = latest_times(made.streams[0], np.full(6, NOW_MS), NOW_MS + 5000)
    done = ingest(made, "r", table, None, 100, None, latest_us=latest)
    expected = StreamProgress(accepted=3, undecodable=3, max_event_time_us=now_us + DAY_US)
    assert done.counts == expected
    assert done.dead is not None
    ahead = [row for row in done.dead.to_pylist() if row["reason"] == AHEAD]
    assert [row["arrival"] for row in ahead] == [101, 103]
    assert json.loads(ahead[0]["tuple"])["k"] == 1


def test_without_any_tuple_ahead_nothing_is_looked_at_twice() -> None:
    assert beyond(pl.Series([1, None, 5]), 5) is None
    assert beyond(pl.Series([1, 5]), np.array([9, 5])) is None
    assert beyond(pl.Series([], dtype=pl.Int64), np.array([], np.int64)) is None
    assert beyond(pl.Series([None], dtype=pl.Int64), 0) is None


@given(
    st.none() | st.integers(0, LAST),
    st.lists(st.tuples(int64, st.none() | int64), min_size=1, max_size=5),
    st.none() | st.integers(0, 4_000_000_000_000),
)
@example(LAST, [(LAST, LAST)], None)
@example(0, [(FIRST, FIRST)], 0)
@example(None, [(0, LAST)], None)
def test_no_bound_no_arrival_and_no_event_time_overflows(
    bound: int | None, pairs: list[tuple[int, int | None]], by_ms: int | None
) -> None:
    """Compared with the same in Python's integers, which have no end."""
    arrived = np.array([one for one, _ in pairs], np.int64)
    times = pl.Series([time for _, time in pairs], dtype=pl.Int64)
    latest = latest_times(declared(bound), arrived, by_ms)
    assert isinstance(latest, np.ndarray)
    most_ms = 2**52 if by_ms is None else by_ms
    for (told, _), up_to in zip(pairs, latest.tolist(), strict=True):
        exact = (min(told, most_ms) if told > 0 else most_ms) * 1000 + (DAY_US if bound is None else bound)
        assert up_to == exact if exact <= LAST - 1000 else LAST - 2000 < up_to <= LAST
    wanted = [
        time is not None and time > up_to for (_, time), up_to in zip(pairs, latest.tolist(), strict=True)
    ]
    found = beyond(times, latest)
    assert (found.to_list() if found is not None else [False] * len(pairs)) == wanted


def test_files_have_no_arrival_and_a_bound_only_if_it_is_declared() -> None:
    assert latest_times(declared(None), None, NOW_MS) is None
    assert latest_times(declared(DAY_US), None, NOW_MS) == NOW_MS * 1000 + DAY_US
    assert latest_time(declared(LAST), NOW_MS) == LAST
    assert latest_time(declared(DAY_US), None) is None


def test_what_an_arrival_says_counts_until_its_batch_is_planned() -> None:
    """A producer may write any timestamp into its record."""
    told = np.array([NOW_MS - 5, 253_402_300_800_000, 0, -1])
    latest = latest_times(declared(0), told, NOW_MS)
    assert isinstance(latest, np.ndarray)
    assert (latest // 1000 - NOW_MS).tolist() == [-5, 0, 0, 0]


def test_a_row_ahead_does_not_hold_the_rest_of_its_stream_back(tmp_path: Path) -> None:
    """All streams of a replay advance together: the rows behind it would wait for the end of the others."""
    files = []
    for name, times in (("r", [10, LAST, 30, 40]), ("s", [11, 20, 35, 50])):
        path = tmp_path / f"{name}.parquet"
        pq.write_table(pa.table({"at": pa.array(times, pa.timestamp("us", "UTC"))}), path)
        files.append(StreamFiles(name, "at", (InputFile(str(path), 4),), latest_us=1000))
    planner = ReplayPlanner(ReplaySource(tuple(files), 4, NOW_MS))
    end = planner.advance(planner.initial())
    assert {name: at["row"] for name, at in end["streams"].items()} == {"r": 2, "s": 2}
    assert planner.planned(planner.initial(), end).arrived_by_ms == NOW_MS


@pytest.mark.parametrize("lateness", [timedelta(0), timedelta(days=1), timedelta(days=999_999_999)])
@pytest.mark.parametrize("newest", [FIRST, FIRST + 1, 0, LAST])
def test_times_at_the_ends_of_time_overflow_no_watermark(newest: int, lateness: timedelta) -> None:
    made = graph(lateness=lateness)
    streams = {name: StreamState(max_event_time_us=newest) for name in "rs"}
    figures = BatchFigures(0, {}, {}, 0, ())
    previous = Manifest(0, "p", 0, (), streams, {}, {}, (), None, 0, figures, ())
    marks = Watermarks.of(made, previous, 0, None, 0)
    assert all(FIRST <= mark <= LAST for _, mark in marks.late_below_us)
    done = ingest(made, "r", tuples(0, 1_000_000), None, 0, dict(marks.late_below_us)["r"])
    assert done.counts.accepted + done.counts.late == 2
    assert moment(newest - (lateness // timedelta(microseconds=1))).tzinfo is UTC


@pytest.mark.parametrize(
    ("text", "found"),
    [("", None), (", max_ahead: 90 minutes", timedelta(minutes=90)), (", max_ahead: 0", timedelta(0))],
)
def test_the_setting_in_streams_yaml(text: str, found: timedelta | None) -> None:
    document = f"streams: {{r: {{event_time: at, columns: {{at: timestamp}}{text}}}}}"
    assert read_streams(document, "streams.yaml")[0]["r"].max_ahead == found


@pytest.mark.parametrize("setting", ["max_ahead", "lateness"])
@pytest.mark.parametrize("length", ["999999999999999 days", "9223372036854775808 microseconds", "-1 day"])
def test_a_bound_beyond_64_bits_is_refused(setting: str, length: str) -> None:
    document = f"streams: {{r: {{event_time: at, columns: {{at: timestamp}}, {setting}: {length}}}}}"
    with pytest.raises(InputError, match=f"streams.r.{setting}: found"):
        read_streams(document, "streams.yaml")

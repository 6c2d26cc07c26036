"""How a replay advances: all streams together, by the running maximum of the ordering column."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobs.driver.split_assignment import assign
from jobs.sources.files.order import cut
from jobs.sources.files.replay import ReplayPlanner, ReplaySource
from jobs.sources.files.stream_files import FileRange, InputFile, StreamFiles
from jobs.sources.redis import EntryRange

ASCENDING = st.lists(st.integers(0, 20), max_size=30).map(lambda v: np.array(sorted(v), np.int64))


@settings(deadline=None)
@given(st.lists(ASCENDING, min_size=1, max_size=4), st.integers(1, 40))
def test_cut_takes_the_smallest_keys(keys: list[np.ndarray], rows: int) -> None:
    taken = cut(keys, rows)
    chosen = sorted(int(v) for k, n in zip(keys, taken, strict=True) for v in k[:n])
    everything = sorted(int(v) for k in keys for v in k)
    assert chosen == everything[:rows]


def stream_files(folder: Path, name: str, parts: list[list[int | None]]) -> StreamFiles:
    files = []
    for number, values in enumerate(parts):
        path = folder / f"{name}{number}.parquet"
        pl.DataFrame({"at": values}, schema={"at": pl.Int64}).write_parquet(path, row_group_size=3)
        files.append(InputFile(str(path), len(values)))
    return StreamFiles(name, "at", tuple(files))


def plan_all(planner: ReplayPlanner, start: dict | None = None) -> list[tuple[dict, tuple]]:
    position = start or planner.initial()
    batches = []
    while (end := planner.advance(position)) != position:
        batches.append((end, planner.planned(position, end).descriptors))
        position = end
    return batches


@settings(deadline=None, max_examples=40)
@given(
    st.lists(st.lists(st.none() | st.integers(0, 50), max_size=8), min_size=1, max_size=3),
    st.lists(st.lists(st.none() | st.integers(0, 50), max_size=8), min_size=1, max_size=3),
    st.integers(1, 12),
)
def test_batches_cover_every_row_once_and_continue_anywhere(
    tmp_path_factory: pytest.TempPathFactory, r: list, s: list, rows: int
) -> None:
    folder = tmp_path_factory.mktemp("order")
    streams = (stream_files(folder, "r", r), stream_files(folder, "s", s))
    source = ReplaySource(streams, rows)
    batches = plan_all(ReplayPlanner(source))
    covered: dict[str, list[int]] = {}
    for _, descriptors in batches:
        assert 0 < sum(d.rows for d in descriptors) <= rows
        for d in descriptors:
            covered.setdefault(d.path, []).extend(range(d.first, d.first + d.rows))
    expected = {f.path: list(range(f.rows)) for files in streams for f in files.files if f.rows}
    assert covered == expected
    if batches:
        middle = len(batches) // 2
        assert plan_all(ReplayPlanner(source), batches[middle][0]) == batches[middle + 1 :]


def test_a_late_row_does_not_overtake_and_does_not_hold_back(tmp_path: Path) -> None:
    streams = (stream_files(tmp_path, "r", [[10, 1, 11]]), stream_files(tmp_path, "s", [[5, 10, 12]]))
    (_, first), (_, second) = plan_all(ReplayPlanner(ReplaySource(streams, 4)))
    # Keys of r are 10, 10, 11; of s 5, 10, 12. Ties go to the earlier stream.
    assert [(d.stream, d.first, d.rows) for d in first] == [("r", 0, 2), ("s", 0, 2)]
    assert [(d.stream, d.first, d.rows) for d in second] == [("r", 2, 1), ("s", 2, 1)]


def test_assignment_splits_rows_evenly_and_keeps_entries_whole() -> None:
    groups = assign((FileRange("r", "f", 0, 100_000), EntryRange("s", "k", "0-0", "9-0", 50_000)), 3)
    assert [sum(d.rows for d in group) for group in groups] == [50_000, 50_000, 50_000]
    assert groups[1] == (FileRange("r", "f", 50_000, 50_000),)
    assert assign((), 2) == ((),)

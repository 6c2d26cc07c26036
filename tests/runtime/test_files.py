"""Files as they come, through the command: what is read, what is set aside, and what it says of the rest."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.runtime.linear import start_replay

STREAMS = """\
streams:
  r: {event_time: at, %s columns: {at: timestamp, n: bigint, y: string}}
  s: {event_time: at, %s columns: {at: timestamp, n: bigint, y: string}}
"""
JOIN = "SELECT r.n, s.n AS m, r.y FROM r [RANGE 1 HOUR], s [RANGE 1 HOUR] WHERE r.n = s.n"
BEGIN = datetime(2024, 1, 1, tzinfo=UTC)


def workload(folder: Path, setting: str = "") -> Path:
    (folder / "queries").mkdir(parents=True)
    (folder / "streams.yaml").write_text(STREAMS % (setting, setting))
    (folder / "queries" / "q.sql").write_text(JOIN)
    return folder


def tuples(
    count: int, times: Mapping[int, datetime] | None = None, texts: Mapping[int, bytes] | None = None
) -> pa.Table:
    times, texts = times or {}, texts or {}
    moments = [times.get(n, BEGIN + timedelta(seconds=n)) for n in range(count)]
    raw = pa.array([texts.get(n, b"t\xc3\xa4xt %d" % n) for n in range(count)], pa.binary())
    at = pa.array(moments, pa.timestamp("us", "UTC"))
    return pa.table({"at": at, "n": range(count), "y": raw.view(pa.string())})


def write(folder: Path, **streams: pa.Table) -> Path:
    for name, table in streams.items():
        (folder / name).mkdir(parents=True)
        pq.write_table(table, folder / name / "0.parquet", row_group_size=100, use_dictionary=False)
    return folder


def ended(process: subprocess.Popen[bytes]) -> tuple[int, str]:
    _, told = process.communicate(timeout=240)
    return process.returncode, told.decode()


def replay(folder: Path, *more: str) -> tuple[int, str]:
    return ended(start_replay(folder / "w", folder / "d", folder / "out", "--batch-rows", "400", *more))


def answers(folder: Path) -> list[tuple[int, int, str]]:
    return duckdb.sql(f"SELECT n, m, y FROM '{folder}/out/results/q/*.parquet' ORDER BY n").fetchall()


def letters(folder: Path) -> list[tuple[str, str]]:
    found = f"SELECT stream, reason FROM '{folder}/out/dead_letters/*.parquet' ORDER BY reason, arrival"
    return duckdb.sql(found).fetchall()


def test_text_that_is_no_utf8_reaches_no_result(tmp_path: Path) -> None:
    workload(tmp_path / "w")
    write(tmp_path / "d", r=tuples(500, texts={17: b"\xff", 450: b"a\xc3"}), s=tuples(500))
    assert replay(tmp_path)[0] == 0
    assert [n for n, _, _ in answers(tmp_path)] == [n for n in range(500) if n not in (17, 450)]
    assert letters(tmp_path) == [
        ("r", "y is not UTF-8: a\ufffd (r/0.parquet, row 451)"),
        ("r", "y is not UTF-8: \ufffd (r/0.parquet, row 18)"),
    ]


@pytest.mark.parametrize("column", ["at", "y"])
def test_a_damaged_page_is_one_line_and_exit_code_2(tmp_path: Path, column: str) -> None:
    """`at` is read by the process that plans batches, `y` by a task."""
    workload(tmp_path / "w")
    write(tmp_path / "d", r=tuples(500), s=tuples(500))
    path = tmp_path / "d" / "r" / "0.parquet"
    place = pq.read_metadata(path).row_group(2).column(["at", "n", "y"].index(column)).data_page_offset
    content = bytearray(path.read_bytes())
    content[place : place + 40] = bytes(byte ^ 0x5A for byte in content[place : place + 40])
    path.write_bytes(content)
    code, told = replay(tmp_path)
    assert code == 2
    assert len(told.splitlines()) == 1, told
    assert told.startswith(f"{path}: row group 3: found ")
    assert told.endswith(", expected rows that can be read\n")


def test_a_bound_on_times_ahead_counts_from_the_first_beginning_of_a_replay(tmp_path: Path) -> None:
    """One tuple from the end of time neither makes the others late nor holds its stream back. A replay that
    is killed and continued turns the same ones away."""
    workload(tmp_path / "w", "max_ahead: 1 hour,")
    now = datetime.now(UTC)
    soon, later = now + timedelta(minutes=30), now + timedelta(hours=2)
    times = {20: datetime(9999, 12, 31, tzinfo=UTC), 30: later, 499: soon}
    write(tmp_path / "d", r=tuples(500, times), s=tuples(500, times))
    process = start_replay(tmp_path / "w", tmp_path / "d", tmp_path / "out", "--batch-rows", "150")
    assert process.stderr is not None
    while not list((tmp_path / "out").glob("checkpoint/commits/*.json")) and process.poll() is None:
        time.sleep(0.05)
    process.kill()
    process.communicate()
    again = start_replay(tmp_path / "w", tmp_path / "d", tmp_path / "out", "--batch-rows", "150")
    assert ended(again)[0] == 0
    ahead = "event time ahead of arrival"
    assert sorted(letters(tmp_path)) == [("r", ahead), ("r", ahead), ("s", ahead), ("s", ahead)]
    assert [n for n, _, _ in answers(tmp_path)] == [n for n in range(500) if n not in (20, 30)]


def test_without_a_declared_bound_the_results_of_files_depend_on_files_alone(tmp_path: Path) -> None:
    workload(tmp_path / "w")
    times = {n: datetime(2200, 1, 1, tzinfo=UTC) + timedelta(seconds=n) for n in range(400, 500)}
    write(tmp_path / "d", r=tuples(500, times), s=tuples(500, times))
    assert replay(tmp_path)[0] == 0
    assert len(answers(tmp_path)) == 500

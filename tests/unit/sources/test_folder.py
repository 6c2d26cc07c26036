"""Files of a folder as a source: what is found, in which order, and what is told of files that change."""

from __future__ import annotations

import json
import os
import random
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from io import BytesIO
from itertools import count
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest

from jobs.sources.connector import Asked, Away, Position, Raw, Servers, connector
from jobs.sources.folder import listing
from jobs.sources.folder.allowed import directories
from jobs.sources.folder.files import FolderFiles, LineRange
from jobs.sources.folder.lines import MOST_BYTES, LongRow, taken_rows
from jobs.sources.folder.listing import LISTED_EVERY_S
from jobs.sources.folder.looking import look_into
from jobs.sources.folder.offsets import FolderOffsets
from jobs.sources.live import LivePlanner
from jobs.sources.planner import SourcePlanner
from optimizer.algebra.errors import InputError
from optimizer.algebra.settings import BadSetting
from optimizer.logical.source import read_settings
from optimizer.physical.graph import GraphStream
from tests.unit.sources.clock import Clock
from tests.unit.sources.connector_kit import COLUMNS, Bench, ConnectorKit

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
CLOCK = Clock()
"""By which folders are listed."""
_WRITTEN = count(1)


@pytest.fixture(autouse=True)
def _clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listing, "time", CLOCK)


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The directory that the operator allows, as `landing`."""
    allowed = tmp_path / "allowed"
    allowed.mkdir()
    monkeypatch.setenv("MILLRACE_FILES_DIRECTORIES", f"landing={allowed}")
    return allowed


def table(numbers: Sequence[int]) -> pa.Table:
    times = [BEGIN + timedelta(seconds=n) for n in numbers]
    return pa.table({"at": pa.array(times, pa.timestamp("us", "UTC")), "n": pa.array(numbers, pa.int64())})


def write(path: Path, numbers: Sequence[int]) -> None:
    """As whoever brings files should: elsewhere first."""
    path.parent.mkdir(exist_ok=True, parents=True)
    unfinished = path.with_name(f".{path.name}")
    rows = table(numbers).to_pylist()
    match path.suffix:
        case ".parquet":
            pq.write_table(table(numbers), unfinished, row_group_size=3)
        case ".csv":
            lines = [f'"{row["at"].isoformat()}",{row["n"]}' for row in rows]
            unfinished.write_text("\n".join(["at,n", *lines]))
        case _:
            lines = [json.dumps({"at": row["at"].isoformat(), "n": row["n"]}) for row in rows]
            unfinished.write_text("".join(f"{line}\n" for line in lines))
    # By the system's clock, which ticks some hundred times a second, two could be of one moment.
    changed_s = BEGIN.timestamp() + next(_WRITTEN)
    os.utime(unfinished, (changed_s, changed_s))
    unfinished.rename(path)


class _Folder(Bench):
    def __init__(self, folder: Path, root: Path, kind: str) -> None:
        super().__init__(folder)
        self._root = root / "r"
        self._root.mkdir()
        self._kind = kind
        self.source = FolderFiles("landing/r", format=kind)
        self.most_off = 0 if kind == "parquet" else 1

    def send(self, numbers: Sequence[int]) -> None:
        write(self._root / f"{len(list(self._root.iterdir()))}.{self._kind}", numbers)

    def planner(self) -> SourcePlanner:
        """One that knows already which files are complete."""
        planner = super().planner()
        assert isinstance(planner, LivePlanner)
        planner.offsets.newest(self.folder)
        return planner


class TestFolder(ConnectorKit):
    connector = "files"

    @pytest.fixture(params=["parquet", "csv", "json"])
    def bench(self, tmp_path: Path, root: Path, request: pytest.FixtureRequest) -> Bench:
        return _Folder(tmp_path, root, request.param)


class Reader:
    """Reads a stream's batches one after the other, as a topology does."""

    def __init__(self, settings: FolderFiles, share: int = 1000, position: Position | None = None) -> None:
        self.settings = settings
        self._share = share
        self._offsets = FolderOffsets()
        self.position: Position = {} if position is None else position
        self.letters: list[tuple[str, str]] = []

    def plan(self) -> bool:
        """Plan a batch, unless nothing came."""
        ends = self._offsets.ends({"r": self.settings}, {"r": self.position}, self._share)
        self.before = self.position
        self.position = json.loads(json.dumps(ends.get("r", self.position)))
        return bool(ends)

    def read(self) -> list[int]:
        """The numbers in the planned batch."""
        planned = connector("files").planned("r", None, self.before, self.position)  # type: ignore[attr-defined]
        return [n for part in planned for n in self.part(part).table.column("n").to_pylist()]

    def part(self, descriptor: Any) -> Raw:
        stream = GraphStream("r", "at", COLUMNS, 0, "drop", self.settings)
        asked = Asked(stream, COLUMNS, {"at", "n"}, Servers())
        raw = connector("files").read(descriptor, asked)
        if raw.undecodable is not None:
            self.letters += [(row["reason"], row["tuple"]) for row in raw.undecodable.to_pylist()]
        return raw

    def batch(self) -> list[int] | None:
        return self.read() if self.plan() else None

    def settle(self) -> None:
        """Until what lies there is known to be complete."""
        for _ in range(2):
            CLOCK.sleep(LISTED_EVERY_S * 1.05)
            self._offsets._listed("r", self.settings)

    def backlog(self) -> int:
        return self._offsets.backlog("r", self.position)


def test_new_files_are_read_by_name_and_others_are_none(root: Path) -> None:
    reader = Reader(FolderFiles("landing/r", "*.csv", "csv"))
    write(root / "r" / "b.csv", [2, 3])
    write(root / "r" / "a.csv", [1])
    for name in (".c.csv", "_c.csv", "c.csv.tmp", "c.json"):
        (root / "r" / name).write_text("at,n\nnonsense")
    (root / "r" / "d.csv").mkdir()
    (root / "r" / "e.csv").symlink_to(root / "r" / "a.csv")
    os.mkfifo(root / "r" / "f.csv")
    assert reader.batch() is None
    reader.settle()
    assert reader.batch() == [1, 2, 3]
    write(root / "r" / "c.csv", [4])
    reader.settle()
    assert reader.batch() == [4]
    assert reader.batch() is None
    assert reader.letters == []


def test_a_file_that_grows_is_waited_for_and_others_with_it(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the clock on the wall."""
    monkeypatch.setattr(listing, "time", time)
    reader = Reader(FolderFiles("landing/r", format="json"))
    write(root / "r" / "a", [1])
    write(root / "r" / "b", [3])
    reader.plan()
    time.sleep(LISTED_EVERY_S * 1.05)
    line = json.dumps({"at": BEGIN.isoformat(), "n": 2})
    with (root / "r" / "a").open("a") as file:
        file.write(f"{line}\n")
    assert reader.batch() is None
    assert reader.backlog() == 0
    time.sleep(LISTED_EVERY_S * 1.05)
    assert reader.batch() == [1, 2, 3]


@pytest.mark.parametrize("kind", ["parquet", "csv", "json"])
def test_a_big_file_is_read_in_parts_and_goes_on_where_it_was(root: Path, kind: str) -> None:
    write(root / "r" / f"a.{kind}", range(100))
    write(root / "r" / f"b.{kind}", range(100, 110))
    settings = FolderFiles("landing/r", format=kind)
    reader = Reader(settings, 30)
    reader.settle()
    found = [reader.batch()]
    assert found == [list(range(30))]
    assert reader.backlog() in (80, 81)  # Estimated, but in Parquet files.
    while True:
        # Another process, which has listed nothing yet, goes on in the same file.
        reader = Reader(settings, 30, reader.position)
        numbers = reader.batch()
        if numbers is None:
            reader.settle()
            numbers = reader.batch()
            if numbers is None:
                break
        found.append(numbers)
    assert [n for some in found for n in some or []] == list(range(110))
    assert max(len(some or []) for some in found) == 30
    assert reader.backlog() == 0


def test_a_bound_of_the_stream_holds(root: Path) -> None:
    write(root / "r" / "a.csv", range(10))
    reader = Reader(FolderFiles("landing/r", format="csv", most_per_batch=4))
    reader.settle()
    assert reader.batch() == [0, 1, 2, 3]


def test_a_file_that_was_read_may_go(root: Path) -> None:
    settings = FolderFiles("landing/r", format="csv")
    for number, name in enumerate("abc"):
        write(root / "r" / f"{name}.csv", [number])
    reader = Reader(settings)
    reader.settle()
    assert reader.batch() == [0, 1, 2]
    (root / "r" / "a.csv").unlink()
    (root / "r" / "c.csv").unlink()
    write(root / "r" / "d.csv", [3])
    reader.settle()
    assert reader.batch() == [3]


def test_files_that_were_read_and_stay_are_too_many_at_some_point(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("jobs.sources.folder.offsets._MOST_READ", 2)
    reader = Reader(FolderFiles("landing/r", format="csv"))
    for number, name in enumerate("abcd"):
        write(root / "r" / f"{name}.csv", [number])
    reader.settle()
    assert reader.batch() == [0, 1, 2, 3]
    with pytest.raises(InputError, match="found 3 files that have been read, expected at most 2: delete"):
        reader.plan()
    (root / "r" / "b.csv").unlink()
    reader.settle()
    assert reader.batch() is None


LATER: dict[str, Callable[[Path], None]] = {
    "late": lambda folder: write(folder / "aa.csv", [9]),
    "changed": lambda folder: write(folder / "a.csv", [9]),
    "replaced": lambda folder: (folder / "a.csv").write_text("at,n\n2026-01-01T00:00:00,7\n") and None,
    "changed the last": lambda folder: write(folder / "b.csv", [1, 2]),
    "back": lambda folder: write(folder / "0.csv", [0]),
}


@pytest.mark.parametrize("what", LATER)
@pytest.mark.parametrize("restarted", [False, True])
def test_a_file_whose_turn_is_over_is_told_and_read_by_nobody(root: Path, what: str, restarted: bool) -> None:
    write(root / "r" / "0.csv", [0])
    write(root / "r" / "a.csv", [1])
    write(root / "r" / "b.csv", [2])
    reader = Reader(FolderFiles("landing/r", format="csv"))
    reader.settle()
    assert reader.batch() == [0, 1, 2]
    (root / "r" / "0.csv").unlink()
    LATER[what](root / "r")
    if restarted:
        reader = Reader(reader.settings, position=reader.position)
    reader.settle()
    if what == "back":
        # Renamed back with what it had, it would be read by nobody without a word if it was not known.
        write(root / "r" / "0.csv", [0])
    reader.settle()
    with pytest.raises(InputError, match=r"r/\w+\.csv: found a file that .*, expected .*faulty: skip"):
        reader.plan()

    skipping = Reader(FolderFiles("landing/r", format="csv", faulty="skip"), position=reader.position)
    skipping.settle()
    assert skipping.batch() == []
    assert len(skipping.letters) == 1
    assert skipping.letters[0][0].startswith("a file that")
    write(root / "r" / "c.csv", [5])
    skipping.settle()
    assert skipping.batch() == [5]
    assert len(skipping.letters) == 1


def _shorten(path: Path) -> None:
    path.write_text("at,n\n")


def _link(path: Path) -> None:
    path.rename(path.with_name(".elsewhere"))
    path.symlink_to(path.with_name(".elsewhere"))


@pytest.mark.parametrize(
    ("change", "found"),
    [
        (Path.unlink, "no such file|No such file"),
        (_shorten, "a file that was changed since it was found: 5 bytes, where there were"),
        (os.utime, "a file that was changed since it was found: [0-9]+ bytes"),
        (_link, "no such file|symbolic link|No such file"),
    ],
)
def test_a_file_that_changes_while_it_is_read_is_told(
    root: Path, change: Callable[[Path], None], found: str
) -> None:
    """By the task that reads it, and by the process that plans what comes next."""
    write(root / "r" / "a.csv", range(20))
    write(root / "r" / "b.csv", [99])
    reader = Reader(FolderFiles("landing/r", format="csv"), 5)
    skipping = Reader(FolderFiles("landing/r", format="csv", faulty="skip"), 5)
    for one in (reader, skipping):
        one.settle()
        assert one.batch() == [0, 1, 2, 3, 4]
        assert one.plan()
    change(root / "r" / "a.csv")
    with pytest.raises(InputError, match=found):
        reader.read()
    reader.settle()
    with pytest.raises(InputError, match=found):
        reader.plan()
    assert skipping.read() == []
    assert len(skipping.letters) == 1
    skipping.settle()
    assert skipping.batch() == [99]
    assert len(skipping.letters) == 2


@pytest.mark.parametrize("kind", ["csv", "json"])
def test_rows_that_do_not_fit_are_dead_letters_with_their_place(root: Path, kind: str) -> None:
    at = "2026-01-01T00:00:00Z"
    lines = {
        "csv": ["at,n", f"{at},1", f"{at},x", f"{at},4", at, f"{at},5"],
        "json": [*(f'{{"at":"{at}","n":{n}}}' for n in ("1", '"x"', "4")), "{", f'{{"at":"{at}","n":5}}'],
    }
    text = "\n".join(lines[kind])
    (root / "r").mkdir()
    (root / "r" / "a").write_text(text)
    reader = Reader(FolderFiles("landing/r", format=kind), 2)
    reader.settle()
    assert [reader.batch(), reader.batch(), reader.batch(), reader.batch()] == [[1], [4], [5], None]
    assert [reason for reason, _ in reader.letters] == {
        "csv": ["n is not bigint: x (landing/r/a, row 3)", "1 fields instead of 2 (landing/r/a, row 5)"],
        "json": ["n is not bigint: 'x' (landing/r/a, row 2)", "not JSON (landing/r/a, row 4)"],
    }[kind]


BROKEN = {
    "a quote": ("csv", b'at,n\n2026-01-01,1\n2026-01-01,"2\n', "a quote that is not closed"),
    "nothing": ("csv", b"", "an empty file"),
    "no Parquet": ("parquet", b"PAR1 and more", "found"),
    "a long row": ("json", b"x" * (MOST_BYTES + (2 << 20)), f"a row longer than {MOST_BYTES} bytes"),
    "other columns": ("csv", b"at,m\n2026-01-01,1\n", "only the columns at, m"),
    "a name twice": ("csv", b"at,n,n\n2026-01-01,1,1\n", "column n twice"),
}


@pytest.mark.parametrize("what", BROKEN)
def test_a_file_that_cannot_be_read_is_told_or_passed_over(root: Path, what: str) -> None:
    kind, content, found = BROKEN[what]
    (root / "r").mkdir()
    (root / "r" / "a").write_bytes(content)
    write(root / "r" / f"b.{kind}", [5])
    reader = Reader(FolderFiles("landing/r", format=kind))
    reader.settle()
    with pytest.raises(InputError, match=f"landing/r/a.*{found}"):
        reader.batch()
    skipping = Reader(FolderFiles("landing/r", format=kind, faulty="skip"))
    skipping.settle()
    assert skipping.batch() == [5]
    ((reason, place),) = skipping.letters
    assert found in reason or found == "found"
    assert "landing/r/a" in place


@pytest.mark.parametrize(
    "folder",
    [
        "/etc",
        "..",
        "landing/..",
        "landing/../..",
        "landing//r",
        "landing/./r",
        "",
        "landing/r/",
        "landing/\0",
    ],
)
def test_settings_that_lead_out_are_refused(folder: str) -> None:
    with pytest.raises(BadSetting) as told:
        read_settings("files", {"folder": folder})
    assert told.value.key == "folder"


@pytest.mark.parametrize("pattern", ["../*", "*/*", "/etc/passwd", ""])
def test_patterns_that_lead_out_are_refused(pattern: str) -> None:
    with pytest.raises(BadSetting) as told:
        read_settings("files", {"folder": "landing", "pattern": pattern})
    assert told.value.key == "pattern"


def test_links_lead_nowhere(root: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    write(secret / "a.csv", [7])
    (root / "linked").symlink_to(secret)
    (root / "r").mkdir()
    (root / "r" / "up").symlink_to("..")
    for folder in ("landing/linked", "landing/r/up/linked", "landing/r/up"):
        with pytest.raises(BadSetting, match="no symbolic link"):
            look_into(FolderFiles(folder, format="csv"), COLUMNS)
        with pytest.raises(Away):
            Reader(FolderFiles(folder, format="csv")).plan()
    # A position, or a descriptor, that somebody made up does no better than settings.
    reader = Reader(FolderFiles("landing/r", format="csv"))
    for name in ("../../secret/a.csv", "up/a.csv", ".."):
        for where in ("landing/r", "landing/linked", "landing/../../secret"):
            with pytest.raises((InputError, OSError)):
                reader.part(LineRange("r", where, name, 40, 0, 0, 1, 5, 40, True))


def test_only_directories_that_the_operator_allows_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MILLRACE_FILES_DIRECTORIES", "landing=relative")
    with pytest.raises(InputError, match="MILLRACE_FILES_DIRECTORIES: found 'landing=relative'"):
        directories()
    assert "mend MILLRACE_FILES_DIRECTORIES" in str(FolderFiles.missing())
    monkeypatch.delenv("MILLRACE_FILES_DIRECTORIES")
    assert "set MILLRACE_FILES_DIRECTORIES" in str(FolderFiles.missing())
    with pytest.raises(InputError, match="MILLRACE_FILES_DIRECTORIES: found nothing"):
        Reader(FolderFiles("landing")).plan()


def test_what_is_wrong_is_told_when_the_stream_is_registered(root: Path) -> None:
    (root / "empty").mkdir()
    look_into(FolderFiles("landing/empty"), COLUMNS)
    write(root / "r" / "a.csv", [1])
    look_into(FolderFiles("landing/r", format="csv"), COLUMNS)
    (root / "text").mkdir()
    (root / "text" / "a.json").write_text("[1]\n")
    for settings, key, found in (
        (FolderFiles("landed/r"), "folder", "'landed/r' instead of one that begins .*: landing"),
        (FolderFiles("landing/s"), "folder", "No such file"),
        (FolderFiles("landing/r", "*.parquet"), "pattern", "there is a.csv, and 1 in all"),
        (FolderFiles("landing/r"), "format", "a.csv with .* instead of a readable Parquet file"),
        (FolderFiles("landing/text", format="json"), "format", "with not a JSON object"),
    ):
        with pytest.raises(BadSetting, match=found) as told:
            look_into(settings, COLUMNS)
        assert told.value.key == key
    with pytest.raises(BadSetting, match="only the columns at, n instead of a column m") as told:
        look_into(FolderFiles("landing/r", format="csv"), (*COLUMNS, ("m", COLUMNS[1][1])))
    assert told.value.key == "folder"


def test_rows_begin_where_pyarrow_has_them_begin() -> None:
    """Over made-up text of all that matters to where a row ends; rows taken one by one are as many."""
    made = random.Random(7)
    read = pacsv.ReadOptions(column_names=["x", "y"], use_threads=False)
    checked = 0
    for _ in range(3000):
        pieces = ['"', '""', ",", "\n", "\r\n", "\r", "a", "bc"]
        text = "".join(made.choice(pieces) for _ in range(24)).encode()
        try:
            count, end = taken_rows(BytesIO(text), 0, len(text), 1000, quotes=True)
        except LongRow:
            continue
        single, at = 0, 0
        while at < len(text):
            rows, at = taken_rows(BytesIO(text), at, len(text), 1, quotes=True)
            single += rows
        assert (single, at) == (count, end)
        other_rows: list[int] = []

        def keep(row: pacsv.InvalidRow, other_rows: list[int] = other_rows) -> str:
            other_rows.append(row.number)
            return "skip"

        parse = pacsv.ParseOptions(
            newlines_in_values=True, ignore_empty_lines=False, invalid_row_handler=keep
        )
        found = pacsv.read_csv(pa.BufferReader(text), read, parse).num_rows
        assert found + len(other_rows) == count, text
        checked += 1
    assert checked > 1000


@pytest.mark.parametrize("quotes", [True, False])
def test_rows_are_found_over_the_edges_of_blocks(quotes: bool) -> None:
    value = "x" * 1000 if not quotes else '"' + "x\r\n" * 300 + '"'
    lines = [f"{n},{value}\r\n".encode() for n in range(3000)]
    text = b"".join(lines)
    assert len(text) > 2 << 20
    rows, end = taken_rows(BytesIO(text), 0, len(text), 2500, quotes=quotes)
    assert (rows, end) == (2500, sum(map(len, lines[:2500])))
    assert taken_rows(BytesIO(text), end, len(text), 2500, quotes=quotes) == (500, len(text))

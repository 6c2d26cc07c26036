"""Files first and then what is sent to Redis: where the one ends and the other begins, and what is told."""

from __future__ import annotations

import json
import socket
import subprocess
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import redis
from redis.backoff import ConstantBackoff
from redis.retry import Retry

from backend.run import redis_server
from jobs.protocol import stream_key
from jobs.sources.connector import Away, Position, Servers, connector
from jobs.sources.folder import listing
from jobs.sources.folder.listing import LISTED_EVERY_S
from jobs.sources.history import late as late_files
from jobs.sources.history import offsets as history_offsets
from jobs.sources.history.late import LOOKED_EVERY_S, LateFiles
from jobs.sources.history.offsets import OVER_AFTER_S, HistoryOffsets
from jobs.sources.history.settings import FolderHistory
from jobs.sources.kafka.topic import KafkaTopic
from jobs.sources.live import LivePlanner, maker_of
from jobs.sources.planner import SourcePlanner
from jobs.sources.read import read
from jobs.sources.start import EntryStart, Moment, OffsetsStart, start_of
from optimizer.algebra.errors import InputError
from optimizer.algebra.settings import BadSetting
from optimizer.logical.source import SourceSettings, read_settings, source_of
from optimizer.physical.graph import GraphStream, PhysicalGraph
from tests.unit.sources.connector_kit import COLUMNS, Bench, ConnectorKit
from tests.unit.sources.test_folder import BEGIN, CLOCK, root, write

PATIENCE_S = 30.0

assert root, "a fixture"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[redis.Redis]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [redis_server.executable(), "--port", str(port), "--save", "", "--bind", "127.0.0.1"]
    command += ["--dir", str(tmp_path_factory.mktemp("redis"))]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        client = redis.Redis(port=port, retry=Retry(ConstantBackoff(0.1), 100))
        client.ping()
        yield client
        process.terminate()


@pytest.fixture
def client(server: redis.Redis) -> redis.Redis:
    server.flushall()
    return server


def url_of(client: redis.Redis) -> str:
    return f"redis://127.0.0.1:{client.connection_pool.connection_kwargs['port']}/0"


def send(client: redis.Redis, numbers: Sequence[int], entry: str = "*") -> None:
    for n in numbers:
        row = {"at": (BEGIN + timedelta(seconds=n)).isoformat(), "n": n}
        client.xadd(stream_key("r"), {"json": json.dumps(row)}, id=entry)


class _History(Bench):
    """The first half of what is sent first lies in files, and all else comes to Redis."""

    def __init__(self, folder: Path, root: Path, client: redis.Redis) -> None:
        super().__init__(folder)
        self.redis_url = url_of(client)
        self._client = client
        self._root = root / "r"
        self._root.mkdir()
        self._has_files = False
        self.source = FolderHistory("landing/r", format="csv")
        self.most_off = 1

    def send(self, numbers: Sequence[int]) -> None:
        half = 0 if self._has_files else len(numbers) // 2
        self._has_files = True
        for n in range(0, half, 4):
            write(self._root / f"{n:02}.csv", numbers[n : min(n + 4, half)])
        send(self._client, numbers[half:])

    def planner(self) -> SourcePlanner:
        """One that knows already which files are complete."""
        planner = super().planner()
        assert isinstance(planner, LivePlanner)
        offsets = planner.offsets.of("history")
        assert isinstance(offsets, HistoryOffsets)
        assert isinstance(self.source, FolderHistory)
        offsets._folders.newest({"r": self.source})
        return planner


@pytest.fixture(autouse=True)
def _clock(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (listing, late_files, history_offsets):
        monkeypatch.setattr(module, "time", CLOCK)


class TestHistory(ConnectorKit):
    connector = "history"

    @pytest.fixture
    def bench(
        self, tmp_path: Path, root: Path, client: redis.Redis, monkeypatch: pytest.MonkeyPatch
    ) -> Bench:
        monkeypatch.setattr("jobs.sources.history.offsets.OVER_AFTER_S", 0.0)
        return _History(tmp_path, root, client)


class Reader:
    """Reads a stream's batches one after the other; each may be planned by another process."""

    def __init__(self, settings: SourceSettings, url: str, share: int = 1000) -> None:
        self.settings = settings
        self._url = url
        self._share = share
        self.position: Position = {}
        self.before: Position = {}
        self.letters: list[tuple[str, str]] = []
        self.restart()

    def restart(self) -> None:
        self.offsets = HistoryOffsets(Servers(self._url))

    def plan(self) -> bool:
        """Plan a batch, unless nothing came."""
        ends = self.offsets.ends({"r": self.settings}, {"r": self.position}, self._share)  # type: ignore[dict-item]
        if ends:
            self.before, self.position = self.position, json.loads(json.dumps(ends["r"]))
        return bool(ends)

    def read(self) -> list[int]:
        """The numbers in the batch that was planned last."""
        planned = connector("history").planned("r", None, self.before, self.position)  # type: ignore[attr-defined]
        stream = GraphStream("r", "at", COLUMNS, 0, "drop", self.settings)
        found: list[int] = []
        self.letters = []
        for descriptor in planned:
            raw = read(descriptor, stream, ["n"], self._url)
            found += raw.table.column("n").to_pylist()
            if raw.undecodable is not None:
                self.letters += [(row["reason"], row["tuple"]) for row in raw.undecodable.to_pylist()]
        return found

    def until(self, reached: Callable[[Position], bool]) -> None:
        """Plan batches until their position is so far."""
        give_up_at = CLOCK.monotonic() + PATIENCE_S
        while not reached(self.position):
            assert CLOCK.monotonic() < give_up_at, self.position
            if not self.plan():
                CLOCK.sleep(LISTED_EVERY_S / 20)

    def all(self, seconds: float = OVER_AFTER_S + 2 * LISTED_EVERY_S) -> list[int]:
        """What batches bring until for so long none did, longer than it takes to go live."""
        found: list[int] = []
        quiet_since = CLOCK.monotonic()
        while CLOCK.monotonic() < quiet_since + seconds:
            if self.plan():
                found += self.read()
                quiet_since = CLOCK.monotonic()
            else:
                CLOCK.sleep(LISTED_EVERY_S / 10)
        return found


def history(**settings: Any) -> SourceSettings:
    made = source_of(
        {"history": read_settings("history", {"folder": "landing/r", "format": "csv", **settings})}
    )
    assert made is not None
    return made


@pytest.fixture
def reader(root: Path, client: redis.Redis) -> Reader:
    return Reader(history(), url_of(client), 3)


def test_files_are_read_to_their_end_before_what_was_sent_meanwhile(
    root: Path, client: redis.Redis, reader: Reader
) -> None:
    send(client, [100, 101])
    write(root / "r" / "a.csv", range(7))
    write(root / "r" / "b.csv", range(7, 9))
    assert reader.plan()
    assert (reader.read(), reader.position["is_live"]) == ([], False)
    send(client, [102])
    assert reader.all() == [*range(9), 100, 101, 102]
    assert reader.position["is_live"]
    assert reader.position["files"] == [2, 2]
    send(client, [103])
    assert reader.all() == [103]


def test_how_many_files_were_read_is_known(root: Path, reader: Reader) -> None:
    for name in "abc":
        write(root / "r" / f"{name}.csv", range(3))
    told: list[tuple[int, int] | None] = []
    while not (told and reader.position["is_live"]):
        last = reader.position
        reader.until(lambda position, last=last: position != last)  # type: ignore[misc]
        told.append(maker_of(reader.position).history(reader.position))
    assert told == [(0, 0), (1, 3), (2, 3), (3, 3), None]


def test_a_history_without_files_is_over_at_once(root: Path, client: redis.Redis, reader: Reader) -> None:
    (root / "r").mkdir()
    send(client, [1, 2])
    assert reader.all() == [1, 2]


def test_a_folder_is_not_read_to_its_end_while_it_changes(root: Path, reader: Reader) -> None:
    write(root / "r" / "a.csv", [1])
    for n, name in enumerate("bcd", 2):
        reader.until(lambda position, n=n: position.get("files") == [n - 1, n - 1])  # type: ignore[misc]
        # Looks have begun to find nothing.
        CLOCK.sleep(LISTED_EVERY_S)
        assert not reader.plan()
        assert not reader.position["is_live"]
        write(root / "r" / f"{name}.csv", [n])
    reader.all()
    assert reader.position["files"] == [4, 4]
    assert reader.position["is_live"]


@pytest.mark.parametrize(
    ("start", "expected"),
    [
        ("earliest", [1, 2, 3, 4]),
        ("latest", []),
        ("1735689600500-0", [3, 4]),
        ("1735689600500-1", [4]),
        ("1735689600000-7", [2, 3, 4]),
        ("1735689600000-8", [3, 4]),
        ("2025-01-01T00:00:00Z", [1, 2, 3, 4]),
        ("2025-01-01T00:00:00.0001Z", [3, 4]),
        ("2025-01-01T01:00:00.5+01:00", [3, 4]),
        ("2026-01-01T00:00:00Z", []),
    ],
)
def test_entries_are_read_from_the_stated_place_on(
    root: Path, client: redis.Redis, start: str, expected: list[int]
) -> None:
    (root / "r").mkdir()
    ids = ("1735689600000-0", "1735689600000-7", "1735689600500-0", "1735689600500-1")
    for n, entry in enumerate(ids, 1):
        send(client, [n], entry)
    reader = Reader(history(start=start), url_of(client))
    assert reader.plan()
    # Whatever comes from here on is behind the place, also of the last one of all.
    send(client, [9], "1800000000000-0")
    assert reader.all() == [*expected, 9]


def test_a_batch_killed_at_each_step_is_the_same_again(root: Path, client: redis.Redis) -> None:
    """Between any two calls another process goes on from what is stored."""
    write(root / "r" / "a.csv", range(4))
    send(client, [10, 11])
    reader = Reader(history(), url_of(client), 3)
    found: list[int] = []
    batches = 0
    while found[-1:] != [12]:
        last = reader.position
        reader.until(lambda position, last=last: position != last)  # type: ignore[misc]
        batches += 1
        if batches == 2:
            send(client, [12])
        numbers = reader.read()
        reader.restart()
        assert reader.read() == numbers
        found += numbers
    assert found == [0, 1, 2, 3, 10, 11, 12]
    # One that says where to begin, two of files, and one in which it goes live.
    assert batches == 4


def test_a_file_that_was_changed_meanwhile_is_told(root: Path, client: redis.Redis) -> None:
    write(root / "r" / "a.csv", range(5))
    send(client, [10])
    reader = Reader(history(), url_of(client), 3)
    reader.until(lambda position: bool(position.get("folder")))
    write(root / "r" / "a.csv", range(6))
    with pytest.raises(InputError, match="a file that was changed since it was found"):
        reader.all()
    reader = Reader(history(faulty="skip"), url_of(client), 3)
    assert reader.all() == [*range(6), 10]


def test_a_file_that_comes_later_is_told_and_read_by_nobody(
    root: Path, client: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("jobs.sources.history.late.LOOKED_EVERY_S", 0.0)
    for name in "abc":
        write(root / "r" / f"{name}.csv", [1])
    reader = Reader(history(), url_of(client))
    assert reader.all() == [1, 1, 1]
    (root / "r" / "b.csv").unlink()
    write(root / "r" / "c.csv", [2, 3])
    write(root / "r" / "d.csv", [4])
    reader.restart()
    reader.until(lambda position: bool(position["late"]))
    assert reader.read() == []
    reason = "a file that came, or was changed, when the history had been read: the stream is live"
    assert reader.letters == [(reason, "landing/r/c.csv"), (reason, "landing/r/d.csv")]
    assert reader.all() == []


def test_a_live_stream_does_not_need_its_folder(root: Path, client: redis.Redis, reader: Reader) -> None:
    write(root / "r" / "a.csv", [1])
    assert reader.all() == [1]
    (root / "r").rename(root / "away")
    reader.restart()
    send(client, [2])
    assert reader.all() == [2]
    other = Reader(history(), url_of(client))
    with pytest.raises(Away, match="the folder landing/r"):
        other.plan()


def test_looks_for_late_files_are_a_minute_apart(root: Path) -> None:
    (root / "r").mkdir()
    late = LateFiles("landing/r", "*")
    assert late.beside("") == ("", ())
    write(root / "r" / "a.csv", [1])
    # Each could be the look that finds it, or the next one, which finds it complete.
    for _ in range(int(LOOKED_EVERY_S / LISTED_EVERY_S) - 1):
        CLOCK.sleep(LISTED_EVERY_S)
        assert late.beside("") == ("", ())
    CLOCK.sleep(LOOKED_EVERY_S)
    assert late.beside("") == ("", ())
    CLOCK.sleep(LOOKED_EVERY_S)
    _, told = late.beside("")
    assert [name for name, _ in told] == ["a.csv"]


def test_an_emptied_redis_is_told_as_for_any_stream(root: Path, client: redis.Redis, reader: Reader) -> None:
    write(root / "r" / "a.csv", range(4))
    send(client, [10])
    reader.until(lambda position: bool(position.get("folder")))
    client.flushall()
    reader.until(lambda position: position["is_live"])
    assert reader.read() == []
    assert [reason for reason, _ in reader.letters] == [
        "Redis was emptied; entries that no batch had read are lost"
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("5-0", EntryStart("5-0")),
        ("0: 1200, 1: 1180", OffsetsStart(((0, 1200), (1, 1180)))),
        (" {1:2,0:5} ", OffsetsStart(((0, 5), (1, 2)))),
        ("2026-01-01T00:00:00Z", Moment(1767225600000)),
        ("2026-01-01", None),
        ("2026-01-01T00:00:00", None),
        ("0:1, 0:2", None),
        ("0:1,", None),
        ("18446744073709551616-0", None),
        ("now", None),
        ("", None),
        ("5-", None),
        ("-5-0", None),
    ],
)
def test_starts_say_what_they_are(text: str, expected: object) -> None:
    if expected is None:
        with pytest.raises(ValueError, match="instead of earliest, latest, a time with its zone"):
            start_of(text)
    else:
        assert start_of(text) == expected


def test_a_start_of_the_other_kind_is_named() -> None:
    first = FolderHistory("landing/r", start="0: 5")
    topic = KafkaTopic("orders")
    with pytest.raises(BadSetting, match=r"history.start: '0: 5' instead of .*partitions have topics only"):
        source_of({"history": first})
    made = source_of({"kafka": topic, "history": first})
    assert made == replace(first, live=topic)
    assert made is not None
    assert made.place == "the folder landing/r, then the topic orders"
    assert source_of(made.parts()) == made
    with pytest.raises(BadSetting, match=r"history.start: '5-0' instead of .*entries have no topics"):
        source_of({"kafka": topic, "history": FolderHistory("landing/r", start="5-0")})
    with pytest.raises(BadSetting, match=r"history.start: 'latest' instead of nothing for the start"):
        source_of({"kafka": KafkaTopic("orders", start="latest"), "history": FolderHistory("landing/r")})
    with pytest.raises(BadSetting, match="kafka and files instead of one of them"):
        source_of({"kafka": topic, "files": read_settings("files", {"folder": "landing/r"})})


def test_plans_have_the_settings_of_both_parts() -> None:
    source = source_of({"kafka": KafkaTopic("orders"), "history": FolderHistory("landing/r")})
    graph = PhysicalGraph((GraphStream("r", "at", COLUMNS, 0, "drop", source),), (), (), (), ())
    (stream,) = json.loads(graph.to_json())["streams"]
    assert (stream["kafka"]["topic"], stream["history"]["folder"]) == ("orders", "landing/r")
    assert PhysicalGraph.from_json(graph.to_json()) == graph


def test_times_are_rounded_up_to_the_next_millisecond() -> None:
    at = datetime(2026, 1, 1, microsecond=1, tzinfo=UTC)
    assert start_of(at.isoformat()) == Moment(1767225600001)

"""The connectors that need nothing but this machine, each held against the kit."""

from __future__ import annotations

import json
import socket
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import redis
from redis.backoff import ConstantBackoff
from redis.retry import Retry

from backend.run import redis_server
from jobs.plan.tuples import ARRIVAL, first_arrival
from jobs.protocol import stream_key
from jobs.recovery.active import ACTIVE
from jobs.sources.connector import BUILT_IN, LiveConnector, Position, connector
from jobs.sources.files.inputs import find_inputs
from jobs.sources.files.replay import ReplayPlanner, ReplaySource
from jobs.sources.generator import Generated, GeneratedRange, generate
from jobs.sources.kafka.topic import KafkaTopic
from jobs.sources.live import LivePlanner, LiveSource, _whose
from jobs.sources.planner import PlannedBatch, SourcePlanner
from jobs.sources.results import found_before
from jobs.storage.partition import state_root
from jobs.storage.run import RunRef, run_path
from optimizer.algebra.errors import InputError
from optimizer.algebra.types import ColumnType
from optimizer.logical.source import CONNECTORS
from optimizer.physical.graph import Derivation, GraphStream, PhysicalGraph
from tests.unit.sources.connector_kit import BATCH_ROWS, Bench, ConnectorKit

TESTS = Path(__file__).resolve().parents[2]
BEGIN = datetime(2026, 1, 1, tzinfo=UTC)


class _Replay(Bench):
    def send(self, numbers: Sequence[int]) -> None:
        folder = self.folder / "data" / "r"
        folder.mkdir(parents=True, exist_ok=True)
        times = [BEGIN + timedelta(seconds=n) for n in numbers]
        table = pa.table(
            {"at": pa.array(times, pa.timestamp("us", "UTC")), "n": pa.array(numbers, pa.int64())}
        )
        pq.write_table(table, folder / f"{len(list(folder.iterdir()))}.parquet", row_group_size=3)

    def planner(self) -> SourcePlanner:
        files = find_inputs(self.folder / "data", (self.stream(),), self.folder / "staging")
        return ReplayPlanner(ReplaySource(files, BATCH_ROWS))


class TestReplay(ConnectorKit):
    connector = "replay"

    @pytest.fixture
    def bench(self, tmp_path: Path) -> Bench:
        return _Replay(tmp_path)


class _Redis(Bench):
    def __init__(self, folder: Path, port: int) -> None:
        super().__init__(folder)
        self.redis_url = f"redis://127.0.0.1:{port}/0"
        self._client = redis.Redis(port=port, retry=Retry(ConstantBackoff(0.1), 100))
        self._client.ping()

    def send(self, numbers: Sequence[int]) -> None:
        for n in numbers:
            row = {"at": (BEGIN + timedelta(seconds=n)).isoformat(), "n": n}
            self._client.xadd(stream_key("r"), {"json": json.dumps(row)})


class TestRedis(ConnectorKit):
    connector = "redis"

    @pytest.fixture
    def bench(self, tmp_path: Path) -> Iterator[Bench]:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        command = [redis_server.executable(), "--port", str(port), "--save", "", "--bind", "127.0.0.1"]
        with subprocess.Popen([*command, "--dir", str(tmp_path)], stdout=subprocess.DEVNULL) as process:
            yield _Redis(tmp_path, port)
            process.terminate()


class _Generator(Bench):
    endless = True
    made = Generated("r", 1_000_000.0, 0)

    def send(self, numbers: Sequence[int]) -> None:
        """There are always enough."""

    def planner(self) -> SourcePlanner:
        super().planner()
        return LivePlanner(LiveSource(BATCH_ROWS, (self.made,)), self.redis_url, self.folder)

    def expected(self, numbers: Sequence[int], count: int) -> list[int]:
        made = self.made
        whole = GeneratedRange("r", 0, count, made.tuples_per_second, 0, made.seed, made.distinct)
        found: list[int] = generate(whole, self.stream()).column("n").to_pylist()
        return found


class TestGenerator(ConnectorKit):
    connector = "generator"

    @pytest.fixture
    def bench(self, tmp_path: Path) -> Bench:
        return _Generator(tmp_path)


class _Found(Bench):
    """Results of a topology: every batch finds some, which come in with the one behind it."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._runs: list[RunRef] = []

    def send(self, numbers: Sequence[int]) -> None:
        for some in (numbers[n : n + BATCH_ROWS] for n in range(0, len(numbers), BATCH_ROWS)):
            begins = first_arrival(len(self._runs), 0)
            run = run_of(self.folder, [BEGIN + timedelta(seconds=n) for n in some], some, begins)
            self._runs.append(run)

    def stream(self) -> GraphStream:
        return replace(super().stream(), derived=Derivation("found", "found", (), 0, 0))

    def planner(self) -> SourcePlanner:
        graph = PhysicalGraph((self.stream(),), (), (), (), ())
        return _FoundPlanner(graph, self._runs, str(self.folder))


@dataclass(frozen=True, slots=True)
class _FoundPlanner:
    graph: PhysicalGraph
    runs: Sequence[RunRef]
    state: str

    def initial(self) -> Position:
        return {"batch": 0}

    def advance(self, start: Position) -> Position:
        return {"batch": min(start["batch"] + 1, len(self.runs))}

    def planned(self, start: Position, end: Position) -> PlannedBatch:
        done = end["batch"]
        found = found_before(self.graph, self.runs[:done], self.state, done)
        return PlannedBatch(start["batch"], end, found, (), None, start)


def run_of(state: Path, times: Sequence[datetime], numbers: Sequence[int], begins: int) -> RunRef:
    frame = pl.DataFrame({"r.at": times, "r.n": numbers}, {"r.at": pl.Datetime("us", "UTC"), "r.n": pl.Int64})
    frame = frame.with_columns(pl.Series(ARRIVAL, range(begins, begins + len(numbers))))
    path = run_path("found", 0, begins, 1, "0123456789ab")
    first, last = (round(time.timestamp() * 1e6) for time in (times[0], times[-1]))
    figures = RunRef("found", 0, path, frame.height, 0, (first,), (last,), begins, begins + frame.height - 1)
    return state_root(str(state)).write(figures, frame)


class TestResults(ConnectorKit):
    connector = "results"

    @pytest.fixture
    def bench(self, tmp_path: Path) -> Bench:
        return _Found(tmp_path)


@pytest.mark.parametrize("name", [*BUILT_IN, *CONNECTORS])
def test_every_connector_is_held_against_the_kit(name: str) -> None:
    line = f'    connector = "{name}"\n'
    held = [
        file
        for file in TESTS.rglob("test_*.py")
        if "(ConnectorKit)" in (text := file.read_text()) and line in text
    ]
    assert len(held) == 1


def test_no_two_connectors_mean_the_same() -> None:
    kinds = [connector(name) for name in (*BUILT_IN, *CONNECTORS)]
    keys = [kind.position_key for kind in kinds if hasattr(kind, "position_key")]
    documents = [one.__dataclass_fields__["kind"].default for kind in kinds for one in kind.descriptors]
    assert len(set(keys)) == len(keys)
    assert len(set(documents)) == len(documents)


RECORDED = {
    "redis": {"id": "1764000000000-3", "chunks": [["1764000000000-3", 4]], "mark": "0f3c2a9d51e7b846"},
    "generator": {"row": 120},
    "kafka": {
        "topic": "orders",
        "id": "OJsQ5pNRQxK2XUUz9rMkHg",
        "offsets": {"0": 7, "1": 4},
        "ranges": [[0, 3, 4]],
        "gaps": [],
    },
    "history": {
        "history": "archive/orders/*.csv as csv, then entries",
        "place": "archive/orders",
        "folder": {"read": "Zm9vYmFy"},
        "files": [1, 1],
        "then": "redis",
        "live": {"id": "1764000000000-3", "chunks": [["1764000000000-3", 4]], "mark": "0f3c2a9d51e7b846"},
        "is_live": True,
        "late": [],
    },
    "files": {
        "of": "landing/orders/*.csv as csv",
        "folder": "landing/orders",
        "format": "csv",
        "file": ["2026-01-01.csv", 1200, 1764000000000000000],
        "rows": 40,
        "byte": 1200,
        "ended": True,
        "read": "",
        "parts": [["2026-01-01.csv", 1200, 1764000000000000000, 0, 40, 8, 1200]],
        "faults": [],
    },
}
"""Positions as checkpoints have them."""


def test_the_connector_of_every_recorded_position_is_known() -> None:
    live = [name for name in (*BUILT_IN, *CONNECTORS) if isinstance(connector(name), LiveConnector)]
    assert set(RECORDED) == set(live)
    assert {name: _whose(position) for name, position in RECORDED.items()} == {name: name for name in live}
    with pytest.raises(ValueError, match="redis and generator has positions such as"):
        _whose(RECORDED["redis"] | RECORDED["generator"])
    with pytest.raises(ValueError, match="no connector here has"):
        _whose({"id": "1764000000000-3"})


def test_plans_have_settings_among_the_fields_of_their_stream() -> None:
    """As they had before there were connectors: plans are known by their bytes."""
    columns = (("at", ColumnType.TIMESTAMP),)
    streams = tuple(
        GraphStream(name, "at", columns, 0, "drop", source)
        for name, source in (("r", KafkaTopic("orders")), ("s", None))
    )
    graph = PhysicalGraph(streams, (), (), (), ())
    topic, plain = json.loads(graph.to_json())["streams"]
    assert topic["kafka"]["topic"] == "orders"
    assert topic.keys() - plain.keys() == {"kafka"}
    assert "source" not in topic
    assert PhysicalGraph.from_json(graph.to_json()) == graph
    damaged = graph.to_json().replace('"orders"', '"or ders"')
    with pytest.raises(InputError, match=r"streams\.0\.kafka\.topic: found 'or ders'"):
        PhysicalGraph.from_json(damaged)


def test_a_checkpoint_from_before_there_were_connectors_knows_its_topics() -> None:
    old = ACTIVE.validate_json('{"change": 4, "streams": ["r", "s"], "topics": {"r": {"topic": "orders"}}}')
    assert old.sources == {"r": KafkaTopic("orders")}
    assert ACTIVE.validate_json(ACTIVE.dump_json(old)) == old

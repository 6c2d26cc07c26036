"""What every connector has to do: a class of tests, to be inherited with a source to read from.

class TestMine(ConnectorKit):
    connector = "mine"

    @pytest.fixture
    def bench(self, tmp_path: Path) -> Bench: ...
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import ClassVar

import pytest

from jobs.driver.split_assignment import assign
from jobs.sources.connector import Descriptor, LiveConnector, Position, connector
from jobs.sources.halves import halves
from jobs.sources.live import LivePlanner, LiveSource
from jobs.sources.planner import PLANNED, PlannedBatch, SourcePlanner
from jobs.sources.read import read
from jobs.sources.redis import RedisEntries
from optimizer.algebra.settings import BadSetting
from optimizer.algebra.types import ColumnType
from optimizer.logical.source import SourceSettings, document_of, read_settings, settings_schema
from optimizer.physical.graph import GraphStream

COLUMNS = (("at", ColumnType.TIMESTAMP), ("n", ColumnType.BIGINT))
BATCH_ROWS = 5
MOST_BATCHES = 8
"""Of a source that never ends."""


class Bench(ABC):
    """A source with one stream, whose tuples are numbered."""

    redis_url: str = "redis://127.0.0.1:1/0"
    source: SourceSettings | None = None
    endless: ClassVar[bool] = False
    """True if there are always more tuples."""
    most_off: int = 0
    """By how many tuples the backlog may differ from what is left, if it is estimated."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @abstractmethod
    def send(self, numbers: Sequence[int]) -> None:
        """Bring these tuples behind those that are there."""

    def planner(self) -> SourcePlanner:
        """A new one, as a process that has been started again has it."""
        sources = {} if self.source is None else {"r": document_of(self.source)}
        active = {"change": 0, "streams": ["r"], "sources": sources}
        (self.folder / "active.json").write_text(json.dumps(active))
        return LivePlanner(LiveSource(BATCH_ROWS), self.redis_url, self.folder)

    def stream(self) -> GraphStream:
        return GraphStream("r", "at", COLUMNS, 0, "drop", self.source)

    def read(self, descriptors: Sequence[Descriptor]) -> list[int]:
        """The numbers of the described tuples; there are no dead letters among them."""
        found = []
        for descriptor in descriptors:
            raw = read(descriptor, self.stream(), ["n"], self.redis_url)
            assert raw.undecodable is None
            assert raw.arrived_ms is None or len(raw.arrived_ms) == raw.table.num_rows
            found += raw.table.column("n").to_pylist()
        return found

    def expected(self, numbers: Sequence[int], count: int) -> list[int]:
        """What the first `count` tuples are, of which these were sent."""
        return list(numbers[:count])


def stored(position: Position) -> Position:
    """As it comes back from a checkpoint."""
    read_again: Position = json.loads(json.dumps(position))
    return read_again


def batches(bench: Bench, begin: Position | None = None, *, restart: bool = False) -> list[PlannedBatch]:
    """All batches behind a position; with `restart` a new process plans each of them."""
    planner = bench.planner()
    position = planner.initial() if begin is None else begin
    found: list[PlannedBatch] = []
    while len(found) < MOST_BATCHES:
        end = planner.advance(position)
        if end == position:
            break
        found.append(planner.planned(position, end))
        position = end
        if restart:
            planner, position = bench.planner(), stored(end)
    return found


class ConnectorKit(ABC):
    """Offsets go only forward, nothing is lost or doubled by a restart, and documents say what is wrong."""

    connector: ClassVar[str]

    @abstractmethod
    @pytest.fixture
    def bench(self, tmp_path: Path) -> Bench:
        """The connector's own bench."""

    def test_an_empty_source_is_empty(self, bench: Bench) -> None:
        bench.send([])
        if not bench.endless:
            assert [bench.read(batch.descriptors) for batch in batches(bench)] in ([], [[]])

    def test_batches_go_only_forward_and_have_every_tuple_once(self, bench: Bench) -> None:
        numbers = range(23)
        bench.send(numbers)
        planned = batches(bench)
        assert [batch.batch for batch in planned] == list(range(len(planned)))
        assert all(one.end == other.start for one, other in pairwise(planned))
        rows = [bench.read(batch.descriptors) for batch in planned]
        assert max(map(len, rows)) <= BATCH_ROWS
        found = [number for some in rows for number in some]
        assert found == bench.expected(numbers, len(found))
        assert bench.endless or len(found) == len(numbers)
        assert [sum(batch.rows.values()) for batch in planned] == [len(some) for some in rows]

    def test_a_restart_at_any_batch_neither_loses_nor_doubles(self, bench: Bench) -> None:
        bench.send(range(12))
        for batch in batches(bench, restart=True)[:2]:
            # The batch is planned again from what is stored, and is the same.
            again = bench.planner().planned(stored(batch.start), stored(batch.end))
            assert again.descriptors == batch.descriptors
        first = batches(bench)
        bench.send(range(12, 20))
        later = batches(bench, stored(first[-1].end), restart=True)
        found = [number for batch in (*first, *later) for number in bench.read(batch.descriptors)]
        assert found == bench.expected(range(20), len(found))
        assert bench.endless or len(found) == 20

    def test_reading_again_gives_the_same(self, bench: Bench) -> None:
        bench.send(range(5))
        descriptors = [one for batch in batches(bench) for one in batch.descriptors]
        assert bench.read(descriptors) == bench.read(descriptors)

    def test_descriptors_come_back_from_their_documents(self, bench: Bench) -> None:
        bench.send(range(5))
        for batch in batches(bench):
            assert PLANNED.validate_json(PLANNED.dump_json(batch)) == batch
            for descriptor in batch.descriptors:
                assert descriptor.connector in (self.connector, *connector(self.connector).reads_by)
                assert type(descriptor) in connector(descriptor.connector).descriptors
                assert descriptor.place

    def test_tasks_and_the_search_for_bad_tuples_read_every_tuple_once(self, bench: Bench) -> None:
        bench.send(range(5))
        descriptors = [one for batch in batches(bench) for one in batch.descriptors]
        whole = bench.read(descriptors)
        assert [n for group in assign(descriptors, 3) for n in bench.read(group)] == whole
        single: list[int] = []
        todo: list[Sequence[Descriptor]] = [descriptors]
        while todo:
            parts = halves(todo[-1], RedisEntries(bench.redis_url))
            if parts is None:
                (found,) = bench.read(todo.pop())
                single.append(found)
            else:
                todo[-1:] = [parts[1], parts[0]]
        assert single == whole

    def test_what_has_arrived_is_known_and_waited_for(self, bench: Bench) -> None:
        bench.send(range(12))
        planner = bench.planner()
        if not isinstance(planner, LivePlanner):
            return
        newest = planner.offsets.newest(bench.folder)
        left = 12
        for batch in batches(bench):
            left -= sum(batch.rows.values())
            done = batch.end["streams"]
            backlog = planner.offsets.backlog(done)
            assert backlog is not None
            assert bench.endless or planner.offsets.have_come(done, newest) == (left == 0)
            told = sum(backlog.values())
            assert bench.endless or (abs(told - left) <= bench.most_off and (told > 0) == (left > 0))
            assert bench.endless or batch.waiting == tuple(backlog if left else ())

    def test_a_damaged_setting_is_named(self) -> None:
        kind = connector(self.connector)
        if not isinstance(kind, LiveConnector) or kind.settings is None:
            return
        assert kind.settings.connector == self.connector
        schema = settings_schema(self.connector)
        with pytest.raises(BadSetting, match="made_up"):
            read_settings(self.connector, {"made_up": 1})
        for name in schema["properties"]:
            given = {other: "x" for other in schema["required"] if other != name}
            with pytest.raises(BadSetting) as told:
                read_settings(self.connector, {**given, name: [1]})
            assert told.value.key == name
            if name in schema["required"]:
                with pytest.raises(BadSetting, match=f"no {name}"):
                    read_settings(self.connector, given)

    def test_settings_have_labels_and_no_secret(self) -> None:
        """They are in plans: a secret is a setting of the deployment."""
        kind = connector(self.connector)
        if not isinstance(kind, LiveConnector) or kind.settings is None:
            return
        assert kind.settings.title
        for field in settings_schema(self.connector)["properties"].values():
            assert field["title"]
            assert field["description"]
            assert not field.get("writeOnly")

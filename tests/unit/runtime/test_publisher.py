"""Batches reach a sink once and in order, whenever it is away and whenever the process ends."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from jobs.protocol import Verified
from jobs.recovery.manifest import BatchFigures, Manifest, OutputFile
from jobs.sinks.choice import ChosenQueries, QueryChoice
from jobs.sinks.connector import BatchResults, Sink, query_of
from jobs.sinks.outbox import Outbox
from jobs.sinks.publisher import Publisher
from jobs.sources.connector import Away
from optimizer.algebra.errors import InputError

PATIENCE_S = 60.0


class Lines:
    """A file with a line for each batch; it is away whenever it is told to be."""

    def __init__(self, file: Path, away: Sequence[str] = ()) -> None:
        self._file = file
        self._away = list(away)

    def connect(self) -> int:
        self._reach("connect")
        return int(self.lines()[-1].split()[0]) if self.lines() else -1

    def publish(self, results: BatchResults) -> None:
        self._reach("publish")
        (file,) = results.files
        with self._file.open("a") as out:
            out.write(f"{results.batch} {query_of(file)} {pq.read_table(file).column('n').to_pylist()}\n")
        self._reach("published")

    def lines(self) -> list[str]:
        return self._file.read_text().splitlines() if self._file.exists() else []

    def _reach(self, point: str) -> None:
        if self._away and self._away[0] == point:
            del self._away[0]
            raise Away(point)


def manifest(folder: Path, batch: int) -> Manifest:
    path = f"results/a%20b/{batch}.parquet"
    (folder / path).parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table({"n": [batch]}), folder / path)
    files = (OutputFile(path, 1, ""), OutputFile(f"dead_letters/{batch}.parquet", 1, ""))
    return Manifest(batch, "p", 0, (), {}, {}, {}, files, None, 0, BatchFigures(0, {}, {}, 0, ()), ())


def publisher_of(sinks: dict[str, Sink], folder: Path, passing: bool, most: int) -> Publisher:
    return Publisher(sinks, Outbox(folder, folder, passing, sinks), most)


def finish(publisher: Publisher) -> None:
    give_up_at = time.monotonic() + PATIENCE_S
    while publisher.waiting() and publisher.error is None and time.monotonic() < give_up_at:
        time.sleep(0.01)
    publisher.close(PATIENCE_S)
    assert publisher.error is None
    assert not publisher.waiting()


def test_a_sink_that_goes_away_gets_every_batch_once(tmp_path: Path) -> None:
    """Also one that has taken a batch and could not say so."""
    sink = Lines(tmp_path / "lines", ["connect", "publish", "published"])
    publisher = publisher_of({"lines": sink}, tmp_path, passing=True, most=10)
    publisher.start(None)
    for batch in range(3):
        publisher.add(manifest(tmp_path, batch))
    finish(publisher)
    assert sink.lines() == ["0 a b [0]", "1 a b [1]", "2 a b [2]"]
    assert not list(tmp_path.rglob("*.parquet"))


def test_a_process_that_starts_goes_on_behind_what_the_sink_has(tmp_path: Path) -> None:
    ended = publisher_of({"lines": Lines(tmp_path / "lines")}, tmp_path, passing=False, most=10)
    for batch in range(2):
        ended.add(manifest(tmp_path, batch))
    ended.start(None)
    finish(ended)
    sink = Lines(tmp_path / "lines")
    publisher = publisher_of({"lines": sink}, tmp_path, passing=False, most=10)
    # The last commit is told of again, and one that was never put into the outbox.
    publisher.add(manifest(tmp_path, 1))
    publisher.start(manifest(tmp_path, 2))
    finish(publisher)
    assert [line.split()[0] for line in sink.lines()] == ["0", "1", "2"]
    assert len(list(tmp_path.rglob("*.parquet"))) == 3


def test_a_batch_says_until_when_its_queries_are_verified_by_now(tmp_path: Path) -> None:
    told: list[tuple[int, dict[str, int]]] = []

    class Telling(Lines):
        def publish(self, results: BatchResults) -> None:
            super().publish(results)
            told.append((results.batch, dict(results.verified_until_us)))

    publisher = publisher_of({"lines": Telling(tmp_path / "lines", ["connect"])}, tmp_path, False, most=10)
    (lane,) = publisher.lanes
    publisher.verified.committed("p", 0)
    publisher.add(manifest(tmp_path, 0))
    with pytest.raises(Away):
        lane.publish_waiting()
    # While the batch waits.
    publisher.verified.take(Verified(plan_id="p", until_us={"a b": 17}))
    lane.publish_waiting()
    publisher.verified.committed("q", 1)
    publisher.add(manifest(tmp_path, 1))
    lane.publish_waiting()
    assert told == [(0, {"a b": 17}), (1, {})]


def test_what_a_sink_cannot_do_ends_publishing(tmp_path: Path) -> None:
    class Broken(Lines):
        def publish(self, results: BatchResults) -> None:
            raise ValueError("no")

    publisher = publisher_of({"lines": Broken(tmp_path / "lines")}, tmp_path, passing=True, most=1)
    publisher.add(manifest(tmp_path, 0))
    publisher.start(None)
    publisher.wait_for_room()
    publisher.close(PATIENCE_S)
    assert str(publisher.error) == "no"


def test_a_sink_that_is_away_leaves_the_others_up_to_date(tmp_path: Path) -> None:
    """A batch's files stay until both sinks have them."""
    there, away = Lines(tmp_path / "there"), Lines(tmp_path / "away", ["connect"] * 10_000)
    publisher = publisher_of({"there": there, "away": away}, tmp_path, passing=True, most=10)
    publisher.start(None)
    for batch in range(3):
        publisher.add(manifest(tmp_path, batch))
    give_up_at = time.monotonic() + PATIENCE_S
    while len(there.lines()) < 3 and time.monotonic() < give_up_at:
        time.sleep(0.01)
    assert len(there.lines()) == 3
    assert publisher.waiting() == 3
    publisher.close(PATIENCE_S)
    back = Lines(tmp_path / "away")
    publisher = publisher_of({"there": there, "away": back}, tmp_path, passing=True, most=10)
    publisher.start(None)
    finish(publisher)
    assert there.lines() == back.lines() == ["0 a b [0]", "1 a b [1]", "2 a b [2]"]
    assert not list(tmp_path.rglob("*.parquet"))


def test_an_outbox_of_an_earlier_release_is_read_on(tmp_path: Path) -> None:
    made = manifest(tmp_path, 0)
    (tmp_path / "outbox").mkdir()
    (tmp_path / "outbox" / "0.json").write_text(json.dumps([made.files[0].path]))
    sink = Lines(tmp_path / "lines")
    publisher = publisher_of({"lines": sink}, tmp_path, passing=False, most=10)
    publisher.start(None)
    finish(publisher)
    assert sink.lines() == ["0 a b [0]"]


def test_a_sink_that_is_new_begins_behind_what_the_others_had(tmp_path: Path) -> None:
    """The last batch is told of again at a start, and its files are gone."""
    old = Lines(tmp_path / "old")
    publisher = publisher_of({"old": old}, tmp_path, passing=True, most=10)
    first = manifest(tmp_path, 0)
    publisher.start(first)
    finish(publisher)
    new = Lines(tmp_path / "new")
    publisher = publisher_of({"old": old, "new": new}, tmp_path, passing=True, most=10)
    publisher.start(first)
    publisher.add(manifest(tmp_path, 1))
    finish(publisher)
    assert publisher.error is None
    assert old.lines() == ["0 a b [0]", "1 a b [1]"]
    assert new.lines() == ["1 a b [1]"]


def test_a_sink_gets_the_results_of_chosen_queries_only(tmp_path: Path) -> None:
    """Batches without any are none for it, and hold nothing up."""
    whole, part, none = (Lines(tmp_path / name) for name in ("whole", "part", "none"))
    sinks: dict[str, Sink] = {
        "whole": ChosenQueries(whole, QueryChoice.of("--x", "*")),
        "part": ChosenQueries(part, QueryChoice.of("--x", "other, a ?")),
        "none": ChosenQueries(none, QueryChoice.of("--x", "other")),
    }
    publisher = publisher_of(sinks, tmp_path, passing=True, most=10)
    publisher.start(None)
    for batch in range(2):
        publisher.add(manifest(tmp_path, batch))
    finish(publisher)
    assert whole.lines() == part.lines() == ["0 a b [0]", "1 a b [1]"]
    assert not none.lines()
    assert not list(tmp_path.rglob("*.parquet"))


def test_a_choice_of_no_query_is_refused() -> None:
    with pytest.raises(InputError, match="names of queries"):
        QueryChoice.of("--results-table-queries", " ,")

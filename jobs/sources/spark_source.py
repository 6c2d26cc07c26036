"""The Python data source through which Spark drives a topology.

Spark keeps the source's position in its offset log, asks how far the next batch goes, and
repeats a batch under the same two positions after a failure. The planner's answer, descriptors
of what to read, is written beside the checkpoint for the driver; tuples never pass through
this source.

Spark does not flush its offset log, so a loss of power may take its newest entries away. A batch
whose manifest exists is therefore never planned again: it ends where its manifest says.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition

if TYPE_CHECKING:
    from jobs.sources.connector import Position
    from jobs.sources.files.replay import ReplaySource
    from jobs.sources.live import LiveSource
    from jobs.sources.planner import PlannedBatch, SourcePlanner

    Source: TypeAlias = ReplaySource | LiveSource

# Spark imports this module in some four processes, of which one plans batches. So everything else is
# imported where it is used: each of those processes would be 50 MB larger.

FORMAT = "millrace"


def write_source(checkpoint: Path, source: Source) -> None:
    """Tell the planning process what to read."""
    from pydantic import TypeAdapter

    document = {"source": TypeAdapter(type(source)).dump_python(source, mode="json")}
    _replace(checkpoint / "source.json", json.dumps(document).encode())


def read_source(checkpoint: Path) -> Source | None:
    """What this topology read when it last ran; None if it never did."""
    from pydantic import TypeAdapter

    path = checkpoint / "source.json"
    if not path.exists():
        return None
    document = json.loads(path.read_bytes())["source"]
    if document["kind"] == "replay":
        from jobs.sources.files.replay import ReplaySource

        return TypeAdapter(ReplaySource).validate_python(document)
    from jobs.sources.live import LiveSource

    return TypeAdapter(LiveSource).validate_python(document)


def make_planner(checkpoint: Path, redis_url: str | None) -> SourcePlanner:
    source = read_source(checkpoint)
    if source is None:
        raise FileNotFoundError(f"{checkpoint}/source.json")
    if source.kind == "replay":
        from jobs.sources.files.replay import ReplayPlanner

        return ReplayPlanner(source)
    from jobs.sources.live import LivePlanner

    if redis_url is None:
        raise ValueError("a live source needs the option redis")
    return LivePlanner(source, redis_url, checkpoint)


def read_planned(checkpoint: Path, batch: int) -> PlannedBatch:
    """What the planner decided for a batch that Spark has begun."""
    from jobs.sources.planner import PLANNED

    return PLANNED.validate_json((checkpoint / "planned" / f"{batch}.json").read_bytes())


class MillraceSource(DataSource):  # type: ignore[misc]
    """Spark's source for the batches of a checkpoint; its rows are never read.

    `spark.readStream.format("millrace").option("checkpoint", DIR)`.

    A live source also takes the option `redis`, a URL; it may hold a password, so it is never
    written down.
    """

    @classmethod
    def name(cls) -> str:
        return FORMAT

    def schema(self) -> str:
        return "batch long"

    def streamReader(self, schema: Any) -> DataSourceStreamReader:
        return _Reader(Path(self.options["checkpoint"]), self.options.get("redis"))


class _Reader(DataSourceStreamReader):  # type: ignore[misc]
    def __init__(self, checkpoint: Path, redis_url: str | None) -> None:
        self._checkpoint = checkpoint
        self._redis_url = redis_url
        # Spark also pickles the reader, to ship `read`; only the planning process needs the planner.
        self._planner: SourcePlanner | None = None

    @property
    def planner(self) -> SourcePlanner:
        if self._planner is None:
            self._planner = make_planner(self._checkpoint, self._redis_url)
        return self._planner

    def initialOffset(self) -> Position:
        return self.planner.initial()

    def latestOffset(self, start: Position, limit: object) -> Position:
        committed = self._checkpoint / "commits" / f"{start['batch']}.json"
        if committed.exists():
            from jobs.recovery.manifest import read_manifest

            return read_manifest(str(committed)).position
        return self.planner.advance(start)

    def partitions(self, start: Position, end: Position) -> Sequence[InputPartition]:
        from jobs.sources.planner import PLANNED

        planned = self.planner.planned(start, end)
        folder = self._checkpoint / "planned"
        folder.mkdir(exist_ok=True)
        _replace(folder / f"{planned.batch}.json", PLANNED.dump_json(planned))
        # Two behind: Spark repeats at most the last batch.
        (folder / f"{planned.batch - 2}.json").unlink(missing_ok=True)
        return [InputPartition(planned.batch)]

    def read(self, partition: InputPartition) -> Iterator[tuple[int]]:
        yield (partition.value,)


def _replace(path: Path, content: bytes) -> None:
    unfinished = path.with_name(path.name + ".unfinished")
    unfinished.write_bytes(content)
    os.replace(unfinished, path)

"""The source of a replay: all streams' files, advancing together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from jobs.sources.connector import Position
from jobs.sources.files.order import FIRST, KeyCursor, cut
from jobs.sources.files.stream_files import FileRange, StreamFiles
from jobs.sources.planner import PlannedBatch


@dataclass(frozen=True, slots=True)
class ReplaySource:
    """What a replay reads, as it is handed to the planning process."""

    streams: tuple[StreamFiles, ...]
    batch_rows: int
    """At most so many rows of all streams together form a batch."""
    began_ms: int | None = None
    """When the replay first began, milliseconds since 1970: that is when everything in files arrived.
    None if nobody knows."""
    settles: int = 0
    """How many batches without tuples follow the last one, in which all that waits falls due."""
    kind: Literal["replay"] = "replay"


class ReplayPlanner:
    """Plans batches over files.

    A position holds, per stream, the number of rows before it and their largest key. Batches
    depend on `batch_rows` alone, so a replay that continues plans the batches that an
    uninterrupted one would have planned.
    """

    def __init__(self, source: ReplaySource) -> None:
        self._source = source
        self._cursors = {files.stream: KeyCursor(files) for files in source.streams}

    def initial(self) -> Position:
        return {"batch": 0, "streams": {f.stream: {"row": 0, "key": FIRST} for f in self._source.streams}}

    def advance(self, start: Position) -> Position:
        names = [files.stream for files in self._source.streams]
        keys = []
        for name in names:
            position = start["streams"][name]
            self._cursors[name].seek(position["row"], position["key"])
            keys.append(self._cursors[name].peek(self._source.batch_rows))
        taken = cut(keys, self._source.batch_rows)
        if not sum(taken):
            done = settled(start)
            if start["batch"] and done < self._source.settles:
                return {**start, "batch": start["batch"] + 1, "settled": done + 1}
            return start
        streams = {}
        for name, rows, ahead in zip(names, taken, keys, strict=True):
            position = start["streams"][name]
            key = int(ahead[rows - 1]) if rows else position["key"]
            streams[name] = {"row": position["row"] + rows, "key": key}
        return {"batch": start["batch"] + 1, "streams": streams}

    def planned(self, start: Position, end: Position) -> PlannedBatch:
        descriptors: list[FileRange] = []
        ended = []
        backlog = 0
        for files in self._source.streams:
            first, last = start["streams"][files.stream]["row"], end["streams"][files.stream]["row"]
            descriptors.extend(_ranges(files, first, last))
            backlog += files.rows - last
            if files.rows == last:
                ended.append(files.stream)
        return PlannedBatch(
            start["batch"],
            end,
            tuple(descriptors),
            tuple(ended),
            backlog,
            start,
            arrived_by_ms=self._source.began_ms,
        )


def settled(position: Position) -> int:
    """How many batches without tuples lie between the last tuple and a position.

    >>> settled({"batch": 7, "settled": 1, "streams": {}}), settled({"batch": 6, "streams": {}})
    (1, 0)
    """
    return int(position.get("settled", 0))


def _ranges(files: StreamFiles, first: int, last: int) -> list[FileRange]:
    """The file ranges of the stream's rows `first` to `last` (exclusive)."""
    ranges = []
    before = 0
    for file in files.files:
        start, stop = max(first, before), min(last, before + file.rows)
        if start < stop:
            ranges.append(FileRange(files.stream, file.path, start - before, stop - start))
        before += file.rows
    return ranges

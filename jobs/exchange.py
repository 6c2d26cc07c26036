"""How messages get from the tasks of one level to those of the next.

What Spark shuffles are small rows. On one host a sending task writes the bodies of all its
messages into one file in shared memory and only their names travel; a body for all tasks is
written once and named many times, and a message for a later level is passed on by name without
being opened. Between hosts, and when shared memory is full, the body travels in the row.

Beside messages there are reports to the driver, and what each partition has stored so far in this
batch, which goes from level to level. So a level only ever sees the files of the very attempts whose
work the driver will commit.

A batch's files are deleted by the driver when the batch is over. Their names contain the task
attempt, so an attempt that Spark has given up cannot disturb the one that replaced it.
"""

from __future__ import annotations

import errno
import os
import pickle
import shutil
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa

from jobs.message import EVERY_TASK, Message
from jobs.runs import RUNS, RunRef
from optimizer.graph import PhysicalGraph

Wire: TypeAlias = tuple[str, bytes | None, str | None, int, int]
"""(edge, body) or (edge, None, file, offset, length in bytes)."""
Row: TypeAlias = tuple[int, Wire]
"""(Spark partition, wire)."""

REPORT = "@report"
"""The edge of reports: they pass every level and end at the driver."""
STORED = "@stored"
"""The edge along which a partition's new runs go from one level to the next."""

_SHARED_MEMORY = Path("/dev/shm")
_ENOUGH_BYTES = 1 << 30


def exchange_directory(name: str) -> Path:
    """A new directory for message bodies: in shared memory if there is enough of it, otherwise
    among the temporary files."""
    base = Path(tempfile.gettempdir())
    if _SHARED_MEMORY.is_dir() and os.access(_SHARED_MEMORY, os.W_OK):
        room = os.statvfs(_SHARED_MEMORY)
        if room.f_bavail * room.f_frsize >= _ENOUGH_BYTES:
            base = _SHARED_MEMORY
    return Path(tempfile.mkdtemp(prefix=f"millrace-{os.getpid()}-{name}-", dir=base))


def overflow(folder: Path) -> Path:
    """Where a batch's rows go when `folder`, its exchange directory, is full.

    >>> str(overflow(Path("/dev/shm/millrace-1-a-b/7"))).endswith("/millrace-1-a-b/7")
    True
    """
    return Path(tempfile.gettempdir(), folder.parent.name, folder.name)


def remove_batch(folder: Path) -> None:
    """Delete a batch's exchange directory and what did not fit into it."""
    for place in (folder, overflow(folder)):
        shutil.rmtree(place, ignore_errors=True)


def remove_exchange(directory: Path) -> None:
    """Delete what `exchange_directory` made, and all that did not fit into it."""
    for place in (directory, overflow(directory / "batch").parent):
        shutil.rmtree(place, ignore_errors=True)


def remove_orphans() -> None:
    """Delete exchange directories of drivers that are no more, killed before they could."""
    for base in {Path(tempfile.gettempdir()), _SHARED_MEMORY}:
        for folder in base.glob("millrace-*-*-*"):
            pid = folder.name.split("-")[1]
            if pid.isdigit() and not Path(f"/proc/{pid}").exists() and Path("/proc/self").exists():
                shutil.rmtree(folder, ignore_errors=True)


class Outbox:
    """What one task sends. Use as a context manager, then take `rows`.

    Arguments: the graph, the number of Spark partitions, the batch's directory (None to send
    bodies inside the rows), and a name that no other attempt of any task in this batch has.
    """

    def __init__(self, graph: PhysicalGraph, partitions: int, directory: str | None, name: str) -> None:
        self.rows: list[Row] = []
        self.messages: dict[str, int] = {}
        """Messages sent along each edge, copies counted."""
        self.bytes: dict[str, int] = {}
        """Bytes written along each edge, a body for all tasks once."""
        self._tasks = _tasks_by_edge(graph, partitions)
        self._path = f"{directory}/{name}.messages" if directory else None
        self._file: Any = None

    def __enter__(self) -> Outbox:
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()

    def send(self, message: Message) -> None:
        """Send tuples; an empty body is not sent at all."""
        if not message.body.num_rows:
            return
        wire = self._wire(message.edge, message.body)
        everyone = range(self._tasks[message.edge])
        targets: Sequence[int] = everyone if message.partition == EVERY_TASK else (message.partition,)
        self.rows.extend((target, wire) for target in targets)
        self.messages[message.edge] = self.messages.get(message.edge, 0) + len(targets)
        self.bytes[message.edge] = self.bytes.get(message.edge, 0) + wire[4]

    def report(self, report: object) -> None:
        """Send a picklable report to the driver."""
        body = pickle.dumps(report, protocol=pickle.HIGHEST_PROTOCOL)
        self.rows.append((0, (REPORT, body, None, 0, len(body))))

    def stored(self, partition: int, runs: Sequence[RunRef]) -> None:
        """Tell the next level what the partition's tasks of this batch have inserted so far."""
        if runs:
            body = RUNS.dump_json(tuple(runs))
            self.rows.append((partition, (STORED, body, None, 0, len(body))))

    def _wire(self, edge: str, body: pa.Table) -> Wire:
        if self._path is not None:
            try:
                if self._file is None:
                    self._file = pa.OSFile(self._path, "wb")
                start = self._file.tell()
                _write(body, self._file)
                return edge, None, self._path, start, self._file.tell() - start
            except OSError as error:
                if error.errno != errno.ENOSPC:
                    raise
                self._path = None
        sink = pa.BufferOutputStream()
        _write(body, sink)
        inline = sink.getvalue().to_pybytes()
        return edge, inline, None, 0, len(inline)


def open_wire(partition: int, wire: Wire) -> Message:
    """The message that a row names; bodies in shared memory are mapped, not copied."""
    edge, inline, path, start, length = wire
    if path is None:
        assert inline is not None
        buffer = pa.py_buffer(inline)
    else:
        with pa.memory_map(path) as file:
            file.seek(start)
            buffer = file.read_buffer(length)
    with pa.ipc.open_stream(buffer) as reader:
        return Message(edge, partition, reader.read_all())


def open_reports(rows: Iterable[Row]) -> list[Any]:
    """The reports among the rows that reached the driver."""
    return [pickle.loads(wire[1]) for _, wire in rows if wire[0] == REPORT and wire[1] is not None]


@dataclass(frozen=True, slots=True)
class Inbox:
    """What arrived at one task, sorted by what to do with it."""

    messages: tuple[Message, ...]
    """For this level, opened, in the order of their edges."""
    stored: tuple[RunRef, ...]
    """What earlier levels of this batch have inserted in this partition, in the order of levels."""
    passing: tuple[Row, ...]
    """Reports, and messages for later levels."""


def sort_rows(rows: Iterable[Row], graph: PhysicalGraph, level: int, partition: int) -> Inbox:
    """Open the messages for `level` and leave everything else as it is."""
    levels = {edge.id: edge.level for edge in graph.edges}
    here: list[Wire] = []
    stored: tuple[RunRef, ...] = ()
    passing: list[Row] = []
    for row in rows:
        edge = row[1][0]
        if edge == STORED:
            stored = RUNS.validate_json(row[1][1] or b"[]")
        elif edge != REPORT and levels[edge] == level:
            here.append(row[1])
        else:
            passing.append(row)
    # Rows arrive in the order in which tasks end; sorted, equal batches do equal work.
    here.sort(key=lambda wire: (wire[0], wire[2] or "", wire[3], wire[4]))
    return Inbox(tuple(open_wire(partition, wire) for wire in here), stored, tuple(passing))


def _write(body: pa.Table, sink: Any) -> None:
    with pa.ipc.new_stream(sink, body.schema) as writer:
        writer.write_table(body)


def _tasks_by_edge(graph: PhysicalGraph, partitions: int) -> dict[str, int]:
    tasks = {store.id: min(store.tasks, partitions) for store in graph.stores}
    return {edge.id: tasks[edge.target] for edge in graph.edges}

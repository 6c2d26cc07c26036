"""How messages get from the tasks of one stage to those of the next.

What Spark shuffles are small rows. On one host a sending task writes the bodies of all its
messages into one file in shared memory and only their names travel; a body for all tasks, or for
several edges, is written once and named many times, and a message for a later level is passed on by
name without being opened. What a task sends to partitions that the same process works on next is not
written at all. Between hosts, and when shared memory is full, the body travels in the row.

Beside messages there are reports to the driver, and what each partition has stored so far in this
batch, which goes from stage to stage. So a stage only ever sees the files of the very attempts whose
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
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import polars as pl
import pyarrow as pa

from jobs.plan.tuples import EVERY_TASK, Message
from jobs.storage.run import RUNS, RunRef
from optimizer.physical.graph import PhysicalGraph

Wire: TypeAlias = tuple[str, bytes | pl.DataFrame | None, str | None, int, int]
"""(edge, body, None, 0, length) or (edge, None, file, offset, length in bytes); or, inside a process,
(edge, body, the sender's file, number of the body among the sender's, 0)."""
Row: TypeAlias = tuple[int, Wire]
"""(Spark partition, wire)."""

REPORT = "@report"
"""The edge of reports: they pass every stage and end at the driver."""
STORED = "@stored"
"""The edge along which a partition's new runs go from one stage to the next."""

_SHARED_MEMORY = Path("/dev/shm")
_ENOUGH_BYTES = 1 << 30
"""Free in shared memory, for it to be used: containers often have 64 MB of it."""


def exchange_directory(name: str) -> Path:
    """A new directory for message bodies, in shared memory if that has enough room."""
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
    """Delete exchange directories of drivers that were killed before they could."""
    for base in {Path(tempfile.gettempdir()), _SHARED_MEMORY}:
        for folder in base.glob("millrace-*-*-*"):
            pid = folder.name.split("-")[1]
            if pid.isdigit() and not Path(f"/proc/{pid}").exists() and Path("/proc/self").exists():
                shutil.rmtree(folder, ignore_errors=True)


class Outbox:
    """What one task sends. Use as a context manager, then take `rows`.

    Arguments: the graph, the number of Spark partitions, the batch's directory (None to send
    bodies inside the rows), a name that no other attempt of any task in this batch has, and the
    partitions that this very process works on.
    """

    def __init__(
        self,
        graph: PhysicalGraph,
        partitions: int,
        directory: str | None,
        name: str,
        near: Collection[int] = (),
    ) -> None:
        self.rows: list[Row] = []
        self._tasks = _tasks_by_edge(graph, partitions)
        self._name = f"{directory}/{name}.messages"
        self._path = self._name if directory else None
        self._file: Any = None
        self._near = near
        self._handed_over = 0

    def __enter__(self) -> Outbox:
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()

    def send(self, messages: Sequence[Message]) -> None:
        """Send tuples: no empty body at all, and a body that messages share once."""
        written: dict[int, _Place] = {}
        handed_over: dict[int, _Place] = {}
        for message in messages:
            body = message.body
            if body.is_empty():
                continue
            everyone = range(self._tasks[message.edge])
            for target in everyone if message.partition == EVERY_TASK else (message.partition,):
                # Messages hold their bodies while this goes on, so no other one gets the same identity.
                if target in self._near:
                    place = handed_over.get(id(body)) or self._hand_over(body)
                    handed_over[id(body)] = place
                else:
                    place = written.get(id(body)) or self._write(body)
                    written[id(body)] = place
                self.rows.append((target, (message.edge, *place)))

    def report(self, report: object) -> None:
        """Send a picklable report to the driver."""
        body = pickle.dumps(report, protocol=pickle.HIGHEST_PROTOCOL)
        self.rows.append((0, (REPORT, body, None, 0, len(body))))

    def stored(self, partition: int, runs: Sequence[RunRef]) -> None:
        """Tell the next stage what the partition's tasks of this batch have inserted."""
        if runs:
            body = RUNS.dump_json(tuple(runs))
            self.rows.append((partition, (STORED, body, None, 0, len(body))))

    def _hand_over(self, body: pl.DataFrame) -> _Place:
        self._handed_over += 1
        return body, self._name, self._handed_over, 0

    def _write(self, body: pl.DataFrame) -> _Place:
        if self._path is not None:
            try:
                if self._file is None:
                    self._file = pa.OSFile(self._path, "wb")
                start = self._file.tell()
                _write_stream(body, self._file)
                return None, self._path, start, self._file.tell() - start
            except OSError as error:
                if error.errno != errno.ENOSPC:
                    raise
                self._path = None
        sink = pa.BufferOutputStream()
        _write_stream(body, sink)
        inline = sink.getvalue().to_pybytes()
        return inline, None, 0, len(inline)


def open_wires(partition: int, wires: Iterable[Wire]) -> tuple[Message, ...]:
    """The messages that rows name, in the order of their edges, senders and bodies.

    Bodies in shared memory are mapped, not copied. Messages that were sent with one body have one body.
    """
    # Rows arrive in the order in which tasks end; sorted, equal batches do equal work.
    ordered = sorted(wires, key=lambda wire: (wire[0], wire[2] or "", wire[3], wire[4]))
    bodies: dict[tuple[str | int, int], pl.DataFrame] = {}
    files: dict[str, pa.Buffer] = {}
    messages = []
    for edge, content, path, start, length in ordered:
        if isinstance(content, pl.DataFrame):
            messages.append(Message(edge, partition, content))
            continue
        place = (id(content) if path is None else path, start)
        if place not in bodies:
            if path is None:
                buffer = pa.py_buffer(content)
            else:
                if path not in files:
                    with pa.memory_map(path) as file:
                        files[path] = file.read_buffer()
                buffer = files[path].slice(start, length)
            with pa.ipc.open_stream(buffer) as reader:
                bodies[place] = pl.DataFrame(pl.from_arrow(reader.read_all()))
        messages.append(Message(edge, partition, bodies[place]))
    return tuple(messages)


def open_reports(rows: Iterable[Row]) -> list[Any]:
    """The reports among the rows that reached the driver."""
    return [pickle.loads(body) for _, (edge, body, *_) in rows if edge == REPORT and isinstance(body, bytes)]


@dataclass(frozen=True, slots=True)
class Inbox:
    """What arrived at one task, sorted by what to do with it."""

    messages: tuple[Message, ...]
    """For this stage, opened, in the order of their edges."""
    stored: tuple[RunRef, ...]
    """What earlier stages of this batch have inserted in this partition, in the order of stages."""
    passing: tuple[Row, ...]
    """Reports, and messages for later stages."""


def sort_rows(rows: Iterable[Row], stages: Mapping[str, int], stage: int, partition: int) -> Inbox:
    """Open the messages for `stage` and leave everything else as it is.

    `stages` are the edges'.
    """
    here: list[Wire] = []
    stored: tuple[RunRef, ...] = ()
    passing: list[Row] = []
    for row in rows:
        edge = row[1][0]
        if edge == STORED:
            assert isinstance(row[1][1], bytes)
            stored = RUNS.validate_json(row[1][1])
        elif edge != REPORT and stages[edge] == stage:
            here.append(row[1])
        else:
            passing.append(row)
    return Inbox(open_wires(partition, here), stored, tuple(passing))


_Place: TypeAlias = tuple[bytes | pl.DataFrame | None, str | None, int, int]
"""Where a message's body is: a `Wire` without the edge."""


def _write_stream(body: pl.DataFrame, sink: Any) -> None:
    table = body.to_arrow(compat_level=pl.CompatLevel.oldest())
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)


def _tasks_by_edge(graph: PhysicalGraph, partitions: int) -> dict[str, int]:
    tasks = {store.id: min(store.tasks, partitions) for store in graph.stores}
    return {edge.id: tasks[edge.target] for edge in graph.edges}

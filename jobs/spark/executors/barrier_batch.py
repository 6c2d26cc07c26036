"""Run a batch as one Spark barrier stage.

All its tasks run at the same time on one host.

Stages that are chained by shuffles cost the same however little they move: each is scheduled,
each of its tasks talks to its own Python worker, and every shuffle sets up serializers. On one
host only names of messages move. So its tasks run ingestion and all stages (`jobs.plan.stage_fusion`) one
after the other and meet in between, in Spark's barrier execution mode: all tasks start together, and if one
fails, Spark ends them all. What a stage may count on is the same as if it were one of Spark's: the
one before has ended in every task. Spark does not repeat such a batch; the driver then has
chained stages do its work again.

Tasks meet through files and not through Spark's own `allGather`, which sleeps for a second while
it waits (Spark 4.3, BarrierTaskContext). A task that was given up may end late. It does no harm:
what it writes has names that nobody else's work refers to.
"""

from __future__ import annotations

import errno
import os
import pickle
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from jobs.sources.connector import Descriptor
from jobs.worker.exchange import REPORT, Row, overflow
from jobs.worker.task import BatchContext, IngestStage, JoinStage

Group: TypeAlias = tuple[int, Sequence[Descriptor]]
"""What one ingesting task of the batch reads, under the task's number."""

_SHORTEST_WAIT_S = 0.0002
_LONGEST_WAIT_S = 0.002
"""Between two looks for what other tasks send; each wait doubles, from the shortest to the longest."""


@dataclass(frozen=True, slots=True)
class Round:
    """Ingestion and every stage of a batch, as one of `tasks` tasks executes them.

    There may be more partitions than tasks: task t works on every partition p with p % tasks = t,
    and on the groups that it is given.
    """

    context: BatchContext
    stages: int
    """How many there are behind the sources."""
    tasks: int

    def __call__(self, task: int, groups: Iterable[Group]) -> Iterator[Row]:
        context = self.context
        own = range(task, context.partitions, self.tasks)
        sent: list[Row] = []
        for number, descriptors in groups:
            sent.extend(IngestStage(context, own)(number, (descriptors,)))
        for stage in range(1, self.stages + 1):
            # Reports are for the driver, whichever task they come from.
            yield from (row for row in sent if row[1][0] == REPORT)
            received = self._exchange(stage, task, [row for row in sent if row[1][0] != REPORT])
            sent = []
            for partition in own:
                sent.extend(JoinStage(context, stage, own)(partition, received[partition]))
        yield from sent

    def _exchange(self, stage: int, task: int, sent: Sequence[Row]) -> dict[int, list[Row]]:
        """Exchange rows with the other tasks, by partition.

        A task gives rows to the tasks that have their partitions, and takes its own.

        Returns when every other task has given its rows, that is, has ended the stage before.
        """
        folder = self.context.exchange
        assert folder is not None
        received: dict[int, list[Row]] = defaultdict(list)
        leaving: list[Row] = []
        for row in sent:
            if row[0] % self.tasks == task:
                received[row[0]].append(row)
            else:
                leaving.append(row)
        if self.tasks > 1:
            _give(Path(folder), f"{stage}-{task}.rows", leaving)
        for other in range(self.tasks):
            if other != task:
                for row in _take(Path(folder), f"{stage}-{other}.rows"):
                    if row[0] % self.tasks == task:
                        received[row[0]].append(row)
        return received


def _give(folder: Path, name: str, rows: list[Row]) -> None:
    body = pickle.dumps(rows, protocol=pickle.HIGHEST_PROTOCOL)
    try:
        _write_whole(folder / name, body)
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        # Shared memory is full, so the rows hold their bodies themselves.
        (folder / f"{name}.{os.getpid()}").unlink(missing_ok=True)
        elsewhere = overflow(folder)
        elsewhere.mkdir(parents=True, exist_ok=True)
        _write_whole(elsewhere / name, body)


def _take(folder: Path, name: str) -> list[Row]:
    """The rows under a name, once they are there.

    Spark ends a task that waits in vain.
    """
    wait_s = _SHORTEST_WAIT_S
    while True:
        for place in (folder, overflow(folder)):
            try:
                rows: list[Row] = pickle.loads((place / name).read_bytes())
            except FileNotFoundError:
                continue
            return rows
        if not folder.exists():
            raise FileNotFoundError(f"{folder} is gone: the batch is over")
        time.sleep(wait_s)
        wait_s = min(_LONGEST_WAIT_S, wait_s * 2)


def _write_whole(path: Path, body: bytes) -> None:
    unfinished = path.with_name(f"{path.name}.{os.getpid()}")
    unfinished.write_bytes(body)
    os.replace(unfinished, path)

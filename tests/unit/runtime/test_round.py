"""Tasks of one stage meet between levels."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from jobs.spark.executors.barrier_batch import Round, _give, _take
from jobs.worker.exchange import Row, overflow, remove_batch
from jobs.worker.task import BatchContext


def _context(folder: Path, partitions: int) -> BatchContext:
    return BatchContext(
        batch=0,
        plan="",
        state="",
        previous=None,
        output=None,
        exchange=str(folder),
        partitions=partitions,
        watermark_us=None,
        late_below_us=(),
        redis_url=None,
        tail=0,
    )


def _row(partition: int, sender: int) -> Row:
    return partition, (f"edge-{sender}", b"body", None, 0, 4)


@pytest.mark.parametrize(("tasks", "partitions"), [(1, 3), (2, 2), (3, 7)])
def test_every_row_reaches_the_task_of_its_partition_once(
    tmp_path: Path, tasks: int, partitions: int
) -> None:
    meeting = Round(_context(tmp_path, partitions), 1, tasks)

    def meet(task: int) -> dict[int, list[Row]]:
        return meeting._exchange(1, task, [_row(partition, task) for partition in range(partitions)])

    with ThreadPoolExecutor(tasks) as pool:
        received = list(pool.map(meet, range(tasks)))

    for task, by_partition in enumerate(received):
        assert sorted(by_partition) == list(range(task, partitions, tasks))
        for partition, rows in by_partition.items():
            assert sorted(rows) == [_row(partition, sender) for sender in range(tasks)]


def test_rows_that_did_not_fit_are_found_and_removed(tmp_path: Path) -> None:
    folder = tmp_path / f"millrace-0-{tmp_path.name}" / "7"
    folder.mkdir(parents=True)
    overflow(folder).mkdir(parents=True)
    _give(overflow(folder), "1-0.rows", [_row(0, 0)])

    assert _take(folder, "1-0.rows") == [_row(0, 0)]

    remove_batch(folder)
    assert not folder.exists()
    assert not overflow(folder).exists()


def test_nobody_waits_for_a_batch_that_is_over(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="the batch is over"):
        _take(tmp_path / "gone", "1-0.rows")

"""Workers that the kernel ends for want of memory end the topology; workers that people end do not."""

from __future__ import annotations

from pathlib import Path

import pytest

from jobs.spark.oom_guard import (
    MOST_BATCHES,
    WITHIN_BATCHES,
    Losses,
    OutOfMemory,
    ended_by_kernel,
    memory_there_is,
)

LOST = "Job aborted: Could not recover from a failed barrier ResultStage: Python worker exited unexpectedly"


class Kernel:
    """Counts what it has ended."""

    def __init__(self) -> None:
        self.ended = 40  # by other programs, before

    def __call__(self) -> int:
        return self.ended


def batches(losses: Losses, kernel: Kernel, lost: dict[int, int], until: int) -> list[int]:
    """Which batches, from 0 on, there are too many losses in; `lost` is how many the kernel ends in which."""
    found = []
    for batch in range(until):
        losses.begin(batch)
        kernel.ended += lost.get(batch, 0)
        if batch in lost:
            losses.add(LOST)
        if losses.too_many:
            found.append(batch)
    return found


def test_workers_lost_in_many_of_the_newest_batches_are_too_many() -> None:
    kernel = Kernel()
    assert batches(Losses(None, kernel), kernel, {3: 2, 5: 1, 9: 4}, 10) == [9]
    assert MOST_BATCHES == 3


def test_losses_are_forgotten() -> None:
    kernel = Kernel()
    far = {0: 1, WITHIN_BATCHES - 1: 1, WITHIN_BATCHES: 1, 2 * WITHIN_BATCHES: 1}
    assert batches(Losses(None, kernel), kernel, far, 3 * WITHIN_BATCHES) == []
    near = {0: 1, 1: 1, WITHIN_BATCHES - 1: 1}
    assert batches(Losses(None, kernel), kernel, near, 2 * WITHIN_BATCHES) == [WITHIN_BATCHES - 1]


def test_workers_that_somebody_kills_do_not_count() -> None:
    kernel = Kernel()
    losses = Losses(None, kernel)
    assert batches(losses, kernel, dict.fromkeys(range(50), 0), 50) == []
    assert not losses.add(LOST)


def test_other_programs_losses_between_failures_do_not_count() -> None:
    """The kernel's counter is of a group that others may be in too."""
    kernel = Kernel()
    losses = Losses(None, kernel)
    for batch in range(20):
        kernel.ended += 1
        losses.begin(batch)
        assert not losses.add(LOST)
        kernel.ended += 1
    assert not losses.too_many


@pytest.mark.parametrize(
    ("said", "counts"),
    [
        ("PythonException: Traceback ...\nMemoryError", True),
        ("pyarrow.lib.ArrowMemoryError: malloc of size 4096 failed", True),
        ("numpy._core._exceptions._ArrayMemoryError: Unable to allocate 8.00 GiB", True),
        ("OSError: [Errno 12] Cannot allocate memory", True),
        ("java.lang.OutOfMemoryError: Java heap space", False),
        ("ValueError: no such task", False),
    ],
)
def test_an_allocation_that_was_refused_counts(said: str, counts: bool) -> None:
    losses = Losses(None, Kernel())
    losses.begin(4)
    assert losses.add(said) == counts
    assert ("1 process lost for want of it in batch 4," in str(losses.reason(1, 1))) == counts


def test_the_reason_has_what_was_found_and_what_to_do() -> None:
    kernel = Kernel()
    losses = Losses(None, kernel)
    batches(losses, kernel, {3: 2, 5: 1}, 6)
    kernel.ended += 3  # while the batch is done again
    losses.begin(6)
    kernel.ended += 1
    assert losses.add(LOST)
    error = losses.reason(800_000_000, 2 << 30)
    assert isinstance(error, OutOfMemory)
    assert str(error) == (
        "command line: --memory-limit: found no limit, 800,000,000 bytes of stores, 2,147,483,648 bytes of "
        "memory and 7 processes lost for want of it in batches 3, 5, 6, expected a limit of what of the "
        "stores is in memory, such as 256MiB (of a topology: Jobs, Memory), or more memory"
    )
    assert "such as 64MiB" in str(losses.reason(0, 100 << 20))
    limited = Losses(5_000_000, Kernel()).reason(9, 9)
    assert limited.found.startswith("a limit of 5,000,000 bytes, 9 bytes of stores, 9 bytes of memory and ")
    assert limited.expected.startswith("a lower limit ")


def machine(folder: Path, cgroup: str, files: dict[str, str]) -> tuple[Path, Path]:
    """The kernel's files of a machine on which a process is in these groups."""
    (folder / "proc" / "self").mkdir(parents=True)
    (folder / "proc" / "self" / "cgroup").write_text(cgroup)
    (folder / "groups").mkdir()
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder / "proc", folder / "groups"


EVENTS = "low 0\nhigh 0\nmax 12\noom 3\noom_kill {}\noom_group_kill 0\n"
MACHINES = {
    "version 2": (
        "0::/system.slice/job\n",
        {
            "groups/cgroup.controllers": "cpu memory\n",
            "groups/system.slice/job/memory.events": EVENTS.format(7),
            "groups/system.slice/job/memory.max": "max\n",
            "groups/system.slice/memory.max": "3000000\n",
            "proc/vmstat": "oom_kill 99\n",
        },
        (7, 3_000_000),
    ),
    "version 2, in a container": (
        "0::/\n",
        {
            "groups/cgroup.controllers": "cpu memory\n",
            "groups/memory.events": EVENTS.format(2),
            "groups/memory.max": "2000000\n",
        },
        (2, 2_000_000),
    ),
    "version 1": (
        "9:name=systemd:/x\n4:cpu,memory:/docker/1\n0::/\n",
        {
            "groups/memory/docker/1/memory.oom_control": "oom_kill_disable 0\nunder_oom 0\noom_kill 5\n",
            "groups/memory/docker/1/memory.limit_in_bytes": "9223372036854771712\n",
            "groups/memory/docker/memory.limit_in_bytes": "1000000\n",
            "groups/unified/cgroup.controllers": "\n",
        },
        (5, 1_000_000),
    ),
    "version 1, in a container": (
        "4:memory:/docker/1\n",
        {
            "groups/memory/memory.oom_control": "oom_kill_disable 0\nunder_oom 0\noom_kill 6\n",
            "groups/memory/memory.limit_in_bytes": "4000000\n",
        },
        (6, 4_000_000),
    ),
    "no groups": ("", {"proc/vmstat": "pgfault 8\noom_kill 4\n"}, (4, None)),
    "nobody counts": ("0::/\n", {}, (0, None)),
}


@pytest.mark.parametrize("name", MACHINES)
def test_what_the_kernel_says(name: str, tmp_path: Path) -> None:
    cgroup, files, (ended, memory) = MACHINES[name]
    where = machine(tmp_path, cgroup, files)
    assert ended_by_kernel(*where) == ended
    everything = memory_there_is(tmp_path / "nothing", tmp_path / "nothing")
    assert memory_there_is(*where) == (everything if memory is None else memory)
    assert everything > 4_000_000

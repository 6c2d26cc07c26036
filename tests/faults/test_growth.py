"""What a topology keeps on disk stays as large as its windows, however many batches go by."""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tests.faults.replays import ROWS, Replay

BATCH_ROWS = 160
BATCHES = 3 * ROWS // BATCH_ROWS
KEPT = ("state", "commits", "planned", "spark", "plans", "changes", "exchange", "shuffle")


@dataclass(frozen=True, slots=True)
class Size:
    files: int
    bytes: int


def test_two_hundred_batches_reach_a_plateau(workload: Path, data: Path, tmp_path: Path) -> None:
    replay = Replay(
        workload, data, tmp_path / "out", "--batch-rows", str(BATCH_ROWS), "--epoch-batches", "8",
        "--parallelism", "2",
    )  # fmt: skip
    replay.start()
    assert replay.process is not None
    sizes: dict[int, dict[str, Size]] = {}
    # The windows (5 s and 2 s of lateness) are full after 7 of 24 seconds.
    for batch in range(BATCHES * 2 // 5, BATCHES - 2, 3):
        assert replay.wait_for(batch)
        sizes[replay.committed()] = measure(replay, replay.process.pid)
    assert replay.end() == (0, "")
    replay.check()
    assert BATCHES >= 200
    assert len(sizes) > 20
    middle = max(sizes) * 7 // 10
    for kept in KEPT:
        early = [size[kept] for batch, size in sizes.items() if batch <= middle]
        late = [size[kept] for batch, size in sizes.items() if batch > middle]
        for figure in ("files", "bytes"):
            before = max(getattr(size, figure) for size in early)
            after = max(getattr(size, figure) for size in late)
            assert after <= 1.25 * before + (3 if figure == "files" else 4096), (kept, figure, before, after)
    assert max(size["state"].bytes for size in sizes.values()) > 0


def measure(replay: Replay, pid: int) -> dict[str, Size]:
    places = {name: [replay.checkpoint / name] for name in KEPT}
    shared = [Path("/dev/shm"), Path(tempfile.gettempdir())]
    places["exchange"] = [f for base in shared for f in base.glob(f"millrace-{pid}-[!s]*")]
    places["shuffle"] = list(Path(tempfile.gettempdir()).glob(f"millrace-{pid}-spark-*"))
    return {name: size_of(folders) for name, folders in places.items()}


def size_of(folders: list[Path]) -> Size:
    files = total = 0
    for folder in folders:
        for place, _, names in os.walk(folder):
            for name in names:
                try:
                    total += os.stat(f"{place}/{name}").st_size
                except FileNotFoundError:
                    continue  # deleted while we looked
                files += 1
    return Size(files, total)

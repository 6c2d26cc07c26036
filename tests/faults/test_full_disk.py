"""A full disk stops a topology; with room again it goes on and ends with the right results."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.replays import Replay

MEGABYTES = 1


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of one megabyte; making one takes root."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = shutil.which("mount")
    if os.geteuid() != 0 or mount is None:
        pytest.skip("only root may mount a file system")
    made = subprocess.run(
        [mount, "-t", "tmpfs", "-o", f"size={MEGABYTES}m", "millrace-test", str(folder)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if made.returncode:
        pytest.skip(f"no file system of its own: {made.stderr.strip()}")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


def test_a_disk_that_fills_up(small_disk: Path, workload: Path, data: Path) -> None:
    replay = Replay(workload, data, small_disk / "out", "--batch-rows", "3000")
    replay.start()
    code, errors = replay.end()
    assert code == 1
    assert "No space left on device" in errors
    assert 0 <= replay.committed() < 11
    subprocess.run(["mount", "-o", "remount,size=200m", str(small_disk)], check=True)
    replay.finish()
    assert not list((replay.checkpoint / "state").rglob("*.tmp"))

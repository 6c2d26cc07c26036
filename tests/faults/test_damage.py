"""A checkpoint that is not whole is refused in one line, or mended where nothing is lost; results are
never computed from it."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from jobs.recovery.manifest import CHECKPOINT_VERSION
from tests.faults.replays import Replay


@pytest.fixture(scope="module")
def interrupted(workload: Path, data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The output of a replay that was killed in its middle."""
    replay = Replay(workload, data, tmp_path_factory.mktemp("interrupted") / "out", "--batch-rows", "3000")
    assert replay.run_until(5)
    replay.kill_at_random_moment(random.Random(1))
    return replay.out


@pytest.fixture
def replay(interrupted: Path, workload: Path, data: Path, tmp_path: Path) -> Replay:
    """That replay again, to be continued."""
    shutil.copytree(interrupted, tmp_path / "out")
    return Replay(workload, data, tmp_path / "out", "--batch-rows", "3000")


def last_manifest(replay: Replay) -> Path:
    return replay.checkpoint / "commits" / f"{replay.committed()}.json"


def last_run(replay: Replay) -> Path:
    (line, *_) = last_manifest(replay).read_text().splitlines()
    newest = max(json.loads(line)["runs"], key=lambda run: run["max_arrival"])
    return replay.checkpoint / "state" / newest["path"]


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-100])


def empty(path: Path) -> None:
    path.write_bytes(b"")


def flip_a_bit(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(bytes(content))


@pytest.mark.parametrize("damaged_file", [last_run, last_manifest])
@pytest.mark.parametrize("damage", [cut, empty, flip_a_bit])
def test_damaged_files_are_named(
    replay: Replay, damaged_file: Callable[[Replay], Path], damage: Callable[[Path], None]
) -> None:
    path = damaged_file(replay)
    damage(path)
    refused(replay, str(path), "restore the checkpoint from a copy, or delete it and start over")


def test_a_missing_run_is_named(replay: Replay) -> None:
    path = last_run(replay)
    path.unlink()
    refused(replay, f"{path}: found no such file", "restore the checkpoint")


@pytest.mark.parametrize("version", [CHECKPOINT_VERSION - 1, CHECKPOINT_VERSION + 1])
def test_another_version_is_refused(replay: Replay, version: int) -> None:
    path = replay.checkpoint / "checkpoint.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"version": version}))
    refused(
        replay,
        f"{path}: found checkpoint version {version}, expected version {CHECKPOINT_VERSION}",
        "use another directory, delete this one, or go back to what it was made with",
    )


def refused(replay: Replay, *said: str) -> None:
    before = sorted(replay.out.rglob("*.parquet"))
    replay.start()
    code, errors = replay.end()
    assert code == 2, errors
    assert errors.count("\n") == 1, errors
    for part in said:
        assert part in errors
    assert sorted(replay.out.rglob("*.parquet")) == before


def test_spark_s_log_may_lose_its_end(replay: Replay) -> None:
    """As after a loss of power: Spark does not flush its log, so its newest entries are gone or empty,
    while our commits are there."""
    for log in ("offsets", "commits"):
        folder = replay.checkpoint / "spark" / log
        numbers = sorted(int(p.name) for p in folder.iterdir() if p.name.isdigit())
        for number in numbers[-2:]:
            (folder / f".{number}.crc").unlink(missing_ok=True)
        empty(folder / str(numbers[-1]))
        (folder / str(numbers[-2])).unlink()
    replay.finish()


def test_spark_s_log_of_another_time_is_refused(replay: Replay) -> None:
    shutil.rmtree(replay.checkpoint / "spark")
    for path in (replay.checkpoint / "commits").glob("*.json"):
        if path != last_manifest(replay):
            path.unlink()
    replay.start()
    code, errors = replay.end()
    assert (code, errors.count("\n")) == (2, 1), errors
    assert "restore the whole checkpoint" in errors

"""The simulated disk keeps what was flushed, and nothing else for certain."""

from __future__ import annotations

from pathlib import Path

import pytest

from jobs.recovery.manifest import write_durably
from jobs.storage.disk import make_durable, make_folder_durable, using
from tests.simulation.disk import DiskFault, Killed, SimulatedDisk

SEEDS = [str(seed) for seed in range(20)]


@pytest.fixture
def made(tmp_path: Path) -> SimulatedDisk:
    for name in ("disk", "vault"):
        (tmp_path / name).mkdir()
    return SimulatedDisk(tmp_path / "disk", tmp_path / "vault")


def _write(on: SimulatedDisk, path: Path, content: bytes = b"content") -> None:
    with on.create(path) as file:
        file.write(content)


@pytest.mark.parametrize("seed", SEEDS)
def test_what_was_flushed_outlives_the_power(made: SimulatedDisk, seed: str) -> None:
    folder = Path(made.root, "a", "b")
    with using(made):
        make_folder_durable(folder)
        _write(made, folder / "first")
        make_durable([folder / "first"], Path(made.root))
        write_durably(folder / "second", b"whole")
    made.lose_power(seed)
    assert (folder / "first").read_bytes() == b"content"
    assert (folder / "second").read_bytes() == b"whole"
    assert not (folder / "second.unfinished").exists()


def test_what_was_not_flushed_may_be_lost_cut_or_there(made: SimulatedDisk) -> None:
    found = set()
    for seed in map(str, range(100)):
        path = Path(made.root, seed)
        _write(made, path)
        made.lose_power(seed)
        found.add(path.read_bytes() if path.exists() else None)
    assert {None, b"", b"content"} < found


def test_a_name_that_was_not_flushed_may_be_the_old_one(made: SimulatedDisk) -> None:
    found = set()
    for seed in SEEDS:
        old, new = Path(made.root, f"old {seed}"), Path(made.root, f"new {seed}")
        _write(made, old)
        made.flush([old, Path(made.root)])
        made.rename(old, new)
        made.lose_power(seed)
        found.add((old.exists(), new.exists()))
    assert found == {(True, False), (False, True)}


def test_a_deleted_file_may_be_back(made: SimulatedDisk) -> None:
    found = set()
    for seed in SEEDS:
        path = Path(made.root, seed)
        _write(made, path)
        made.flush([path, Path(made.root)])
        made.delete(path)
        made.lose_power(seed)
        found.add(path.exists())
    assert found == {True, False}


@pytest.mark.parametrize("kind", ["full", "rename fails", "flush fails"])
def test_a_disk_that_fails_does_so_once_and_is_known_for_it(made: SimulatedDisk, kind: str) -> None:
    made.arm(DiskFault(kind, 0), "1")  # type: ignore[arg-type]
    path = Path(made.root, "file")
    with using(made), pytest.raises(OSError) as raised:  # noqa: PT011
        write_durably(path, b"content")
    assert made.injected(raised.value)
    assert not made.injected(OSError("another one"))
    with using(made):
        write_durably(path, b"content")
    assert path.read_bytes() == b"content"


def test_a_process_that_was_killed_changes_nothing_any_more(made: SimulatedDisk) -> None:
    made.arm(DiskFault("kill", 1), "1")
    path = Path(made.root, "file")
    with using(made), pytest.raises(Killed):
        write_durably(path, b"content")
    with pytest.raises(Killed):
        made.delete(path.with_name("file.unfinished"))
    assert [one.name for one in Path(made.root).iterdir()] == ["file.unfinished"]

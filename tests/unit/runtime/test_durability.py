"""What a checkpoint keeps, what it forgets, and how it notices damage; without Spark."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from jobs.failures.dead_letters import DEAD_LETTERS
from jobs.plan.tuples import ARRIVAL
from jobs.recovery.checkpoint import Checkpoint, Identity
from jobs.recovery.manifest import CHECKPOINT_VERSION, read_manifest
from jobs.sinks.parquet import write_schemas
from jobs.storage.disk import make_durable, using
from jobs.storage.run import RunRef, StateRoot, new_attempt, run_path
from optimizer.algebra.errors import InputError
from optimizer.physical.graph import PhysicalGraph
from optimizer.planner.plan import plan
from optimizer.sql import parse_query
from tests.simulation.disk import DiskFault, Killed, SimulatedDisk
from tests.unit.planning.workloads import CATALOG


def graph(sql: str) -> PhysicalGraph:
    return plan([parse_query(sql, "q", CATALOG)], CATALOG, method="greedy").graph


def written(root: StateRoot, store: str, batch: int) -> RunRef:
    frame = pl.DataFrame({"r.at": [1, 2], ARRIVAL: [batch, batch + 1]})
    run = RunRef(store, 0, run_path(store, 0, batch, 1, new_attempt()), 2, 0, (1,), (2,), batch, batch + 1)
    return root.write(run, frame)


def test_verified_runs_are_as_they_were_written(tmp_path: Path) -> None:
    root = StateRoot(str(tmp_path))
    runs = [written(root, "S", batch) for batch in range(3)]
    root.make_durable(runs)
    root.verify(runs)
    with pytest.raises(InputError, match="other content"):
        root.verify([*runs, replace(runs[0], crc32=runs[0].crc32 ^ 1)])
    with pytest.raises(InputError, match="bytes, expected the"):
        root.verify([replace(runs[0], bytes=1)])
    root.delete([runs[1].path])
    with pytest.raises(InputError, match="no such file"):
        root.verify(runs)


def test_folders_of_freed_stores_go(tmp_path: Path) -> None:
    root = StateRoot(str(tmp_path))
    kept, freed = written(root, "kept", 0), written(root, "freed", 0)
    root.delete([freed.path])
    root.remove_empty_folders()
    assert [folder.name for folder in tmp_path.iterdir()] == ["kept"]
    root.verify([kept])


def test_only_files_that_are_there_can_be_made_durable(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "file").write_text("x")
    make_durable([tmp_path / "a" / "b" / "file"], tmp_path)
    with pytest.raises(FileNotFoundError):
        make_durable([tmp_path / "a" / "gone"], tmp_path)


def test_changes_under_which_nothing_runs_again_are_forgotten(tmp_path: Path) -> None:
    checkpoint = Checkpoint(tmp_path / "checkpoint", Identity("run", "t", 2))
    first, second = graph("SELECT r.i FROM r"), graph("SELECT r.i, r.j FROM r")
    for one in (first, second, first, second):
        checkpoint.record_change(one, None, "deployed")
    checkpoint.forget_changes(2)
    assert sorted(path.stem for path in (checkpoint.root / "changes").iterdir()) == ["2", "3"]
    assert len(list((checkpoint.root / "plans").iterdir())) == 2
    checkpoint.forget_changes(3)
    newest = checkpoint.newest_change()
    assert newest is not None
    assert [path.stem for path in (checkpoint.root / "plans").iterdir()] == [newest.plan]
    assert checkpoint.graph(newest.plan) == second


def test_a_manifest_of_this_version_can_be_read_as_long_as_the_version_stays(tmp_path: Path) -> None:
    """If this fails, CHECKPOINT_VERSION has to change, and with it the file: the next release would not
    read, or read wrongly, what is on people's disks."""
    kept = Path(__file__).with_name(f"manifest-{CHECKPOINT_VERSION}.json")
    manifest = read_manifest(str(kept))
    assert (manifest.version, manifest.batch, manifest.watermark_us) == (CHECKPOINT_VERSION, 7, 18)
    (run,) = manifest.runs
    assert (run.rows, run.max_times_us, run.crc32) == (2, (20,), 0x12345678)
    assert manifest.stores["S-1"].complete_from_us == 5
    assert manifest.queries["q"].complete_since_us == 15
    assert manifest.files[0].attempt == "5eb6d3a2f002"
    older = tmp_path / "older.json"
    older.write_text(kept.read_text().replace(f'"version":{CHECKPOINT_VERSION}', '"version":1'))
    with pytest.raises(InputError, match=f"checkpoint version {CHECKPOINT_VERSION}; restore"):
        read_manifest(str(older))


@pytest.mark.parametrize("seed", range(10))
def test_a_checkpoint_that_was_opened_outlives_the_power(tmp_path: Path, seed: int) -> None:
    for name in ("disk", "vault"):
        (tmp_path / name).mkdir()
    lossy = SimulatedDisk(tmp_path / "disk", tmp_path / "vault")
    root = tmp_path / "disk" / "topologies" / "t" / "checkpoint"
    with using(lossy):
        identity = Checkpoint(root, Identity("run", "t", 2)).identity
        lossy.lose_power(f"{seed} once")
        checkpoint = Checkpoint(root, Identity("run", "t", 2))
        assert checkpoint.identity == identity
        checkpoint.record_change(graph("SELECT r.i FROM r"), None, "deployed")
        write_schemas(
            root.with_name("out"), checkpoint.graph(checkpoint.change(0).plan).queries, DEAD_LETTERS
        )
        lossy.lose_power(f"{seed} twice")
        assert Checkpoint(root, Identity("run", "t", 2)).change_at(0).plan
    for file in root.with_name("out").rglob("schema.parquet"):
        assert pl.read_parquet(file).is_empty()


def test_what_is_read_at_a_start_outlives_the_power(tmp_path: Path) -> None:
    """Its process died between giving a change its name and flushing the name."""
    for name in ("disk", "vault"):
        (tmp_path / name).mkdir()
    lossy = SimulatedDisk(tmp_path / "disk", tmp_path / "vault")
    root = tmp_path / "disk" / "checkpoint"
    with using(lossy):
        checkpoint = Checkpoint(root, Identity("run", "t", 2))
        checkpoint.record_change(graph("SELECT r.i FROM r"), None, "deployed")
        changes = len(lossy.trace)
        checkpoint.record_change(graph("SELECT r.j FROM r"), None, "deployed")
        last_flush = len(lossy.trace) - 1 - changes
        lossy.arm(DiskFault("kill", last_flush), "")
        with pytest.raises(Killed):
            checkpoint.record_change(graph("SELECT r.i, r.j FROM r"), None, "deployed")
        lossy.arm(None, "")
        read = Checkpoint(root, Identity("run", "t", 2)).newest_change()
        for seed in range(5):
            lossy.lose_power(str(seed))
            assert Checkpoint(root, Identity("run", "t", 2)).newest_change() == read
    assert read is not None
    assert read.number == 2

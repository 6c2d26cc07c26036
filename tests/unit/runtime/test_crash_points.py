"""Every change of the disk that a batch makes, as the last one of its process."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

import pytest

from jobs.sinks.parquet import hidden_path
from tests.unit.runtime.killed_job import FAST, Faults, Job, planned_batch
from tests.unit.runtime.test_topology_machine import graph_of, rows_of


def test_a_batch_is_committed_once_wherever_its_process_is_killed() -> None:
    """A batch under another plan, which fails with a tuple and is given up once, killed at each change."""
    folder = Path(tempfile.mkdtemp(dir=FAST))
    tuples = [(0, 1, 1), (1, 1, 2)]
    arriving = [{s: rows_of(tuples, now, 100 * now + 10 * n) for n, s in enumerate("rst")} for now in (0, 2)]
    batches = [planned_batch(folder, number, frames) for number, frames in enumerate(arriving)]
    faults = Faults(poison=frozenset({("s", 1)}), too_many=1)
    begun = Job(folder / "begun", graph_of)
    begun.deploy(frozenset({"three"}), 0)
    begun.work(batches[0], Faults())
    begun.deploy(frozenset({"three", "two"}), 3)

    def outcome(number: int, *kills: int) -> tuple[object, ...]:
        copy = folder / f"{number}"
        shutil.copytree(begun.folder, copy)
        job = Job(copy, graph_of)
        changes = job.work(batches[1], faults, kills)
        shown = [job.rows(name, 1) for name in ("three", "two")]
        counted = [(s.accepted, s.late, s.undecodable) for s in job.last.streams.values()]
        files = {path.name for path in Path(job.checkpoint.state).rglob("*.arrow")}
        assert files == {Path(run.path).name for run in job.last.runs}
        letters = [(letter["reason"], letter["tuple"]) for letter in job.letters(1)]
        shutil.rmtree(copy)
        return changes, shown, counted, letters

    try:
        changes, *expected = outcome(0)
        assert isinstance(changes, int)
        assert all(expected)
        for kill in range(changes):
            _, *found = outcome(kill + 1, kill)
            assert found == expected, kill
    finally:
        shutil.rmtree(folder)


def test_what_a_manifest_lists_is_on_the_disk_before_the_manifest_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flushed: set[str] = set()
    commits: list[tuple[set[str], str]] = []
    fsync, rename = os.fsync, os.replace

    def noted_fsync(file: int) -> None:
        flushed.add(os.readlink(f"/proc/self/fd/{file}"))
        fsync(file)

    def noted_rename(old: Path, new: Path) -> None:
        if Path(new).parent.name == "commits":
            commits.append((set(flushed), str(old)))
        rename(old, new)

    monkeypatch.setattr(os, "fsync", noted_fsync)
    monkeypatch.setattr(os, "replace", noted_rename)
    job = Job(tmp_path, graph_of)
    known: set[str] = set()
    for batch, seed in enumerate((0, 3)):
        job.deploy(frozenset({"three", "two"}), seed)
        arriving = {s: rows_of([(0, 1, 1)], batch, 10 * batch + n) for n, s in enumerate("rst")}
        job.work(planned_batch(tmp_path, batch, arriving), Faults())
        before, unfinished = commits[-1]
        runs = [Path(job.checkpoint.state, run.path) for run in job.last.runs if run.path not in known]
        files = [hidden_path(job.output, file) for file in job.last.files]
        assert runs
        assert files
        assert {str(path) for path in (*runs, *files)} <= before
        assert {str(path.parent) for path in (*runs, *files)} <= before
        assert unfinished in before
        assert str(job.checkpoint.root / "commits") in flushed
        known = {run.path for run in job.last.runs}

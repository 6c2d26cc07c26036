"""Checkpoints that earlier releases left are continued by this one, and every result is DuckDB's."""

from __future__ import annotations

import json
import tarfile
from collections import Counter
from pathlib import Path

import pytest

from jobs.protocol import Stop
from tests.runtime.live import RedisServer
from tests.upgrade.__main__ import PLAN, RECORDINGS
from tests.upgrade.job import Job, connect, graph_of
from tests.upgrade.topology import ADDED, RECORDED, Tuples, write_workload


@pytest.mark.parametrize("recording", sorted(RECORDINGS.glob("*.tar.gz")), ids=lambda path: path.name)
def test_a_topology_goes_on(recording: Path, tmp_path: Path) -> None:
    with tarfile.open(recording) as archive:
        archive.extractall(tmp_path, filter="data")
    server = RedisServer(tmp_path)
    server.start()
    entries = [tuple(entry) for entry in json.loads((tmp_path / "tuples.json").read_bytes())]
    job = Job(tmp_path, Tuples(connect(server.port), entries), server.port)
    try:
        job.tuples.restore()
        before = job.read()
        assert 0 < before < len(entries), "some is read, and some is not"
        job.start("run-2", PLAN)
        job.wait_for_tuples()
        # This release's own plan takes over, with another query.
        workload = write_workload(tmp_path / "workload")
        job.deploy("plan-3", graph_of(workload, (*RECORDED, *ADDED), "ilp"))
        added_behind = len(entries)
        job.tuples.produce(100)
        job.tuples.close()
        job.wait_for_tuples()
        expected = {
            query: _newer(rows, added_behind if query in ADDED else 0)
            for query, rows in job.tuples.expected(workload)
        }
        # What falls due with the last tuples is found in a batch behind theirs.
        job.wait_for_results({query: rows.total() for query, rows in expected.items()})
        job.send(Stop(mode="drain"))
        assert job.process is not None
        assert job.process.wait(600) == 0
        for query, rows in expected.items():
            assert rows.total() > 10, query
            found = Counter(job.rows(query))
            assert _newer(found, added_behind if query in ADDED else 0) == rows, query
    finally:
        if job.process is not None and job.process.poll() is None:
            job.process.kill()
            job.process.wait()
        server.stop()


def _newer(results: Counter[tuple[object, ...]], number: int) -> Counter[tuple[object, ...]]:
    """Results with a tuple behind this number; all for 0."""
    return Counter({row: n for row, n in results.items() if not number or max(row) > number})  # type: ignore[type-var,operator]

"""`python -m tests.upgrade`: record a topology under the release at hand, for later ones to continue.

It leaves `recorded/VERSION.tar.gz`: the checkpoint of a process that was killed, its plan, its results, and
the tuples in Redis, of which it had read a part. Run it once for a release, before the next one changes
anything.
"""

from __future__ import annotations

import gzip
import io
import json
import signal
import tarfile
import tempfile
from importlib.metadata import version
from pathlib import Path

from tests.runtime.live import RedisServer
from tests.upgrade.job import Job, connect, graph_of
from tests.upgrade.topology import RECORDED, Tuples, write_workload

RECORDINGS = Path(__file__).parent / "recorded"
PLAN = "plan-2"
"""The one that is in force where a recording ends."""


def main() -> None:
    target = RECORDINGS / f"{version('millrace-joins')}.tar.gz"
    with tempfile.TemporaryDirectory(prefix="upgrade-") as made:
        folder = Path(made)
        server = RedisServer(folder)
        server.start()
        try:
            _record(folder, server.port)
        finally:
            server.stop()
        _pack(folder, target)
    print(f"{target}: {target.stat().st_size} bytes")


def _record(folder: Path, port: int) -> None:
    """Run a topology through a change of plans, and kill it."""
    workload = write_workload(folder / "workload")
    job = Job(folder, Tuples(connect(port), []), port)
    job.tuples.produce(150)
    (folder / "plan-1.json").write_text(graph_of(workload, RECORDED, "flat"))
    job.start("run-1", "plan-1")
    job.wait_for_tuples()
    job.deploy(PLAN, graph_of(workload, RECORDED, "left-deep"))
    job.tuples.produce(150)
    job.wait_for_tuples()
    assert job.process is not None
    job.process.send_signal(signal.SIGKILL)
    job.process.wait()
    job.tuples.produce(50)
    (folder / "tuples.json").write_text(json.dumps(job.tuples.entries))


def _pack(folder: Path, target: Path) -> None:
    """Write what the topology left; the same bytes for the same files."""
    target.parent.mkdir(exist_ok=True)
    with (
        target.open("wb") as raw,
        gzip.GzipFile("", "wb", mtime=0, fileobj=raw) as packed,
        tarfile.open(fileobj=packed, mode="w") as archive,
    ):
        for name in ("checkpoint", "out", f"{PLAN}.json", "tuples.json"):
            one = folder / name
            for path in sorted(one.rglob("*")) if one.is_dir() else [one]:
                if path.is_file():
                    content = path.read_bytes()
                    entry = tarfile.TarInfo(str(path.relative_to(folder)))
                    entry.size = len(content)
                    archive.addfile(entry, io.BytesIO(content))


if __name__ == "__main__":
    main()

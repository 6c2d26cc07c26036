"""Export the demo's streams: `python -m backend.demo.export DIR [--days N]`.

Writes DIR/STREAM/part-0.parquet, so that `python -m jobs replay backend/demo --data DIR` answers
the demo's queries over recorded data.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from backend.demo import flights


def export(folder: Path, days: int | None) -> dict[str, int]:
    """Writes every stream's tuples of the first `days` days (None: of the whole year).

    Returns the number of tuples by stream.
    """
    counts = {}
    for stream in flights.STREAMS:
        tuples = flights.table(stream)
        if days is not None:
            end = pa.scalar(flights.START.to_pydatetime(), tuples["at"].type)
            end = pc.add(end, pa.scalar(days * 86_400_000_000, pa.duration("us")))
            tuples = tuples.filter(pc.less(tuples["at"], end))
        (folder / stream).mkdir(parents=True, exist_ok=True)
        pq.write_table(tuples, folder / stream / "part-0.parquet")
        counts[stream] = tuples.num_rows
    return counts


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m backend.demo.export", description=__doc__)
    parser.add_argument("folder", type=Path, metavar="DIR")
    parser.add_argument("--days", type=int, help="only the first N days of 2013 (default: all)")
    arguments = parser.parse_args()
    if arguments.days is not None and arguments.days < 1:
        parser.error(f"--days: found {arguments.days}, expected at least 1")
    for stream, count in export(arguments.folder, arguments.days).items():
        sys.stdout.write(f"{stream}: {count} tuples\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())

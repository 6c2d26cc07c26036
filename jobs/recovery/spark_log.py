"""Repair those of Spark's logs in a checkpoint that a loss of power has damaged.

`spark/offsets/N` says where batch N ends, `spark/commits/N` that Spark is done with it. Spark renames
these files into place without flushing them, so after a loss of power the newest may be empty or cut
short, and Spark then refuses to start. Both can do without them: of a batch that is
committed the manifest knows the end (see `sources.datasource`), and one that is not has left nothing
behind and is planned anew.
"""

from __future__ import annotations

import json
from pathlib import Path


def mend(spark: Path, last: int) -> tuple[Path, ...]:
    """Delete entries that cannot be read, and all that follow them.

    Files that never got their names go too. Returns the entries that were deleted.

    Arguments: the folder with Spark's logs, which need not be there; the last committed batch, or -1.
    Entries of batches before it are left alone: Spark does not read them.
    """
    for path in spark.glob("*/.*.tmp*"):
        path.unlink()
    numbers = {
        int(path.name)
        for log in ("offsets", "commits")
        for path in spark.glob(f"{log}/*")
        if path.name.isdigit()
    }
    damaged = [
        number
        for number in sorted(numbers)
        if number >= last - 1
        and any(
            (spark / log / str(number)).exists() and not _whole(spark / log / str(number))
            for log in ("offsets", "commits")
        )
    ]
    gone = []
    for number in sorted(n for n in numbers if damaged and n >= damaged[0]):
        for log in ("commits", "offsets"):
            for name in (str(number), f".{number}.crc"):
                path = spark / log / name
                if path.exists():
                    path.unlink()
                    gone.append(path)
    return tuple(gone)


def _whole(path: Path) -> bool:
    """A version line, then lines of JSON."""
    version, _, rest = path.read_bytes().partition(b"\n")
    if not version.startswith(b"v") or not rest:
        return False
    try:
        for line in rest.splitlines():
            if line != b"-":
                json.loads(line)
    except ValueError:
        return False
    return True

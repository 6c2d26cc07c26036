"""The data of the 3-way linear join: R(b), S(b, c), T(c), evenly in event time.

Each stream has 5,000 tuples per second of event time. Keys are uniform over as many values as a
60 s window has tuples, so a tuple meets about one tuple of a neighbour per window. The seed is
fixed; the same scale always gives the same files.
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

RATE = 5_000
"""Tuples per second of event time and stream."""
WINDOW_S = 60
KEYS = RATE * WINDOW_S
ROWS = 1_000_000
"""Per stream at scale 1."""
FILES = 20
"""Per stream."""
BATCHES = 10
"""Into how many batches the data is cut by whoever reads it; FILES is a multiple."""
START_US = int(datetime(2024, 1, 1, tzinfo=UTC).timestamp()) * 1_000_000
STREAMS = {"r": ("b",), "s": ("b", "c"), "t": ("c",)}

_STREAMS_YAML = """\
streams:
""" + "".join(
    f"  {name}:\n    event_time: ts\n    rate: {RATE}\n    columns: "
    f"{{ts: timestamp, id: bigint, {', '.join(f'{key}: bigint' for key in keys)}}}\n"
    for name, keys in STREAMS.items()
) + f"""\
selectivities:
  - {{predicate: "r.b = s.b", value: {1 / KEYS!r}}}
  - {{predicate: "s.c = t.c", value: {1 / KEYS!r}}}
"""
_QUERY = f"""\
SELECT r.id AS r_id, s.id AS s_id, t.id AS t_id
FROM r [RANGE {WINDOW_S} SECONDS], s [RANGE {WINDOW_S} SECONDS], t [RANGE {WINDOW_S} SECONDS]
WHERE r.b = s.b AND s.c = t.c
"""


def rows_per_stream(scale: float) -> int:
    """A multiple of FILES near ROWS * scale."""
    return max(FILES, round(ROWS * scale / FILES) * FILES)


def write(folder: Path, scale: float) -> None:
    """Writes FOLDER/workload and FOLDER/data/STREAM/*.parquet."""
    workload = folder / "workload"
    (workload / "queries").mkdir(parents=True)
    (workload / "streams.yaml").write_text(_STREAMS_YAML)
    (workload / "queries" / "linear3.sql").write_text(_QUERY)
    rows = rows_per_stream(scale)
    random = np.random.default_rng(20240101)
    for name, keys in STREAMS.items():
        columns = {
            "ts": pa.array(START_US + np.arange(rows, dtype=np.int64) * (1_000_000 // RATE)).cast(
                pa.timestamp("us", "UTC")
            ),
            "id": pa.array(np.arange(rows, dtype=np.int64)),
            **{key: pa.array(random.integers(0, KEYS, rows, dtype=np.int64)) for key in keys},
        }
        table = pa.table(columns)
        target = folder / "data" / name
        target.mkdir(parents=True)
        size = rows // FILES
        for number in range(FILES):
            pq.write_table(table.slice(number * size, size), target / f"part-{number:03d}.parquet")

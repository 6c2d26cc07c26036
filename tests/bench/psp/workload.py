"""Two streams of images that are joined by how alike they are, as in section 8 of the paper on PSP.

Each tuple is an image of raw bytes, and the join's only predicate is the distance of two images, which has
to be computed for every pair within the window. Most images are noise; a few are copies of one of `_MOTIFS`
with a little noise, so that some pairs are alike. Plans differ only in how the two stores are laid out.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from optimizer.logical.window import Sliding
from optimizer.partitioning.matrix import with_groups
from optimizer.partitioning.slicing import busiest_share, slice_all
from optimizer.physical.graph import PhysicalGraph, Slices
from optimizer.physical.validate import validate
from optimizer.planner.plan import plan
from optimizer.search.problem import Options
from optimizer.udf.duckdb import register
from optimizer.workload import functions_file, load_workload

START_US = int(datetime(2024, 1, 1, tzinfo=UTC).timestamp()) * 1_000_000
PIXELS = 2_000
WINDOW_S = 8
ALIKE = 0.1
_MOTIFS = 20
_FUNCTIONS = """functions:
  image_distance:
    call: optimizer.udf.library.images:image_distance
    arguments: [binary, binary]
    returns: double
    cost_us: 5
    symmetric: true
"""


@dataclass(frozen=True, slots=True)
class Rates:
    """Tuples per second of each stream, by second of event time."""

    spans: tuple[tuple[int, int], ...]
    """(seconds, tuples per second), one after the other."""

    @property
    def seconds(self) -> int:
        return sum(seconds for seconds, _ in self.spans)

    @property
    def rows(self) -> int:
        """Of each stream."""
        return sum(seconds * rate for seconds, rate in self.spans)

    def times_us(self) -> pa.Array:
        ends = np.cumsum([0, *(seconds for seconds, _ in self.spans)])
        parts = [
            np.linspace(begin, end, (end - begin) * rate, endpoint=False)
            for (begin, end), (_, rate) in zip(pairwise(ends.tolist()), self.spans, strict=True)
        ]
        moments = START_US + (np.concatenate(parts) * 1_000_000).astype(np.int64)
        return pa.array(moments).cast(pa.timestamp("us", "UTC"))


def write(folder: Path, rates: Rates) -> None:
    """Writes FOLDER/workload and FOLDER/data/STREAM/0.parquet."""
    workload = folder / "workload"
    (workload / "queries").mkdir(parents=True)
    columns = "{at: timestamp, id: bigint, image: binary}"
    first = rates.spans[0][1]
    (workload / "streams.yaml").write_text(
        "streams:\n"
        + "".join(f"  {n}: {{event_time: at, rate: {first}, columns: {columns}}}\n" for n in "rs")
    )
    (workload / "functions.yaml").write_text(_FUNCTIONS)
    (workload / "queries" / "alike.sql").write_text(
        f"SELECT r.id AS r_id, s.id AS s_id FROM r [RANGE {WINDOW_S} SECONDS], s [RANGE {WINDOW_S} SECONDS] "
        f"WHERE image_distance(r.image, s.image) < {ALIKE}\n"
    )
    random = np.random.default_rng(2009)
    motifs = random.integers(0, 256, (_MOTIFS, PIXELS), dtype=np.int16)
    for name in "rs":
        rows = rates.rows
        images = random.integers(0, 256, (rows, PIXELS), dtype=np.int16)
        taken = random.random(rows) < 0.5
        copies = motifs[random.integers(0, _MOTIFS, rows)] + random.integers(-8, 9, (rows, PIXELS))
        pixels = np.where(taken[:, None], np.clip(copies, 0, 255), images).astype(np.uint8)
        table = pa.table(
            {
                "at": rates.times_us(),
                "id": pa.array(np.arange(rows, dtype=np.int64)),
                "image": pa.array([row.tobytes() for row in pixels], pa.binary()),
            }
        )
        (folder / "data" / name).mkdir(parents=True)
        pq.write_table(table, folder / "data" / name / "0.parquet")


def count_with_duckdb(folder: Path) -> int:
    """How many results there are."""
    loaded = load_workload(folder / "workload")
    assert functions_file(folder / "workload") is not None
    close = " AND ".join(
        f"epoch_us({a}.at) - epoch_us({b}.at) <= {WINDOW_S * 1_000_000}" for a, b in (("r", "s"), ("s", "r"))
    )
    tables = ", ".join(f"read_parquet('{folder / 'data' / name}/*.parquet') AS {name}" for name in "rs")
    with duckdb.connect() as connection:
        connection.execute("SET enable_progress_bar = false")
        register(connection, loaded.catalog.functions)
        # Without the first step DuckDB compares the images of pairs that are far apart, too.
        row = connection.execute(
            f"WITH within AS MATERIALIZED (SELECT r.id AS r_id, s.id AS s_id FROM {tables} WHERE {close}) "
            f"SELECT count(*) FROM within, {tables} WHERE r.id = r_id AND s.id = s_id "
            f"AND image_distance(r.image, s.image) < {ALIKE}"
        ).fetchone()
    assert row is not None
    return int(row[0])


@dataclass(frozen=True, slots=True)
class Way:
    """How both stores are laid out."""

    name: str
    slices: Slices | None = None
    replicated: bool = False
    """Every task holds everything, and a probe asks one of them: ATR, the paper's comparison."""
    tasks: int = 1

    def share(self, batch_s: float) -> float:
        """What the optimizer expects: the busiest task's part of the pairs that a batch forms."""
        if self.slices is None:
            return 1.0 / self.tasks
        width_s = self.slices.width_us(Sliding(WINDOW_S * 1_000_000)) / 1e6
        return busiest_share(width_s, WINDOW_S, batch_s, self.tasks)

    def graph(self, workload: Path) -> PhysicalGraph:
        loaded = load_workload(workload)
        options = Options(grids="off")
        made = plan(loaded.queries, loaded.catalog, method="flat", options=options, tasks=self.tasks).graph
        if self.replicated:
            made = with_groups(made, {store.id: (self.tasks,) for store in made.stores})
        if self.slices is not None:
            made = slice_all(made, self.slices)
        validate(made)
        return made

"""The two experiments of the dissertation's section 7.3.2, at the scale of one small machine.

Both ask the same four-way linear join, R.a = S.a and S.b = T.b and T.c = U.c, of streams that run
evenly in event time, and change their data once, after `jump_s` seconds:

- `jump`: all streams are equally fast and each tuple finds about one partner per neighbour. Then every
  tuple of S finds a hundred partners in R and none in T, and every tuple of T a hundred in U and
  none in S. Orders that visit R from S, or U from T, first are ruined.
- `skew`: R is several times as fast as the others, and S, T and U find several partners among each
  other, too many to keep. Then S and T stop finding each other: the result of S, T and U becomes
  so small that keeping it saves R's tuples all steps but one.

An epoch is one second of event time in two batches. Keys are drawn with a fixed seed.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

Name = Literal["jump", "skew"]
START_US = int(datetime(2024, 1, 1, tzinfo=UTC).timestamp()) * 1_000_000
EPOCH_S = 1
EPOCH_BATCHES = 2
TASKS = 2
"""Declared, so that only orders and intermediate results change and not the number of tasks."""
_COLUMNS = {"r": ("a",), "s": ("a", "b"), "t": ("b", "c"), "u": ("c",)}


@dataclass(frozen=True, slots=True)
class Scenario:
    name: Name
    rates: dict[str, int]
    """Tuples per second by stream."""
    window_s: int
    jump_s: int
    """When the data changes, seconds after the start; a whole number of epochs."""
    seconds: int
    """Length of the data."""
    before: dict[str, float]
    """Partners per window that one tuple of the left stream finds in the right one, by key."""
    after: dict[str, float]
    """The same after the jump; 0 is none."""

    @property
    def jump_epoch(self) -> int:
        """The first epoch with changed data."""
        return self.jump_s // EPOCH_S

    @property
    def batch_rows(self) -> int:
        return sum(self.rates.values()) * EPOCH_S // EPOCH_BATCHES

    @property
    def recovered_epoch(self) -> int:
        """Two epochs after the jump the plan changes, one window later nothing old is left."""
        return self.jump_epoch + 2 + -(-self.window_s // EPOCH_S)

    def write(self, folder: Path) -> None:
        """Writes FOLDER/workload and FOLDER/data/STREAM/0.parquet."""
        workload = folder / "workload"
        (workload / "queries").mkdir(parents=True)
        (workload / "streams.yaml").write_text(self._declarations())
        inputs = ", ".join(f"{name} [RANGE {self.window_s} SECONDS]" for name in _COLUMNS)
        query = f"SELECT r.id AS r_id, s.id AS s_id, t.id AS t_id, u.id AS u_id FROM {inputs}\n"
        where = "WHERE r.a = s.a AND s.b = t.b AND t.c = u.c\n"
        (workload / "queries" / "linear4.sql").write_text(query + where)
        random = np.random.default_rng(20240101)
        for name in _COLUMNS:
            (folder / "data" / name).mkdir(parents=True)
            pq.write_table(self._tuples(name, random), folder / "data" / name / "0.parquet")

    def _declarations(self) -> str:
        lines = ["streams:"]
        for name, keys in _COLUMNS.items():
            columns = ", ".join(f"{key}: bigint" for key in keys)
            lines.append(
                f"  {name}: {{event_time: ts, rate: {self.rates[name]}, parallelism: {TASKS}, "
                f"columns: {{ts: timestamp, id: bigint, {columns}}}}}"
            )
        lines.append("selectivities:")
        for key, (left, right) in _SIDES.items():
            # A little higher for S and T, so that S begins with R and T with U.
            value = (1.5 if key == "b" and self.name == "jump" else 1.0) / self._domain(key, self.before)
            lines.append(f'  - {{predicate: "{left}.{key} = {right}.{key}", value: {value!r}}}')
        return "\n".join([*lines, ""])

    def _domain(self, key: str, partners: dict[str, float]) -> int:
        """So many values that one tuple finds that many partners in a window of the right stream."""
        return max(1, round(self.rates[_SIDES[key][1]] * self.window_s / partners[key]))

    def _tuples(self, name: str, random: np.random.Generator) -> pa.Table:
        rows = self.rates[name] * self.seconds
        times = START_US + np.arange(rows, dtype=np.int64) * 1_000_000 // self.rates[name]
        changed = times >= START_US + self.jump_s * 1_000_000
        columns = {
            "ts": pa.array(times).cast(pa.timestamp("us", "UTC")),
            "id": pa.array(np.arange(rows, dtype=np.int64)),
        }
        for key in _COLUMNS[name]:
            early = random.integers(0, self._domain(key, self.before), rows)
            columns[key] = pa.array(np.where(changed, self._late_keys(key, name, rows, random), early))
        return pa.table(columns)

    def _late_keys(
        self, key: str, name: str, rows: int, random: np.random.Generator
    ) -> npt.NDArray[np.int64]:
        if self.after[key] > 0:
            return random.integers(0, self._domain(key, self.after), rows)
        # Even values on one side and odd ones on the other never meet.
        domain = self._domain(key, self.before)
        return 2 * random.integers(0, domain, rows) + (name == _SIDES[key][1])


_SIDES = {"a": ("r", "s"), "b": ("s", "t"), "c": ("t", "u")}


def scenario(name: Name, scale: float = 1.0) -> Scenario:
    """An experiment; at scale 1 with the windows and moments of the dissertation.

    Args:
        scale: below 1 shortens windows and data to 2 s and 10 s and divides the rates, for tests.
    """
    short = scale < 1
    window_s, jump_s, seconds = (2, 4, 10) if short else (5, 15, 30)
    if name == "jump":
        rates = dict.fromkeys("rstu", round(400 * scale))
        before, after = {"a": 1.0, "b": 1.0, "c": 1.0}, {"a": 100.0, "b": 0.0, "c": 100.0}
        return Scenario(name, rates, window_s, jump_s, seconds, before, after)
    slow = round(80 * scale)
    rates = {"r": round(7.5 * slow), "s": slow, "t": slow, "u": slow}
    return Scenario(
        name, rates, window_s, jump_s, seconds, {"a": 0.5, "b": 3.0, "c": 3.0}, {"a": 0.5, "b": 0.0, "c": 3.0}
    )

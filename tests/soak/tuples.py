"""The tuples of the soak: three streams with ties, duplicates, NULLs, disorder, late tuples and garbage.

Keys are drawn from as many values as `KEY_SECONDS` of a stream's tuples, so that a tuple meets about as
many partners at every rate.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

LATENESS_MS = 2000
KEY_SECONDS = 20.0
VALUES = 1000
"""`v` is one of so many."""
STREAMS: Mapping[str, tuple[tuple[str, str], ...]] = {
    "r": (("ts", "timestamp"), ("id", "bigint"), ("a", "bigint"), ("v", "bigint")),
    "s": (("ts", "timestamp"), ("id", "bigint"), ("a", "bigint"), ("b", "bigint"), ("v", "bigint")),
    "t": (("ts", "timestamp"), ("id", "bigint"), ("b", "bigint"), ("v", "bigint")),
}
ARROW_STREAM = "t"
"""Its entries are Arrow tables of several tuples; those of the others are one JSON object each."""
_DUPLICATES, _NULL_KEYS, _LATE, _NULL_TIMES = 0.005, 0.01, 0.003, 0.0002
_LATEST_S = 30.0
"""By how much more than allowed a late tuple is late, at most."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """Tuples of one stream in the order in which they are sent. Columns are aligned."""

    ids: npt.NDArray[np.int64]
    columns: Mapping[str, npt.NDArray[np.int64]]
    """Event time in microseconds since 1970, keys and `v`."""
    nulls: Mapping[str, npt.NDArray[np.bool_]]

    def __len__(self) -> int:
        return len(self.ids)

    def table(self) -> pa.Table:
        """As the stream's types say."""
        arrays: dict[str, pa.Array] = {"id": pa.array(self.ids)}
        for name, values in self.columns.items():
            array = pa.array(values, mask=self.nulls.get(name))
            arrays[name] = array.cast(pa.timestamp("us", "UTC")) if name == "ts" else array
        return pa.table(arrays)

    def texts(self) -> list[str]:
        """One JSON object per tuple."""
        columns = {"id": list(map(str, self.ids.tolist()))}
        for name, values in self.columns.items():
            if name == "ts":
                moments = np.datetime_as_string(values.astype("datetime64[us]"))
                told = [f'"{moment}Z"' for moment in moments.tolist()]
            else:
                told = list(map(str, values.tolist()))
            missing = self.nulls.get(name)
            if missing is not None:
                for position in np.flatnonzero(missing).tolist():
                    told[position] = "null"
            columns[name] = told
        form = ",".join(f'"{name}":%s' for name in columns)
        return [f"{{{form}}}" % row for row in zip(*columns.values(), strict=True)]


class Drawing:
    """Draws tuples of one stream; the same seed and the same calls give the same."""

    def __init__(self, stream: str, seed: int) -> None:
        self._names = tuple(name for name, _ in STREAMS[stream] if name not in ("ts", "id"))
        self._chance = np.random.default_rng([seed, sum(stream.encode())])
        self._next = 0

    def draw(self, many: int, began_us: int, ended_us: int, per_second: float) -> Drawn:
        """`many` tuples that happened evenly between two moments, some of them sent twice.

        Args:
            many: without the duplicates.
            began_us, ended_us: microseconds since 1970.
            per_second: of the stream, from which the number of keys follows.
        """
        chance = self._chance
        times = np.linspace(began_us, ended_us, many, endpoint=False, dtype=np.int64)
        times -= (chance.random(many) * LATENESS_MS * 1000).astype(np.int64)
        # Coarse moments: several tuples share one.
        times = times // 10_000 * 10_000
        late = chance.random(many) < _LATE
        times[late] -= int(LATENESS_MS * 1000) + (chance.random(int(late.sum())) * _LATEST_S * 1e6).astype(
            np.int64
        )
        keys = max(20, int(per_second * KEY_SECONDS))
        columns, nulls = {"ts": times}, {"ts": chance.random(many) < _NULL_TIMES}
        for name in self._names:
            columns[name] = chance.integers(0, VALUES if name == "v" else keys, many, np.int64)
            nulls[name] = chance.random(many) < _NULL_KEYS
        ids = np.arange(self._next, self._next + many, dtype=np.int64)
        self._next += many
        order = np.sort(np.concatenate([np.arange(many), np.flatnonzero(chance.random(many) < _DUPLICATES)]))
        return Drawn(
            ids[order],
            {name: values[order] for name, values in columns.items()},
            {name: missing[order] for name, missing in nulls.items()},
        )

"""Random workloads: rates, widths, windows, selectivities, overlaps, skew and batch sizes from a seed."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from jobs.sources.files.stream_files import FileRange

STREAMS = 6
KEYS = 3
MEASURED_BATCHES = 10
_START_US = int(datetime(2024, 1, 1, tzinfo=UTC).timestamp()) * 1_000_000


@dataclass(frozen=True, slots=True)
class Drawn:
    """One workload."""

    seed: int
    rates: Mapping[str, float]
    """Tuples per second by stream."""
    text_bytes: Mapping[str, int]
    """Length of each stream's text column; 0 for streams without one."""
    domains: Sequence[int]
    """Values of each key."""
    skewed: Sequence[bool]
    """Whether a key's values are Zipf's."""
    queries: Mapping[str, str]
    declared: Mapping[str, float]
    """Selectivities that streams.yaml states; of half of the filters nothing is said."""
    batch_s: float
    window_s: float
    """The longest."""

    @property
    def warm_batches(self) -> int:
        """Batches until the stores are full, which are not measured."""
        return int(np.ceil(self.window_s / self.batch_s)) + 1

    def describe(self) -> str:
        rates = sum(self.rates.values())
        return f"{len(self.queries)} queries, {rates:,.0f} tuples/s, batches of {self.batch_s:g} s"


def draw(seed: int) -> Drawn:
    """A workload."""
    chance = random.Random(f"regret {seed}")
    names = [f"s{number}" for number in range(STREAMS)]
    rates = {name: float(round(200 * 20 ** chance.random())) for name in names}
    text_bytes = {name: chance.choice((0, 0, 12, 40, 120)) for name in names}
    skewed = [chance.random() < 0.3 for _ in range(KEYS)]
    # A tuple meets between a fiftieth of a tuple and one in the longest window of the fastest stream.
    content = max(rates.values()) * 10
    domains = [max(20, round(content / chance.choice((0.02, 0.05, 0.2, 0.5, 1)))) for _ in range(KEYS)]
    key_of = {(a, b): chance.randrange(KEYS) for i, a in enumerate(names) for b in names[i + 1 :]}
    declared = {}
    for (a, b), key in key_of.items():
        declared[f"{a}.k{key} = {b}.k{key}"] = collision(domains[key], skewed[key])
    windows = [chance.randint(2, 10) for _ in range(chance.choice((1, 1, 2, 3)))]
    thresholds = [chance.choice((0.02, 0.05, 0.2, 0.5, 0.9)) for _ in range(3)]
    filters_at = chance.choice((0.0, 0.2, 0.5))
    popular = chance.choice((2, 4, STREAMS))
    queries = {}
    for number in range(chance.randint(4, 12)):
        streams = [chance.choice(names[:popular])]
        wanted = chance.choice((2, 3, 3, 4))
        while len(streams) < wanted:
            streams.append(chance.choice([name for name in names if name not in streams]))
        chosen = [(name, chance.choice(windows)) for name in streams]
        read = ", ".join(f"{name} [RANGE {seconds} SECONDS]" for name, seconds in chosen)
        conditions = []
        for place, name in enumerate(streams[1:], start=1):
            a, b = sorted((chance.choice(streams[:place]), name))
            key = key_of[a, b]
            conditions.append(f"{a}.k{key} = {b}.k{key}")
        for name in streams:
            if chance.random() < filters_at:
                share = chance.choice(thresholds)
                condition = f"{name}.v < {share:g}"
                conditions.append(condition)
                if chance.random() < 0.5:
                    declared[condition] = share
        outputs = [f"{name}.id AS {name}_id" for name in streams]
        texts = [name for name in streams if text_bytes[name]]
        outputs += [f"{name}.text AS {name}_text" for name in texts if chance.random() < 0.5]
        queries[f"q{number:02d}"] = (
            f"SELECT {', '.join(outputs)}\nFROM {read}\nWHERE {' AND '.join(conditions)}"
        )
    return Drawn(
        seed, rates, text_bytes, domains, skewed, queries, declared,
        batch_s=chance.choice((0.5, 1.0, 2.0, 5.0)), window_s=max(windows),
    )  # fmt: skip


def collision(domain: int, skewed: bool) -> float:
    """The probability that two tuples have the same key."""
    return float(np.sum(_shares(domain, skewed) ** 2))


def write(drawn: Drawn, folder: Path) -> None:
    """Write FOLDER/streams.yaml and FOLDER/queries/*.sql."""
    (folder / "queries").mkdir(parents=True)
    lines = ["streams:"]
    for name, rate in drawn.rates.items():
        text = ", text: string" if drawn.text_bytes[name] else ""
        keys = ", ".join(f"k{key}: bigint" for key in range(KEYS))
        lines += [f"  {name}:", "    event_time: at", f"    rate: {rate!r}"]
        lines.append(f"    columns: {{at: timestamp, id: bigint, {keys}, v: double{text}}}")
    lines.append("selectivities:")
    lines += [f'  - {{predicate: "{one}", value: {value!r}}}' for one, value in drawn.declared.items()]
    (folder / "streams.yaml").write_text("\n".join([*lines, ""]))
    for name, sql in drawn.queries.items():
        (folder / "queries" / f"{name}.sql").write_text(sql + "\n")


def write_data(drawn: Drawn, folder: Path) -> list[list[FileRange]]:
    """Write FOLDER/STREAM/*.parquet, a file per batch; gives each batch's files."""
    numbers = np.random.default_rng(drawn.seed)
    batches: list[list[FileRange]] = []
    for batch in range(drawn.warm_batches + MEASURED_BATCHES):
        ranges = []
        for name, rate in drawn.rates.items():
            rows = max(1, round(rate * drawn.batch_s))
            path = folder / name / f"{batch:04d}.parquet"
            path.parent.mkdir(parents=True, exist_ok=True)
            pq.write_table(_table(drawn, numbers, name, batch, rows), path)
            ranges.append(FileRange(name, str(path), 0, rows))
        batches.append(ranges)
    return batches


def _table(drawn: Drawn, numbers: np.random.Generator, name: str, batch: int, rows: int) -> pa.Table:
    span_us = int(drawn.batch_s * 1_000_000)
    times = _START_US + batch * span_us + np.sort(numbers.integers(0, span_us, rows))
    columns = {
        "at": pa.array(times).cast(pa.timestamp("us", "UTC")),
        "id": pa.array(batch * 10_000_000 + np.arange(rows)),
    }
    for key, (domain, skewed) in enumerate(zip(drawn.domains, drawn.skewed, strict=True)):
        columns[f"k{key}"] = pa.array(numbers.choice(domain, rows, p=_shares(domain, skewed)))
    columns["v"] = pa.array(numbers.random(rows))
    length = drawn.text_bytes[name]
    if length:
        texts = [f"{value:x}".rjust(length, "x") for value in numbers.integers(0, 1 << 40, rows)]
        columns["text"] = pa.array(texts)
    return pa.table(columns)


def _shares(domain: int, skewed: bool) -> np.ndarray:
    weights = 1 / np.arange(1, domain + 1) ** (0.6 if skewed else 0.0)
    return weights / weights.sum()

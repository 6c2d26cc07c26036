"""One shape of join through Millrace, Spark's own joins and Flink SQL, and without streaming."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from jobs.spark.session import processors
from tests.bench.flink.environment import flink_version, run_job
from tests.bench.joins import data, flink
from tests.bench.joins.reference import count_with_duckdb
from tests.bench.joins.replays import Replays
from tests.bench.joins.replays import command as replay_command
from tests.bench.joins.shapes import Shape
from tests.bench.measurement import Measured, Report, describe_machine
from tests.bench.subjects import Subject, WrongAnswer, measure_in_turns, python

SPARK_BATCHES = 5
"""Into how many batches the beginning of the streams is cut for Spark's own joins."""
_LABELS: dict[flink.Operator, str] = {
    "interval": "Flink SQL, interval joins",
    "multi": "Flink SQL, multi-way join",
}


def run(shape: Shape, scratch: Path, scale: float, repeat: int, command: str) -> Report:
    """Runs every subject `repeat` times, each in a process of its own.

    Args:
        shape: what is joined.
        scratch: an empty folder for data, state and results.
        scale: of the number of tuples.
        repeat: runs of each subject; the medians count.
        command: what the person typed, for the report.
    """
    data.write_workload(scratch / "workload", shape)
    whole = _Part(shape, scratch, scale, "data", data.FILES)
    subjects = [
        *(_millrace(whole, scratch / "workload", batches) for batches in shape.batches),
        _spark(_Part(shape, scratch, scale, "spark", _share(shape, shape.spark_tuples))),
        *_flink(_Part(shape, scratch, scale, "flink", _share(shape, shape.flink_tuples))),
        Subject(
            "Polars, no streaming",
            f"python -m tests.bench.joins.reference {shape.name} polars DATA",
            lambda _: _polars(whole),
            whole.expected,
        ),
    ]
    measured = measure_in_turns(shape.name, subjects, scratch, repeat)
    machine = describe_machine() | {"flink": flink_version()}
    return Report(shape.name, scale, command, measured, _notes(shape, whole, measured), machine)


class _Part:
    """The streams, or their beginning, and how many results they have."""

    def __init__(self, shape: Shape, scratch: Path, scale: float, name: str, files: int) -> None:
        self.shape, self.scratch, self.files = shape, scratch, files
        self.folder = scratch / name
        if files == data.FILES and name == "data":
            data.write(self.folder, shape, scale)
        else:
            data.beginning(scratch / "data", self.folder, files)
        self.tuples = data.rows_per_stream(shape, scale) * len(shape.streams) * files // data.FILES
        self.expected = count_with_duckdb(shape, self.folder)


def _share(shape: Shape, tuples: int) -> int:
    """In files of each stream."""
    return max(1, round(data.FILES * tuples / shape.tuples))


def _millrace(part: _Part, workload: Path, batches: int) -> Subject:
    rows = -(-part.tuples // batches)
    return Subject(
        f"Millrace, {batches} batches",
        replay_command(rows),
        Replays(workload, part.folder, rows),
        part.expected,
    )


def _spark(part: _Part) -> Subject:
    each = max(1, round(part.files / SPARK_BATCHES))
    words = ["-m", "tests.bench.joins.native", part.shape.name]
    options = ["--files-per-batch", str(each)]
    return Subject(
        "Spark's chained joins",
        f"python {' '.join(words)} DATA OUT {' '.join(options)}",
        lambda out: python([*words, str(part.folder), str(out), *options]),
        part.expected,
    )


def _flink(part: _Part) -> Iterable[Subject]:
    files = data.write_csv(part.folder, part.scratch / "csv", processors())
    for operator, label in _LABELS.items():
        if operator == "multi" and not part.shape.common_key:
            # It would become a chain of binary operators that free nothing.
            continue
        yield Subject(
            label,
            f"python -m tests.bench.joins.flink {part.shape.name} {operator} DATA --tuples {part.tuples}",
            _FlinkRuns(part, files, operator),
            part.expected,
        )


class _FlinkRuns:
    """Timed runs throw results away; before the first of them, one run counts."""

    def __init__(self, part: _Part, files: Path, operator: flink.Operator) -> None:
        self._part, self._files, self._operator = part, files, operator
        self._counted = False

    def __call__(self, out: Path) -> Mapping[str, float]:
        if not self._counted:
            found = self._run(out)["results"]
            if found != self._part.expected:
                raise WrongAnswer(f"{found} results, DuckDB has {self._part.expected}")
            self._counted = True
        said = self._run(None)
        operators = {"interval": "IntervalJoin", "multi": "MultiJoin"}
        if set(said["joins"]) != {operators[self._operator]}:
            raise RuntimeError(f"planned as {', '.join(said['joins'])}")
        figures = {
            "seconds": said["seconds"],
            "tuples_per_second": self._part.tuples / said["seconds"],
            "results": self._part.expected,
        }
        if "steady_seconds" in said:
            figures["steady_tuples_per_second"] = said["steady_tuples"] / said["steady_seconds"]
        return figures

    def _run(self, results: Path | None) -> dict:
        shape, tuples = self._part.shape, self._part.tuples
        made = flink.job(shape, self._operator, self._files, tuples, results)
        return run_job(made, processors(), flink.LIMIT_S)


def _polars(part: _Part) -> dict[str, float]:
    figures = python(["-m", "tests.bench.joins.reference", part.shape.name, "polars", str(part.folder)])
    return figures | {"tuples_per_second": part.tuples / figures["seconds"]}


def _notes(shape: Shape, whole: _Part, measured: Iterable[Measured]) -> tuple[str, ...]:
    by_name = {m.subject: m.speed for m in measured if m.speed}
    ours = [speed for name, speed in by_name.items() if name.startswith("Millrace")]
    peers = {name: speed for name, speed in by_name.items() if not name.startswith("Millrace")}
    ratios = [f"{max(ours) / speed:.2g} times {name}" for name, speed in peers.items()] if ours else []
    spark, flinks = (part / shape.tuples for part in (shape.spark_tuples, shape.flink_tuples))
    return (
        f"{whole.tuples:,} tuples in {len(shape.streams)} streams, {shape.rate:,} tuples/s of event time "
        f"each, windows of {shape.window_s} s, `{' AND '.join(shape.conditions)}`: {whole.expected:,} "
        "results. Every subject has as many results as DuckDB over what it was given.",
        "Peers are given the beginning of the streams, as much as takes them tens of seconds: Spark's own "
        f"joins {spark:.0%}, Flink {flinks:.0%}. Their state is smaller at first, which is to their "
        "advantage. Flink reads CSV, throws its results away, and has a steady figure without the first "
        "fifth of its tuples; a further run that is not timed counts.",
        "Steady: without the first two batches, from the third one's start to the last one's commit.",
        "*All processes*: the largest sum of proportional set sizes of driver, Java, planners and workers, "
        "in a further run that is not timed; the target is three times the peak state and 1,000 MB.",
        *([f"Millrace's best against {'; '.join(ratios)}."] if ratios else []),
    )

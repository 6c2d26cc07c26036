"""Subjects of a benchmark, run in turns: whatever else the machine does meets all of them alike."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.bench.measurement import Measured
from tests.bench.processes import PeakMemory, run_to_end

LIMIT_S = 600.0
"""A subject that takes longer than that failed."""


class WrongAnswer(AssertionError):
    """A subject returned another number of results than DuckDB: its figures mean nothing."""


@dataclass(frozen=True, slots=True)
class Subject:
    """One engine in one configuration."""

    name: str
    command: str
    """What to type to do one run again."""
    measure: Callable[[Path], Mapping[str, float]]
    """One run with a folder of its own, which need not exist; the figures by name."""
    expected: int | None = None
    """Results that a run with a figure `results` must have."""


def measure_in_turns(
    benchmark: str, subjects: Sequence[Subject], scratch: Path, repeat: int
) -> tuple[Measured, ...]:
    """Runs every subject once, then every subject again, `repeat` times.

    A subject that fails is not run again; what it said is kept with its figures so far.

    Args:
        benchmark: its name, for the progress on stderr.
        subjects: with different names.
        scratch: where each run gets a folder.
        repeat: runs of each.
    """
    runs: dict[str, list[dict[str, float]]] = {subject.name: [] for subject in subjects}
    failures: dict[str, str] = {}
    for attempt in range(repeat):
        for number, subject in enumerate(subjects):
            if subject.name in failures:
                continue
            label = f"{benchmark}: {subject.name}, run {attempt + 1} of {repeat}"
            try:
                figures = dict(subject.measure(scratch / f"out-{number}-{attempt}"))
                _check(subject, figures)
            except (RuntimeError, OSError, subprocess.SubprocessError, WrongAnswer) as error:
                failures[subject.name] = f"{type(error).__name__}: {error}"[-2000:]
                sys.stderr.write(f"{label}: FAILED: {failures[subject.name]}\n")
                continue
            runs[subject.name].append(figures)
            sys.stderr.write(f"{label}: {_told(figures)}\n")
    return tuple(Measured(s.name, s.command, tuple(runs[s.name]), failures.get(s.name)) for s in subjects)


def python(
    words: Sequence[str], limit_s: float = LIMIT_S, memory: PeakMemory | None = None
) -> dict[str, float]:
    """The JSON object that `python WORDS` prints in its last line, or nothing if it prints none.

    `memory` watches it.

    Raises:
        RuntimeError: it failed, with the end of what it said.
        subprocess.TimeoutExpired: it took longer than `limit_s`.
    """
    done = run_to_end([sys.executable, *words], limit_s, memory=memory)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(words[:3])}: exit code {done.returncode}\n{done.stderr[-3000:]}")
    lines = done.stdout.strip().splitlines()
    return dict(json.loads(lines[-1])) if lines else {}


def _check(subject: Subject, figures: Mapping[str, float]) -> None:
    if subject.expected is not None and figures.get("results", subject.expected) != subject.expected:
        raise WrongAnswer(f"{figures['results']:.0f} results, DuckDB has {subject.expected}")


def _told(figures: Mapping[str, float]) -> str:
    speed = figures.get("steady_tuples_per_second") or figures.get("tuples_per_second")
    told = [] if speed is None else [f"{speed:,.0f} tuples/s"]
    told += [f"{figures['seconds']:.1f} s"] if "seconds" in figures else []
    return ", ".join(told or [", ".join(f"{name} {value:,.6g}" for name, value in figures.items())])

"""Many seeds, one after the other: progress; what failed, made small, and the command that repeats it."""

from __future__ import annotations

import gc
import sys
import time
from collections import Counter

from tests.oracle.small.case import Compared, Graphs, cases_of, judge, usable
from tests.oracle.small.shrinking import shrink

_SHRINKING_S = 60.0
_PROGRESS_S = 60.0


def campaign(seed: int, count: int, plain: bool = False, keep_going: bool = False) -> int:
    """Work through seeds, each of several workloads; returns an exit code.

    Args:
        seed: the first one.
        count: how many.
        plain: few functions and ordinary event times, so that joins are what is tested.
        keep_going: go on behind a failure; each kind of failure is made small once.
    """
    gc.set_threshold(100_000, 50, 100)  # Expressions and plans are trees, without circles.
    began = shown = time.monotonic()
    totals: Counter[str] = Counter()
    known: Counter[str] = Counter()
    plainly = " --plain" if plain else ""
    for number in range(seed, seed + count):
        graphs: Graphs = {}
        for case in cases_of(number, plain):
            if not usable(case):
                totals["refused"] += 1
                break
            found = judge(case, graphs)
            totals["workloads"] += 1
            if isinstance(found, Compared):
                totals["runs"] += found.runs
                totals["results"] += found.results
                totals["queries"] += len(case.workload.queries)
                continue
            if found.kind == "reference":
                # As for expressions: counted, for there is nothing to compare with.
                totals["unanswered"] += 1
                continue
            known[found.kind] += 1
            if known[found.kind] <= (3 if found.kind == "difference" else 1) or not keep_going:
                small, told = shrink(case, found, _SHRINKING_S)
                sys.stdout.write(
                    f"seed {number}: {told.told}\n{small.describe()}\n"
                    f"again: python -m tests.oracle --in-process{plainly} --seed {number}\n\n"
                )
                sys.stdout.flush()
            if not keep_going:
                return 1
        if time.monotonic() - shown > _PROGRESS_S:
            shown = time.monotonic()
            sys.stdout.write(f"{_told(totals, known, (seed, number), shown - began)}\n")
            sys.stdout.flush()
    sys.stdout.write(f"{_told(totals, known, (seed, seed + count - 1), time.monotonic() - began)}\n")
    return 1 if known else 0


def _told(totals: Counter[str], known: Counter[str], seeds: tuple[int, int], seconds: float) -> str:
    failed = ", ".join(f"{kind}: {count}" for kind, count in known.most_common()) or "no difference"
    return (
        f"seeds {seeds[0]} to {seeds[1]}: {totals['workloads']} workloads in {totals['runs']} runs, "
        f"{totals['queries']} queries, {totals['results']} results, {totals['refused']} refused, "
        f"{totals['unanswered']} that DuckDB fails at; {failed}; "
        f"{totals['workloads'] / max(seconds, 1e-9):.1f} workloads per second"
    )

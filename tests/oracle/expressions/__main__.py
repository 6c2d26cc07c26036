"""Compare random expressions with DuckDB: `python -m tests.oracle.expressions --seed 1 --count 1000000`.

A run ends with the seeds that it worked through, so that the next one begins behind them and counts add up.
"""

from __future__ import annotations

import argparse
import gc
import sys
from time import monotonic

from tests.oracle.expressions.check import Search


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.oracle.expressions", description=__doc__)
    parser.add_argument("--seed", type=int, default=1, help="of the first batch; each has the next one")
    parser.add_argument("--count", type=int, default=100_000, help="how many expressions")
    parser.add_argument("--size", type=int, default=400, help="how many expressions are evaluated together")
    parser.add_argument("--rows", type=int, default=30, help="over how many rows")
    parser.add_argument("--depth", type=int, default=4, help="calls within calls")
    parser.add_argument("--stop-after", type=int, default=20, help="how many differences are enough")
    options = parser.parse_args()
    # What is drawn and compiled is trees, without circles.
    gc.set_threshold(100_000, 50, 100)
    search = Search(options.seed, options.size, options.rows, options.depth)
    counts, began = search.counts, monotonic()
    said, told = began, 0
    while counts.expressions < options.count and len(counts.differences) < options.stop_after:
        for difference in search.batch():
            print(f"DIFFERENCE of seed {search.next_seed - 1}: {difference}\n", flush=True)
        for one in counts.contradictions[told:]:
            print(f"DuckDB contradicts itself, seed {search.next_seed - 1}: {one}\n", flush=True)
        told = len(counts.contradictions)
        if monotonic() - said > 10:
            said = monotonic()
            print(_told(search, options.seed, said - began), flush=True)
    print(_told(search, options.seed, monotonic() - began))
    return 1 if counts.differences else 0


def _told(search: Search, seed: int, seconds: float) -> str:
    counts = search.counts
    return (
        f"seeds {seed} to {search.next_seed - 1}: "
        f"{counts.expressions:,} expressions, {counts.values:,} values, {counts.by_text:,} read as text, "
        f"{counts.undecided:,} that DuckDB cannot evaluate, {len(counts.contradictions)} at which it "
        f"contradicts itself, {len(counts.differences)} differences, "
        f"{seconds:,.0f} s, {counts.expressions / seconds:,.0f}/s"
    )


if __name__ == "__main__":
    sys.exit(main())

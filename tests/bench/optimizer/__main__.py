"""`python -m tests.bench.optimizer --out DIR [--scale F]`: Figures 7.8a to 7.8f and the targets.

Writes optimizer.json, optimizer.md and six SVG plots. At scale 1 all rows are solved with
three seeds and up to 10 s each; smaller scales take fewer seeds and leave out the rows whose
target is above 2 s.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path

from tests.bench.measurement import describe_machine
from tests.bench.optimizer.measure import (
    FREE,
    PAID,
    ROWS,
    first_plans,
    heuristics,
    scaling,
    solve_literally,
    solve_row,
)
from tests.bench.optimizer.plots import draw
from tests.bench.optimizer.prices import price_table
from tests.bench.optimizer.section import section

LITERAL_ROWS = ("100 x 3, 100", "10 x 4, 100", "10 x 5, 100", "10 x 5, 10")
UNSEEN_ROWS = ("100 x 5, 100", "100 x 5, 10")
HEURISTIC_ROWS = ("100 x 3, 100", "30 x 5, 100", "30 x 5, 10")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.optimizer")
    parser.add_argument("--out", type=Path, required=True, help="the folder to write to")
    parser.add_argument("--scale", type=float, default=1.0, help="of seeds and rows (default: 1)")
    parser.add_argument("--time-limit", type=float, default=10.0, help="seconds per solve (default: 10)")
    parser.add_argument(
        "--unseen-seed", type=int, default=7919, help="of instances that nothing was tuned on (default: 7919)"
    )
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    limit: float = given.time_limit
    full = given.scale >= 1
    seeds = range(max(1, round(3 * given.scale)))
    rows = [row for row in ROWS if full or row.target_s <= 2.0]

    # Solver and libraries are loaded by the first solve, which would otherwise count.
    solve_row(ROWS[1], FREE, varied=False, seed=99, limit_s=limit)
    solved = []
    for row in rows:
        for copies in (FREE, PAID):
            for varied in (False, True):
                for seed in seeds:
                    run = solve_row(row, copies, varied, seed, limit)
                    solved.append(run)
                    _say(f"{run.row} {copies} {run.rates}: {run.wall_s:.2f} s, gap {run.gap:.2%}")
    literals = [
        found
        for row in rows
        if row.label in LITERAL_ROWS
        for copies in (FREE, PAID)
        for seed in seeds
        if (found := solve_literally(row, copies, seed, limit)) is not None
    ]
    unseen = [
        solve_row(row, copies, varied, given.unseen_seed, limit)
        for row in rows
        if row.label in UNSEEN_ROWS
        for copies in (FREE, PAID)
        for varied in (False, True)
    ]
    gaps = [
        gap
        for row in rows
        if row.label in HEURISTIC_ROWS
        for varied in (False, True)
        for seed in seeds
        for gap in heuristics(row, varied, seed, limit)
    ]
    counts = (10, 20, 30, 50, 70, 100) if full else (10, 30, 50)
    points = [scaling(n, asked, seed, limit) for n in (10, 100) for asked in counts for seed in seeds]
    firsts = [first_plans(n) for n in (10, 100)]
    prices = price_table()

    plots = draw(given.out, points, solved)
    machine = ", ".join(f"{key} {value}" for key, value in describe_machine().items())
    text = section(
        solved,
        literals,
        gaps,
        points,
        firsts,
        unseen=unseen,
        prices=prices,
        plots=plots,
        limit_s=limit,
        machine=machine,
    )
    (given.out / "optimizer.md").write_text(text)
    document = {
        "scale": given.scale,
        "machine": describe_machine(),
        "targets": [asdict(row) for row in rows],
        "solved": [asdict(run) for run in solved],
        "unseen": [asdict(run) for run in unseen],
        "prices": [asdict(price) for price in prices],
        "literal": [asdict(found) for found in literals],
        "heuristics": [asdict(gap) for gap in gaps],
        "scaling": [asdict(point) for point in points],
        "first_plans": [asdict(first) for first in firsts],
    }
    (given.out / "optimizer.json").write_text(json.dumps(document, indent=1) + "\n")
    _say(f"wrote {given.out / 'optimizer.md'}")
    return 0


def _say(line: str) -> None:
    sys.stderr.write(line + "\n")


if __name__ == "__main__":
    sys.exit(main())

"""Readable plans of whole workloads, changed only on purpose.

Each directory of `golden/` is a workload with `why.txt` (why the case exists; its last line holds
the options) and `plan.txt`. To accept new plans: `python -m tests.unit.planning.test_golden`.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from optimizer.cli.plan import explained, parse_arguments
from optimizer.explain import to_text

GOLDEN = Path(__file__).parent / "golden"
CASES = sorted(path.name for path in GOLDEN.iterdir() if path.is_dir())


def _plan(case: str) -> str:
    options = (GOLDEN / case / "why.txt").read_text().splitlines()[-1].split()
    explanation, _ = explained(parse_arguments(["plan", str(GOLDEN / case), *options]))
    return to_text(explanation, timings=False)


@pytest.mark.parametrize("case", CASES)
def test_the_plan_is_the_golden_one(case: str) -> None:
    assert _plan(case) == (GOLDEN / case / "plan.txt").read_text()


if __name__ == "__main__":
    for name in CASES:
        (GOLDEN / name / "plan.txt").write_text(_plan(name))

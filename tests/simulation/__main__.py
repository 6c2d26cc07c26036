"""`python -m tests.simulation`: schedules, planted defects, and the figures in docs/design/simulation.md."""

from __future__ import annotations

import argparse
import json
import re
import sys
from pathlib import Path

from tests.simulation.campaign import Failed, Totals, run, simulator
from tests.simulation.document import write
from tests.simulation.sabotage import DEFECTS, search
from tests.simulation.schedule import SCHEDULE, schedule_of

_FOLDER = Path(__file__).parent
_TOTALS = _FOLDER / "campaign.json"
_FOUND = _FOLDER / "sabotage.json"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    parser.add_argument("--seed", type=int, default=1, help="the first one (default: 1)")
    parser.add_argument("--count", type=int, default=1, help="how many (default: 1)")
    parser.add_argument("--show", action="store_true", help="print the steps of the seed and do nothing")
    parser.add_argument("--fixture", type=Path, help="carry out a schedule from a file instead")
    parser.add_argument("--keep-going", action="store_true", help="go on behind a failure")
    parser.add_argument("--patience", type=float, default=120.0, help="seconds for making a failure small")
    parser.add_argument("--keep", type=Path, help="where the small form of what fails is written")
    parser.add_argument("--sabotage", action="store_true", help="plant defects; COUNT seeds for each")
    parser.add_argument("--only", help="plant only defects with this in their subjects and names")
    parser.add_argument(
        "--write", action="store_true", help="write the figures into docs/design/simulation.md"
    )
    given = parser.parse_args()
    if given.show:
        sys.stdout.write(f"{schedule_of(given.seed).describe()}\n")
        return 0
    seeds = range(given.seed, given.seed + given.count)
    if given.fixture is not None:
        with simulator() as simulation:
            found = simulation.outcome(SCHEDULE.validate_json(given.fixture.read_bytes()))
        sys.stdout.write(f"{found.told if isinstance(found, Failed) else 'no failure'}\n")
        return 1 if isinstance(found, Failed) else 0
    if given.sabotage:
        code = _sabotage(seeds, given.only, given.keep, given.patience, figures=given.write)
    else:
        totals = Totals()
        code = 1 if run(seeds, totals, given.keep, given.patience, given.keep_going) else 0
        if given.write:
            totals.since(_TOTALS).save(_TOTALS)
    if given.write:
        write(_TOTALS, _FOUND)
    return code


def _sabotage(seeds: range, only: str | None, keep: Path | None, patience_s: float, *, figures: bool) -> int:
    missed = 0
    with simulator() as simulation:
        for defect in DEFECTS:
            if only is not None and only not in f"{defect.about}: {defect.name}":
                continue
            one = search(simulation, defect, seeds, None if keep is None else patience_s)
            missed += one.seeds is None
            within = f"not within {len(seeds)}" if one.seeds is None else f"{one.seeds}"
            sys.stdout.write(f"{defect.about}: {defect.name}: {within}  {one.told[:150]}\n")
            sys.stdout.flush()
            if keep is not None and one.small is not None:
                sys.stdout.write(f"{one.small.describe()}\n")
                name = "-".join(re.findall(r"[a-z]+", defect.name.lower()))
                (keep / f"{name}.json").write_bytes(SCHEDULE.dump_json(one.small, indent=1) + b"\n")
            if figures:
                # Another process may be at other defects.
                found = json.loads(_FOUND.read_text()) if _FOUND.exists() else {}
                found[defect.name] = {"seeds": one.seeds, "tried": len(seeds)}
                _FOUND.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())

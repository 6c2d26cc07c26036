"""Plans of TPC-H queries before and after, changed only on purpose.

`tpch/` holds the queries with the specification's validation parameters; `tpch/plans/` what the command
prints for each. To accept new plans: `python -m tests.unit.conversion.test_golden`.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from optimizer.cli.convert import run_convert

TPCH = Path(__file__).parent / "tpch"
QUERIES = sorted(file.stem for file in (TPCH / "queries").glob("*.sql"))
INPUTS = {
    "q02": [4, 5],
    "q03": [3],
    "q05": [6],
    "q07": [6],
    "q08": [8],
    "q09": [6],
    "q10": [4],
    "q11": [3, 3],
    "q15": [3],
    "q18": [3],
    "q21": [4],
}
"""Inputs of each multi-way join: the tables that the query's text joins."""


def _converted(query: str) -> str:
    return run_convert(TPCH / "queries" / f"{query}.sql", None, None, as_json=False) + "\n"


def test_the_queries_are_those_of_the_paper() -> None:
    assert sorted(INPUTS) == QUERIES


@pytest.mark.parametrize("query", QUERIES)
def test_the_conversion_is_the_golden_one(query: str) -> None:
    assert _converted(query) == (TPCH / "plans" / f"{query}.txt").read_text()


@pytest.mark.parametrize("query", QUERIES)
def test_every_tree_of_inner_joins_is_one_join(query: str) -> None:
    after = _converted(query).partition("  after\n")[2]
    found = [line for line in after.splitlines() if " of " in line and " inputs" in line]

    assert sorted(int(line.partition(" of ")[2].split()[0]) for line in found) == INPUTS[query]
    assert "inner join" not in after
    assert "cross join" not in after


if __name__ == "__main__":
    for name in QUERIES:
        (TPCH / "plans" / f"{name}.txt").write_text(_converted(name))

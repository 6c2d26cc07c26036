"""functions.yaml: what is read, and every way in which it can be wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from optimizer.algebra.errors import InputError
from optimizer.udf.reader import read_functions
from optimizer.workload import load_workload
from tests.unit.udf.counting import DECLARED, NEAR, ODD_SUM

SHIPPED = Path(__file__).resolve().parents[3] / "optimizer" / "udf" / "library" / "functions.yaml"


def test_declared_functions_are_read(tmp_path: Path) -> None:
    file = tmp_path / "functions.yaml"
    file.write_text(DECLARED)
    assert read_functions(file).functions == (NEAR, ODD_SUM)


def test_the_shipped_functions_can_be_allowed() -> None:
    names = [function.name for function in read_functions(SHIPPED)]
    assert names == ["image_distance", "name_similarity", "similarity"]


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        (
            "bigint, bigint",
            "bigint, number",
            "functions.near.arguments.1: found type number, expected one of",
        ),
        ("returns: boolean", "returns: binary", "functions.near.returns: found type binary, expected one of"),
        ("counting:near", "counting.near", "functions.near.call: found 'tests.unit.udf.counting.near'"),
        (
            "counting:near",
            "counting:far",
            "functions.near.call: found .*far.*expected a function that can be",
        ),
        ("counting:near", "counting:rows_seen", "functions.near.call: found .* is no function"),
        ("near:", "lower:", "functions.lower: found name lower, which SQL has already"),
        ("near:", "Near:", "functions.Near: found name 'Near', expected lower case"),
        ("cost_us: 50", "cost_us: -1", "functions.near.cost_us"),
        ("cost_us: 50", "cost_us: guess", "functions.near.cost_us"),
        ("[bigint, bigint]", "[bigint, string]", "functions.near.symmetric: found arguments of different"),
        ("cost_us: 50", "", "functions.near.cost_us"),
        ("functions:", "function:", "functions"),
        ("functions:", "functions: [", "expected YAML"),
    ],
)
def test_what_is_wrong_is_named(before: str, after: str, message: str, tmp_path: Path) -> None:
    file = tmp_path / "functions.yaml"
    file.write_text(DECLARED.replace(before, after, 1))
    with pytest.raises(InputError, match=message) as error:
        read_functions(file)
    assert str(error.value).startswith(str(file))


def test_a_workload_brings_its_own_functions(tmp_path: Path) -> None:
    (tmp_path / "queries").mkdir()
    (tmp_path / "streams.yaml").write_text(
        "streams:\n  r: {event_time: at, columns: {at: timestamp, a: bigint}}\n"
        "selectivities:\n  - {predicate: 'near(r.a, 3)', value: 0.25}\n"
    )
    (tmp_path / "queries" / "q.sql").write_text("SELECT r.a FROM r WHERE near(r.a, 7)")
    with pytest.raises(InputError, match="function near"):
        load_workload(tmp_path)
    (tmp_path / "functions.yaml").write_text(DECLARED)
    assert [f.name for f in load_workload(tmp_path).catalog.functions] == ["near", "odd_sum"]

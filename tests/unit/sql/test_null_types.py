"""NULLs beside values and beside each other have the types that DuckDB gives them."""

from __future__ import annotations

from itertools import product

import duckdb
import pytest

from optimizer.algebra.errors import InputError
from optimizer.sql import parse_query
from tests.oracle.expressions.check import CATALOG

NAMES = {
    "INTEGER": "int",
    "BIGINT": "bigint",
    "DOUBLE": "double",
    "VARCHAR": "string",
    "TIMESTAMP": "timestamp",
    "DATE": "date",
    "BLOB": "binary",
}
VALUES = [f"{name}0" for name in NAMES.values()]
NULLS = ["NULL", *(f"CAST(NULL AS {kind})" for kind in NAMES)]
TWO = [
    *("{} + {}", "{} - {}", "{} * {}", "{} / {}", "{} % {}"),
    *("COALESCE({}, {})", "LEAST({}, {})", "NULLIF({}, {})", "CASE WHEN bigint0 > 0 THEN {} ELSE {} END"),
]
ONE = ["-{}", "ABS({})", "FLOOR({})", "ROUND({}, 1)", "LOWER({})", "YEAR({})", "EPOCH({})", "LENGTH({})"]


@pytest.mark.parametrize("form", [*TWO, *ONE])
def test_expressions_with_nulls_have_duckdbs_types(form: str) -> None:
    columns = ", ".join(f"NULL::{kind} AS {name}0" for kind, name in NAMES.items())
    wrong, compared = {}, 0
    for atoms in product([*VALUES, *NULLS], repeat=form.count("{}")):
        text = form.format(*atoms)
        try:
            theirs = str(duckdb.sql(f"SELECT {text} FROM (SELECT {columns})").types[0])
            ours = parse_query(f"SELECT {text} AS y FROM x", "q", CATALOG).outputs[0].expression.type
        except (duckdb.Error, InputError):
            continue
        # A NULL that nothing gives a type has none in DuckDB.
        if theirs != '"NULL"':
            compared += 1
            if NAMES.get(theirs, theirs.lower()) != str(ours):
                wrong[text] = f"{ours}, DuckDB has {theirs}"

    assert compared
    assert not wrong

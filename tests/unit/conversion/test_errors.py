"""What cannot be converted is refused at its place, with what was found and what was expected."""

from __future__ import annotations

from pathlib import Path

import pytest

from optimizer.algebra.errors import InputError
from optimizer.cli.plan import main
from optimizer.conversion import convert
from tests.unit.conversion.tables import CATALOG

TPCH = Path(__file__).parent / "tpch"
REFUSED = {
    "SELECT a.k FROM a JOIN nope ON a.k = nope.k": ("q:1:24: found stream nope, expected one of a, b, c, e"),
    "SELECT a.kk FROM a JOIN b ON a.k = b.k": "q:1:8: found column a.kk, expected a column of a",
    "SELECT a.k, a AS n FROM a": "q:1:13: found a as a value, expected one of its columns",
    "SELECT q.k FROM a": "q:1:8: found column q.k, expected an alias of this query's FROM",
    "SELECT k FROM a, b WHERE a.v = b.v": (
        "q:1:8: found column k, expected a column of exactly one of the query's streams"
    ),
    "SELECT 1 FROM a, b AS a": "q:1:18: found Alias already used: a, expected names that tell",
    "SELECT 1 FROM a ASOF JOIN b ON a.at >= b.at": "q:1:27: found JOIN with METHOD, expected the plain form",
    "SELECT a.k FROM a LEFT JOIN b": "q:1:29: found LEFT JOIN without a condition, expected ON or USING",
    "SELECT a.k FROM a LEFT JOIN b ON a.k IN (SELECT k FROM c)": (
        "q:1:49: found a subquery in ON of a LEFT JOIN, expected a subquery in FROM or WHERE"
    ),
    "SELECT DISTINCT ON (k) k FROM a": "q:1:21: found DISTINCT ON, expected DISTINCT",
    "SELECT k FROM a QUALIFY row_number() OVER () = 1": (
        "q:1:8: found SELECT with QUALIFY, expected the plain form"
    ),
    "SELECT k FROM (VALUES (1)) t(k)": (
        "q:1:24: found VALUES, expected streams, saved queries and subqueries"
    ),
    "SELECT k FROM a WHERE k = ?": "q:1:1: found PLACEHOLDER, expected streams, saved queries and subqueries",
    "WITH RECURSIVE t AS (SELECT k FROM a) SELECT k FROM t": ("q:1:16: found WITH RECURSIVE, expected WITH"),
    "SELECT t.k FROM (SELECT k FROM a) t [RANGE 1 MINUTE]": (
        "q:1:37: found [, expected an operator, a comma, a keyword or the end of the query"
    ),
    "SELECT a.k + a.d FROM a WHERE a.s + 1 > DATE '2024-01-01'": "q: found Binder Error",
    "INSERT INTO a VALUES (1)": "q:1:1: found INSERT, expected SELECT or WITH",
    "SELECT 1": "q:1:8: found SELECT without FROM, expected FROM with a stream",
    "SELECT k FROM a; SELECT k FROM b": "q:1:1: found 2 statements, expected one query",
    "": "q:1:1: found no query, expected SELECT ... FROM ...",
    "SELECT k FROM a WHERE (k": "q:1:25: found the end of the query, expected )",
}


@pytest.mark.parametrize("text", REFUSED)
def test_a_text_is_refused_at_its_place(text: str) -> None:
    with pytest.raises(InputError) as refused:
        convert(text, CATALOG, source="q")

    assert str(refused.value).startswith(REFUSED[text])


def test_a_saved_query_that_reads_itself_is_refused() -> None:
    views = {"x": "SELECT k FROM y", "y": "SELECT k FROM x"}
    with pytest.raises(InputError) as refused:
        convert("SELECT k FROM x", CATALOG, views)

    assert refused.value.code == "view-cycle"


def test_a_query_that_is_nested_too_deeply_is_refused() -> None:
    text = "SELECT k FROM a"
    for number in range(30):
        text = f"SELECT k FROM ({text}) AS t{number}"
    with pytest.raises(InputError) as refused:
        convert(text, CATALOG)

    assert refused.value.code == "too-deep"


def test_a_plan_that_doubles_with_every_entry_of_with_is_refused() -> None:
    text = "WITH t0 AS (SELECT k FROM a)"
    for number in range(1, 40):
        before = f"t{number - 1}"
        text += f", t{number} AS (SELECT x.k FROM {before} AS x JOIN {before} AS y ON x.k = y.k)"
    with pytest.raises(InputError) as refused:
        convert(f"{text} SELECT k FROM t39", CATALOG)

    assert refused.value.code == "too-large"


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["nowhere.sql"], "nowhere.sql: found no such file or directory, expected a file NAME.sql, or"),
        (["DIR"], "queries: found no query, expected at least one file NAME.sql"),
        (["DIR/alone.sql"], "command line: --streams: found no streams.yaml beside alone.sql, expected"),
        (["DIR/two.sql", "--streams", "STREAMS", "--out", "DIR/w"], "two.sql: found no multi-way join whose"),
        (
            ["DIR/two.sql", "--streams", "none.yaml"],
            "none.yaml: found no such file, expected a file none.yaml",
        ),
    ],
)
def test_bad_files_end_with_one_line_and_2(
    arguments: list[str], line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "deep" / "folder"
    folder.mkdir(parents=True)
    for name in ("alone", "two"):
        (folder / f"{name}.sql").write_text(
            "SELECT n_name FROM nation JOIN region ON n_regionkey = r_regionkey"
        )
    places = {"DIR": str(folder), "STREAMS": str(TPCH / "streams.yaml"), "TPCH": str(TPCH)}
    for name, place in places.items():
        arguments = [word.replace(name, place) for word in arguments]
    code = main(["convert", *arguments])

    (said,) = capsys.readouterr().err.splitlines()
    assert code == 2
    assert line in said

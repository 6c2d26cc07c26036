"""The command line's contract: keys of the JSON, exit codes, one line per error."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import jsonschema
import pytest

from optimizer.cli import main
from optimizer.graph import PhysicalGraph, graph_schema

GOLDEN = Path(__file__).parent / "golden"
SCHEMA = Path(__file__).parents[3] / "optimizer" / "physical_graph.schema.json"


def test_json_has_the_contracts_keys(capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["plan", str(GOLDEN / "clash"), "--storage-weight", "0", "--json"])

    lines = capsys.readouterr().out.splitlines()
    document = json.loads(lines[0])
    assert (code, len(lines)) == (0, 1)
    assert document["cost"] == {"probe": 700.0, "storage": 0.0, "latency": 0.0, "total": 700.0}
    assert (document["method"], document["status"]) == ("ilp", "optimal")
    assert document["individual_cost"] == pytest.approx(800)
    assert document["bound"] == pytest.approx(700)
    assert document["gap"] == pytest.approx(0)
    assert set(document["seconds"]) >= {"build", "solve"}
    assert len(document["stores"]) >= 5
    assert {tree["start"] for tree in document["trees"]} == {"r", "s", "t", "u"}


def test_a_written_plan_follows_the_published_schema(tmp_path: Path) -> None:
    out = tmp_path / "plan.json"

    assert main(["plan", str(GOLDEN / "flights"), "--out", str(out)]) == 0

    jsonschema.validate(json.loads(out.read_text()), json.loads(SCHEMA.read_text()))
    assert PhysicalGraph.from_json(out.read_text()).to_json() == out.read_text()


def test_the_published_schema_is_up_to_date(capsys: pytest.CaptureFixture[str]) -> None:
    main(["schema"])

    assert capsys.readouterr().out == SCHEMA.read_text()
    assert json.loads(SCHEMA.read_text()) == json.loads(json.dumps(graph_schema()))


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["plan", "{missing}"], "streams.yaml"),
        (["plan", "{clash}", "--method", "gredy"], "did you mean greedy?"),
        (["plan", "{clash}", "--solver", "gurobi"], "--solver"),
        (["plan", "{clash}", "--time-limit", "soon"], "expected a number"),
        (["plan", "{clash}", "--storage-weight", "-1"], "expected a number of at least 0"),
        (["plan", "{clash}", "--storage-weight", "nan"], "expected a finite number"),
        (["plan", "{clash}", "--parallelism", "0"], "expected a whole number from 1"),
        (["plan", "{clash}", "--out", "{missing}/plan.json"], "expected a writable file"),
        (["plan", "{broken}"], "q1.sql:3:7"),
        (["plan", "{clash}", "--no-such-option"], "--no-such-option"),
        ([], "command"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_two(
    arguments: list[str], expected: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(GOLDEN / "clash", tmp_path / "broken")
    query = tmp_path / "broken" / "queries" / "q1.sql"
    query.write_text(query.read_text().replace("r.b", "r.bb"))
    places = {
        "clash": str(GOLDEN / "clash"),
        "missing": str(tmp_path / "missing"),
        "broken": str(tmp_path / "broken"),
    }

    code = main([argument.format(**places) for argument in arguments])

    captured = capsys.readouterr()
    assert (code, captured.out) == (2, "")
    assert len(captured.err.splitlines()) == 1
    assert expected in captured.err

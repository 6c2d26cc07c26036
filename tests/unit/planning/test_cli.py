"""The command line's contract: keys of the JSON, exit codes, one line per error."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import fields, replace
from math import ceil
from pathlib import Path

import jsonschema
import pytest

from optimizer.cli.plan import main
from optimizer.methods.trees.tree import STRATEGIES
from optimizer.physical.graph import PhysicalGraph, graph_schema
from optimizer.search.calibration import write_calibration
from optimizer.search.coefficients import COEFFICIENTS, Coefficients

GOLDEN = Path(__file__).parent / "golden"
SCHEMA = Path(__file__).parents[3] / "optimizer" / "physical_graph.schema.json"


def test_json_has_the_contracts_keys(capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["plan", str(GOLDEN / "clash"), "--cost", "messages", "--storage-weight", "0", "--json"])

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


def test_costs_are_cores_gigabytes_and_milliseconds(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    calibration = tmp_path / "calibration.json"
    write_calibration(calibration, replace(COEFFICIENTS, step=2 * COEFFICIENTS.step), {})

    assert main(["plan", str(GOLDEN / "clash"), "--json"]) == 0
    assert main(["plan", str(GOLDEN / "clash"), "--calibration", str(calibration), "--json"]) == 0

    shipped, slower = (json.loads(line) for line in capsys.readouterr().out.splitlines())
    assert set(shipped["cost"]) == {"cores", "gb", "latency_ms", "total"}
    assert set(shipped["messages"]) == {"probe", "storage", "latency", "total"}
    assert 0 < shipped["bound"] <= shipped["cost"]["total"] < shipped["individual_cost"] < 1
    assert shipped["cost"]["cores"] < shipped["cost"]["total"]
    assert shipped["cost"]["total"] < slower["cost"]["total"]
    steps = sum(tree["steps"][0]["probe_cost"] for tree in shipped["trees"])
    assert 0 < steps < shipped["cost"]["cores"]


def calibrated(number: str) -> str:
    """Every coefficient this."""
    joined = ", ".join(f'"{one.name}": {number}' for one in fields(Coefficients))
    return f'{{"microseconds": {{{joined}}}}}'


@pytest.mark.parametrize(
    "text",
    [
        *("", "[]", '{"microseconds": {}}', '{"microseconds": {"step": -1}}'),
        # What no machine measures, and what plans cannot be compared by.
        *(
            calibrated(number)
            for number in ("-1e-9", "NaN", "Infinity", "1e308", "1" * 400, "1" * 5000, "null")
        ),
        "[" * 200_000,
    ],
    ids=lambda text: text[:40],
)
def test_a_bad_calibration_is_refused(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    calibration = tmp_path / "calibration.json"
    calibration.write_text(text)

    assert main(["plan", str(GOLDEN / "clash"), "--calibration", str(calibration)]) == 2

    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"{calibration}")


def test_a_written_plan_follows_the_published_schema(tmp_path: Path) -> None:
    out = tmp_path / "plan.json"

    assert main(["plan", str(GOLDEN / "flights"), "--out", str(out)]) == 0

    jsonschema.validate(json.loads(out.read_text()), json.loads(SCHEMA.read_text()))
    assert PhysicalGraph.from_json(out.read_text()).to_json() == out.read_text()


def test_the_published_schema_is_up_to_date(capsys: pytest.CaptureFixture[str]) -> None:
    main(["schema"])

    assert capsys.readouterr().out == SCHEMA.read_text()
    assert json.loads(SCHEMA.read_text()) == json.loads(json.dumps(graph_schema()))


@pytest.mark.parametrize("method", ["ilp", "greedy", "left-deep", "tree", "individual"])
def test_a_budget_that_no_plan_fits_is_named_with_the_smallest_that_works(
    method: str, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["plan", str(GOLDEN / "clash"), "--method", method, "--single-copy", "--json"]

    refused = main([*arguments, "--storage-budget", "10"])
    (line,) = capsys.readouterr().err.splitlines()
    least = re.fullmatch(
        r"command line: --storage-budget: .* = 10; the smallest value that works is ([\d.]+)", line
    )

    assert refused == 2
    assert least is not None
    assert main([*arguments, "--storage-budget", least[1]]) == 0
    assert sum(store["tuples"] for store in json.loads(capsys.readouterr().out)["stores"]) <= float(least[1])


def test_a_capacity_that_no_plan_keeps_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["plan", str(GOLDEN / "clash"), "--parallelism", "4", "--json"]

    refused = main([*arguments, "--task-capacity", "1"])
    (line,) = capsys.readouterr().err.splitlines()

    assert refused == 2
    assert line.startswith("command line: --task-capacity: no plan fits task_capacity = 1")
    least = float(line.rsplit(" ", 1)[1])
    assert main([*arguments, "--task-capacity", str(least * 1.001)]) == 0


@pytest.mark.parametrize("tree", STRATEGIES)
def test_every_kind_of_tree_is_planned_within_a_budget(tree: str, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["plan", str(GOLDEN / "clash"), "--method", "tree", "--tree", tree, "--storage-weight", "0"]
    arguments += ["--cost", "messages"]

    assert main([*arguments, "--latency-weight", "2", "--storage-budget", "500", "--json"]) == 0

    document = json.loads(capsys.readouterr().out)
    assert sum(store["tuples"] for store in document["stores"]) <= 500
    # Two queries of three inputs each: one hop if a result of two is materialized, else two.
    latency, flat = document["cost"]["latency"], pytest.approx(8.0)
    assert (latency == flat) == (len(document["stores"]) == 4)
    assert latency == flat or 4.0 <= latency < 8.0


def test_merging_is_bounded_from_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["plan", str(GOLDEN / "clash"), "--method", "tree", "--tree", "merging", "--json"]
    counts = []
    for bounds in (("0", "1000"), ("0", "1"), ("100000", "1000")):
        assert main([*arguments, "--tree-bounds", *bounds]) == 0
        counts.append(len(json.loads(capsys.readouterr().out)["stores"]))

    assert counts[0] > counts[1] == counts[2] == 4


def test_stores_get_the_tasks_that_their_tuples_need(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["plan", str(GOLDEN / "clash"), "--cost", "messages", "--storage-weight", "0", "--json"]

    assert main([*arguments, "--task-tuples", "30"]) == 0

    stores = json.loads(capsys.readouterr().out)["stores"]
    assert {store["tasks"] for store in stores} > {4}
    assert all(store["tasks"] == max(1, ceil(store["tuples"] / 30)) for store in stores)


def test_a_plan_is_drawn_as_nodes_and_edges(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", str(GOLDEN / "clash"), "--graph"]) == 0

    drawing = json.loads(capsys.readouterr().out)
    assert {node["kind"] for node in drawing["nodes"]} == {"source", "store", "probe", "query"}
    assert {edge["kind"] for edge in drawing["edges"]} == {"sends", "keeps", "searches", "answers"}


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["plan", "{missing}"], "streams.yaml"),
        (["plan", "{clash}", "--method", "gredy"], "did you mean greedy?"),
        (["plan", "{clash}", "--solver", "gurobi"], "--solver"),
        (["plan", "{clash}", "--time-limit", "soon"], "expected a number"),
        (["plan", "{clash}", "--storage-weight", "-1"], "expected a number from 0 to"),
        (["plan", "{clash}", "--storage-weight", "nan"], "expected a finite number"),
        (["plan", "{clash}", "--storage-budget", "0"], "expected a number above 0"),
        (["plan", "{clash}", "--task-capacity", "much"], "expected a number"),
        (["plan", "{clash}", "--task-tuples", "0"], "expected a number above 0"),
        (["plan", "{clash}", "--method", "tree", "--tree", "bushy"], "--tree"),
        (["plan", "{clash}", "--tree-bounds", "3"], "--tree-bounds"),
        (["explain", "{clash}", "--stage", "rerout"], "lay-out-grids; did you mean reroute?"),
        (["explain", "{clash}", "--json", "--graph"], "--graph"),
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

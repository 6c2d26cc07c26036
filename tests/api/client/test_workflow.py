"""The workflow that the guide to queries in git gives, linted and run."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from backend.client.__main__ import _parser
from backend.topologies.models import Topology
from tests.api.conftest import ROOT, Run

WORKFLOW = ROOT / "docs/guide/millrace-ci.yaml"


def workflow() -> dict[Any, Any]:
    return yaml.safe_load(WORKFLOW.read_text())


def scripts() -> list[tuple[str, str]]:
    return [
        (name, step["run"])
        for name, job in workflow()["jobs"].items()
        for step in job["steps"]
        if "run" in step
    ]


def test_the_workflow_is_one_that_runs_test_plan_and_apply() -> None:
    document = workflow()
    # YAML 1.1 reads the key `on` as true.
    assert set(document) == {"name", True, "permissions", "env", "jobs"}
    assert set(document[True]) == {"pull_request", "push"}
    jobs = document["jobs"]
    for name, job in jobs.items():
        assert set(job) <= {"if", "needs", "runs-on", "concurrency", "steps"}, name
        assert {job["needs"]} <= jobs.keys() if "needs" in job else True
        for step in job["steps"]:
            assert ("run" in step) != ("uses" in step), step
            assert set(step) <= {"name", "run", "uses", "with", "env", "if"}, step
            assert "uses" not in step or re.fullmatch(r"actions/[\w-]+@v\d+", step["uses"])
    for _, script in scripts():
        checked = subprocess.run(["bash", "-n"], input=script, text=True, capture_output=True, check=False)
        assert checked.returncode == 0, checked.stderr
        # Nothing that a pull request says is pasted into a script.
        assert not re.search(r"\$\{\{\s*github\.(event|head_ref)", script)
    given = [
        found
        for _, script in scripts()
        for found in re.findall(r"\bmillrace (test|plan|apply) ([^>|\n]*)", script)
    ]
    assert [command for command, _ in given] == ["test", "plan", "apply"]
    for command, words in given:
        parsed = _parser().parse_args([command, *words.split()])
        assert parsed.folder == Path(".")


@pytest.mark.parametrize(("state", "code"), [("same", 0), ("changed", 0), ("wrong", 1)])
def test_the_workflows_plan_is_said_on_the_pull_request(
    run: Run, tmp_path: Path, topology: Topology, token: str, live_server: Any, state: str, code: int
) -> None:
    run("import", "repo")
    repo = tmp_path / "repo"
    if state != "same":
        text = (repo / "queries/windy.sql").read_text()
        changed = text.replace("> 20", "> 30") if state == "changed" else "SELECT"
        (repo / "queries/windy.sql").write_text(changed)
    tools = tmp_path / "tools"
    tools.mkdir()
    # What GitHub's command does is not ours: its arguments and the comment are kept.
    (tools / "gh").write_text('#!/bin/sh\necho "$@" > ../said\ncat plan.md > ../comment\n')
    millrace = f'#!/bin/sh\nPYTHONPATH={ROOT} exec {ROOT}/.venv/bin/python -m backend.client "$@"\n'
    (tools / "millrace").write_text(millrace)
    for tool in tools.iterdir():
        tool.chmod(0o755)
    (script,) = (script for name, script in scripts() if name == "plan" and "millrace plan" in script)
    done = subprocess.run(
        ["bash", "-e", "-c", script],
        cwd=repo,
        env={
            "PATH": f"{tools}:{os.environ['PATH']}",
            "MILLRACE_URL": live_server.url,
            "MILLRACE_TOKEN": token,
            "GITHUB_STEP_SUMMARY": str(tmp_path / "summary"),
            "NUMBER": "7",
        },
        text=True,
        capture_output=True,
        check=False,
    )
    assert done.returncode == code, done.stderr
    if state == "wrong":
        assert "queries/windy.sql:1:7" in done.stderr
        assert not (tmp_path / "comment").exists()
        return
    assert (tmp_path / "said").read_text().startswith("pr comment 7 ")
    wanted = "1 query to change" if state == "changed" else "no change"
    assert (tmp_path / "comment").read_text().startswith(f"### Millrace plan of repo: {wanted}")
    assert (tmp_path / "summary").read_text() == (tmp_path / "comment").read_text()

"""ARCHITECTURE.md's table of who may import whom, held against every import statement."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SHARED_WITH_JOBS = {
    *("errors", "types", "expression", "stream", "kafka", "functions", "graph", "task_grid", "fanout"),
    *("udf", "users", "expression_sql"),
}
"""What the runtime may know of the optimizer: the graph's model, and the functions that it calls."""
REPLAY = ("jobs/cli/replay.py", "jobs/adaptation/")
"""The replay command, whose driver plans: the only part of the runtime that may call the whole
optimizer. The rest must not import it, or `jobs run` would drag the optimizer along."""


def imports(file: Path) -> Iterator[tuple[int, str]]:
    """Line and full name of everything that a module imports, wherever the statement stands."""
    for node in ast.walk(ast.parse(file.read_text(), str(file))):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}:{node.lineno}: a relative import hides what it means"
            yield from ((node.lineno, f"{node.module}.{alias.name}") for alias in node.names)


def modules(package: str) -> list[Path]:
    return sorted(ROOT.joinpath(package).rglob("*.py"))


def forbidden(file: Path, name: str) -> str | None:
    """Why a module must not import a name; None if it may."""
    path = file.relative_to(ROOT).as_posix()
    package, (root, *rest) = path.partition("/")[0], name.split(".")
    part = rest[0] if rest else "*"
    if package == "optimizer" and root in {"jobs", "backend", "django", "pyspark", "redis", "celery"}:
        return "the optimizer is pure: no runtime, no web, no Spark"
    if path.startswith("jobs/protocol/") and root in {"optimizer", "backend", "django", "pyspark"}:
        return "the protocol is alone"
    if path.startswith("jobs/protocol/") and root == "jobs" and part != "protocol":
        return "the protocol is alone"
    if package == "jobs" and root in {"backend", "django", "celery", "rest_framework"}:
        return "the runtime does not know the web application"
    if (
        package == "jobs"
        and root == "optimizer"
        and part not in SHARED_WITH_JOBS
        and not path.startswith(REPLAY)
    ):
        return f"the runtime shares only {', '.join(sorted(SHARED_WITH_JOBS))} with the optimizer"
    if package == "jobs" and name.startswith("jobs.adaptation") and not path.startswith(REPLAY):
        return "planning at run time belongs to the replay command"
    if package == "backend" and root == "jobs" and part != "protocol":
        return "the web application knows the runtime by its protocol only"
    if package == "backend" and root == "pyspark":
        return "the web application does not run Spark"
    if root == "tests":
        return "the product does not import its tests"
    return None


@pytest.mark.parametrize("package", ["optimizer", "jobs", "backend"])
def test_imports_follow_the_architecture(package: str) -> None:
    files = modules(package)
    assert files, f"no module in {package}"
    wrong = [
        f"{file.relative_to(ROOT)}:{line}: imports {name}: {why}"
        for file in files
        for line, name in imports(file)
        if (why := forbidden(file, name))
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("optimizer/planner/plan.py", "jobs.storage.partition.Store"),
        ("optimizer/planner/plan.py", "pyspark.sql"),
        ("jobs/storage/partition.py", "optimizer.planner.plan.plan"),
        ("jobs/cli/run.py", "jobs.adaptation.controller.Controller"),
        ("jobs/storage/partition.py", "django.conf.settings"),
        ("jobs/protocol/__init__.py", "jobs.storage.partition.Store"),
        ("backend/celery.py", "jobs.storage.partition.Store"),
        ("backend/celery.py", "jobs"),
    ],
)
def test_the_rule_finds_each_kind_of_violation(path: str, name: str) -> None:
    assert forbidden(ROOT / path, name)


def test_the_bootstrap_needs_nothing_but_the_standard_library() -> None:
    import sys

    own = {file.stem for file in modules("docker/bootstrap")}
    for file in modules("docker/bootstrap"):
        for line, name in imports(file):
            root = name.split(".")[0]
            assert root in sys.stdlib_module_names or root in own, f"{file}:{line} imports {name}"

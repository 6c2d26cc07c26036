"""Who may import whom: layers of each package, held against every import statement."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from tests.layers import LAYERS

ROOT = Path(__file__).resolve().parents[2]
PRODUCT = ("optimizer", "jobs", "backend")

KERNEL = {"algebra", "udf", "logical.stream", "logical.source", "logical.window", "physical"}
"""What the runtime may know of the optimizer: the physical graph with what it consists of."""
REPLAY = (
    "jobs.cli.replay",
    "jobs.cli.replay_options",
    "jobs.cli.calibrate",
    "jobs.cli.test",
    "jobs.adaptation",
    "jobs.calibration",
    "jobs.verification",
)
"""The replay command, whose driver plans, and calibration, which measures plans: the only parts of the
runtime that may call the whole optimizer. The rest must not import it, or `jobs run` would drag the
optimizer along."""
SHAPED = {"jobs.shapes": "optimizer.partitioning.matrix"}
"""Shapes of join matrices follow every batch, in a topology too; their policies know graphs, not plans."""
FOREIGN = {
    "optimizer": {"jobs", "backend", "django", "pyspark", "redis", "celery"},
    "jobs": {"backend", "django", "celery", "rest_framework"},
    "jobs.protocol": {"optimizer", "backend", "django", "pyspark"},
    "backend": {"pyspark"},
}
"""What a package must not import at all."""


@cache
def modules() -> dict[str, Path]:
    """Every module of the product by its dotted name; packages by theirs."""
    found = {}
    for package in PRODUCT:
        for file in sorted(ROOT.joinpath(package).rglob("*.py")):
            parts = file.relative_to(ROOT).with_suffix("").parts
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = file
    return found


def imports(file: Path) -> Iterator[tuple[int, str]]:
    """Line and full name of everything that a module imports, wherever the statement stands."""
    for node in ast.walk(ast.parse(file.read_text(), str(file))):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}:{node.lineno}: a relative import hides what it means"
            yield from ((node.lineno, f"{node.module}.{alias.name}") for alias in node.names)


def imported_module(name: str) -> str | None:
    """The product's module that an imported name is, or is in; None for what others have made."""
    while name and name not in modules():
        name = name.rpartition(".")[0]
    return name or None


def is_in(name: str, package: str) -> bool:
    return name == package or name.startswith(package + ".")


def room(module: str, package: str) -> str:
    """Which part of a package a module is in; the package's own module is `__init__`."""
    return module.removeprefix(package).lstrip(".").partition(".")[0] or "__init__"


def layer(module: str, package: str) -> int:
    """Raises `ValueError` for a module in a room that the table lacks."""
    own = room(module, package)
    for number, rooms in enumerate(LAYERS[package]):
        if own in rooms:
            return number
    if own == "__init__":
        return -1
    raise ValueError(f"{module}: the room {own} is in no layer of {package}")


def forbidden(module: str, name: str) -> str | None:
    """Why a module must not import a name; None if it may."""
    for package, foreign in FOREIGN.items():
        if is_in(module, package) and name.partition(".")[0] in foreign:
            return f"{package} knows nothing of {name.partition('.')[0]}"
    if name.partition(".")[0] == "tests":
        return "the product does not import its tests"
    if is_in(module, "jobs.protocol") and is_in(name, "jobs") and not is_in(name, "jobs.protocol"):
        return "the protocol is alone"
    if is_in(module, "backend") and is_in(name, "jobs") and not is_in(name, "jobs.protocol"):
        return "the web application knows the runtime by its protocol only"
    if is_in(module, "jobs") and not any(is_in(module, part) for part in REPLAY):
        shaped = any(is_in(module, own) and is_in(name, policies) for own, policies in SHAPED.items())
        if (
            is_in(name, "optimizer")
            and not shaped
            and not any(is_in(name, f"optimizer.{part}") for part in KERNEL)
        ):
            return f"the runtime shares only {', '.join(sorted(KERNEL))} with the optimizer"
        if is_in(name, "jobs.adaptation"):
            return "planning at run time belongs to the replay command"
    target = imported_module(name)
    for package in LAYERS:
        if target is None or not (is_in(module, package) and is_in(target, package)):
            continue
        if room(module, package) != room(target, package) and layer(module, package) <= layer(
            target, package
        ):
            return f"{room(target, package)} is not below {room(module, package)} in {package}"
    return None


@pytest.mark.parametrize("package", PRODUCT)
def test_imports_follow_the_layers(package: str) -> None:
    wrong = [
        f"{file.relative_to(ROOT)}:{line}: imports {name}: {why}"
        for module, file in modules().items()
        if is_in(module, package)
        for line, name in imports(file)
        if (why := forbidden(module, name))
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("package", LAYERS)
def test_the_table_names_every_room_once(package: str) -> None:
    named = [name for rooms in LAYERS[package] for name in rooms]
    there = {room(module, package) for module in modules() if is_in(module, package)}
    assert len(named) == len(set(named))
    assert there - {"__init__"} <= set(named) <= there


@pytest.mark.parametrize("package", LAYERS)
def test_no_module_imports_itself_through_others(package: str) -> None:
    graph = {
        module: {
            target
            for _, name in imports(file)
            if (target := imported_module(name)) and target != module and is_in(target, package)
        }
        for module, file in modules().items()
        if is_in(module, package)
    }
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(" imports ".join(reversed(error.args[1])))


def test_the_batch_protocol_knows_no_spark() -> None:
    """Neither it nor anything that it imports, so that its tests drive it as it is."""
    seen, todo = set(), ["jobs.driver.batch_protocol"]
    while todo:
        module = todo.pop()
        seen.add(module)
        names = [name for _, name in imports(modules()[module])]
        assert not [name for name in names if name.partition(".")[0] in ("pyspark", "py4j")], module
        todo += {target for name in names if (target := imported_module(name)) and target not in seen}


@pytest.mark.parametrize("package", LAYERS)
def test_a_room_has_about_ten_modules_at_the_most(package: str) -> None:
    most = 12
    count: dict[Path, int] = {}
    for module, file in modules().items():
        # Steps of a database's history are nobody's to look for a rule in.
        if is_in(module, package) and file.name != "__init__.py" and file.parent.name != "migrations":
            count[file.parent] = count.get(file.parent, 0) + 1
    assert not {str(folder.relative_to(ROOT)): n for folder, n in count.items() if n > most}


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("optimizer.planner.plan", "jobs.storage.run.RunRef"),
        ("optimizer.planner.plan", "pyspark.sql"),
        ("optimizer.algebra.types", "optimizer.logical.query.Query"),
        ("optimizer.logical.query", "optimizer.search.problem.Problem"),
        ("optimizer.methods.heuristic.greedy", "optimizer.methods.ilp.solve.Ilp"),
        ("jobs.storage.run", "optimizer.planner.plan.plan"),
        ("jobs.cli.run", "jobs.adaptation.controller.Controller"),
        ("jobs.storage.run", "django.conf.settings"),
        ("jobs.protocol", "jobs.storage.run.RunRef"),
        ("backend.catalog.actions", "backend.topologies.models.Topology"),
        ("backend.live.queries", "backend.runs.recording.consume"),
        ("backend.celery", "jobs.storage.run.RunRef"),
        ("backend.celery", "jobs"),
        ("backend.celery", "tests.conftest"),
    ],
)
def test_the_rules_find_each_kind_of_violation(module: str, name: str) -> None:
    assert forbidden(module, name)


def test_the_bootstrap_needs_nothing_but_the_standard_library() -> None:
    files = sorted(ROOT.joinpath("docker/bootstrap").rglob("*.py"))
    own = {file.stem for file in files}
    for file in files:
        for line, name in imports(file):
            root = name.split(".")[0]
            assert root in sys.stdlib_module_names or root in own, f"{file}:{line} imports {name}"

"""The examples in docstrings run, and say what they show."""

from __future__ import annotations

import doctest
import inspect
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def _with_examples() -> list[str]:
    files = [
        file for room in ("optimizer", "jobs", "backend") for file in sorted((ROOT / room).rglob("*.py"))
    ]
    return [
        ".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        for file in files
        if ">>> " in file.read_text()
    ]


@pytest.mark.parametrize("module", _with_examples())
def test_the_examples_of_a_module_run(module: str) -> None:
    outcome = doctest.testmod(import_module(module))
    assert outcome.attempted
    assert not outcome.failed


@pytest.mark.parametrize("room", ["optimizer", "jobs"])
def test_every_function_that_a_room_hands_out_has_an_example(room: str) -> None:
    without = []
    for face in sorted((ROOT / room).rglob("__init__.py")):
        name = ".".join(face.parent.relative_to(ROOT).parts)
        module = import_module(name)
        for public in getattr(module, "__all__", []):
            function = getattr(module, public)
            if inspect.isfunction(function) and ">>> " not in (function.__doc__ or ""):
                without.append(f"{name}.{public}")
    assert without == []

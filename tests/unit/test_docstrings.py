"""Docstrings begin with one plain sentence, as a newcomer and ARCHITECTURE.md's tables read them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

MOST = 80
"""Characters of a first line."""
BANNED = re.compile(r"\b(of which|by which|whoever|somebody|nobody)\b", re.IGNORECASE)
"""Words that hide the actor (a driver, a task, a caller), or a second sentence inside the first."""


def _rooms() -> list[str]:
    folders = [one for package in ("optimizer", "jobs", "backend") for one in (ROOT / package).iterdir()]
    found = [one for one in folders if one.suffix == ".py" or (one.is_dir() and any(one.rglob("*.py")))]
    return sorted(str(one.relative_to(ROOT)) for one in found)


def _first_lines(room: str) -> Iterator[tuple[str, str]]:
    """Where each first line of a room's modules, classes and functions stands, and its text."""
    path = ROOT / room
    for file in [path] if path.is_file() else sorted(path.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                docstring = ast.get_docstring(node)
                if docstring:
                    line = getattr(node, "lineno", 1)
                    yield f"{file.relative_to(ROOT)}:{line}", docstring.partition("\n")[0].rstrip()


@pytest.mark.parametrize("room", _rooms())
def test_a_docstring_begins_with_one_short_plain_sentence(room: str) -> None:
    wrong = [
        f"{place}: {line}"
        for place, line in _first_lines(room)
        if len(line) > MOST or BANNED.search(line) or not line.endswith((".", "?", "!", ":"))
    ]
    assert not wrong, "\n".join(wrong)


def test_the_rooms_have_docstrings() -> None:
    assert sum(1 for room in _rooms() for _ in _first_lines(room)) > 2_000
